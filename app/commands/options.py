"""Options that several commands have, each declared once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from engine.config import SamplingSettings
from engine.parameters import Parameter, Scope, parameters

TargetOption = Annotated[
    str, typer.Option("--target", "-t", help="`starter`, the name of a model used before, or the path of a GGUF file.")
]
DrafterOption = Annotated[
    str,
    typer.Option(
        help="Who guesses ahead: `built-in`, a folder, or a name on the Hugging Face hub such as JackFram/llama-68m, "
        "which is downloaded once."
    ),
]
DrafterDeviceOption = Annotated[
    str | None, typer.Option(help="Where the drafter computes: cpu, cuda or mps; the quickest there is if left out.")
]
NoSpeculationOption = Annotated[
    bool, typer.Option("--no-speculation", help="Let nothing draft ahead of the model: plain decoding.")
]


def takes_sampling(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command an option for every parameter of sampling, in place of its argument `sampling`."""
    declared = parameters(SamplingSettings, Scope.COMMAND)

    @functools.wraps(command)
    def run(**given: Any) -> None:
        command(sampling=SamplingSettings(**{each.name: given.pop(each.name) for each in declared}), **given)

    signature = inspect.signature(command, eval_str=True)
    arguments: list[inspect.Parameter] = []
    for argument in signature.parameters.values():
        arguments += map(_option, declared) if argument.name == "sampling" else [argument]
    run.__signature__ = signature.replace(parameters=arguments)  # type: ignore[attr-defined]  # which typer reads
    return run


def _option(parameter: Parameter) -> inspect.Parameter:
    return inspect.Parameter(
        parameter.name,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=parameter.default,
        annotation=Annotated[parameter.kind, typer.Option(help=parameter.option)],
    )
