"""Options that several commands have, each declared once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from engine.values.config import SamplingSettings
from engine.values.errors import FileUnusable
from engine.values.parameters import Parameter, Scope, TextParameter, parameter, parameters, texts
from engine.values.places import expanded

TargetOption = Annotated[
    str, typer.Option("--target", "-t", help="`starter`, the name of a model used before, or the path of a GGUF file.")
]
AnyTargetOption = Annotated[
    str,
    typer.Option(
        "--target",
        "-t",
        help="`starter`, the name of a model used before, the path of a GGUF file, or a model on a server as in "
        "http://127.0.0.1:8080/v1#NAME.",
    ),
]
DrafterOption = Annotated[
    str,
    typer.Option(
        help="Who guesses ahead: `automatic` (the fastest), `built-in`, `starter`, `starter-torch` (run "
        "by torch), a GGUF file, the name of a model in the library, a folder, or a name on the Hugging Face hub "
        "(OWNER/NAME, or OWNER/NAME:FILE for a GGUF), which is downloaded once."
    ),
]
DrafterDeviceOption = Annotated[
    str | None, typer.Option(help="Where the drafter computes: cpu, cuda or mps; the quickest there is if left out.")
]
NoSpeculationOption = Annotated[
    bool, typer.Option("--no-speculation", help="Let nothing draft ahead of the model: plain decoding.")
]
# Of `bench` and `replay`:
MeasuredTargetOption = Annotated[
    str,
    typer.Option(
        "--target",
        "-t",
        help="`starter`, a name, a GGUF file, or `trace:VOCAB.gguf` to replay recorded replies in a vocabulary.",
    ),
]
DraftLengthOption = Annotated[
    int | None, typer.Option(help="Of the mode neural: tokens of every draft; what pays best if left out.")
]
ProfileOption = Annotated[
    Path | None,
    typer.Option("--profile", metavar="P.slipstream", help="Begin with what this file holds; else with nothing."),
]
LengthOption = Annotated[int, typer.Option(min=1, help="Length of a reply at most.")]
TemperatureOption = Annotated[float, typer.Option(help=parameter(SamplingSettings, "temperature").option_help)]
SeedOption = Annotated[int, typer.Option(min=0, help="The same seed gives the same plain replies.")]
TeachingOption = Annotated[
    bool, typer.Option("--teaching/--no-teaching", help="Teach the drafter between the replies, where it can learn.")
]
MemoryOption = Annotated[
    bool, typer.Option("--memory/--no-memory", help="Remember a chat's text in those after it, to guess from.")
]
ReportOption = Annotated[Path | None, typer.Option("--json", metavar="OUT", help="Write all figures into this file.")]
BodyOption = Annotated[
    Path | None,
    typer.Option(
        "--body",
        metavar="MODEL.gguf",
        help="A model whose passes take the time, while what is written stays the target's or the recorded reply.",
    ),
]
DrafterCostOption = Annotated[
    str,
    typer.Option(
        help="Of recorded replies: cost of a drafter step, as a share of a one-row pass, such as 0.075; or "
        "`built-in=0.01,starter=0.05` for some drafters, or `measured` for what it really takes here next to a pass of "
        "30 ms."
    ),
]
PassCostsOption = Annotated[
    str | None,
    typer.Option(
        help="Costs of passes over 1, 2, … rows; the last stands for the rest. Recorded replies have flat ones, 1, if "
        "left out; a model then takes the time it takes, and with them that of its counts."
    ),
]


def takes_sampling(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command an option for every parameter of sampling, in place of its argument `sampling`."""
    declared = parameters(SamplingSettings, Scope.COMMAND)
    written = texts(SamplingSettings, Scope.COMMAND)

    @functools.wraps(command)
    def run(**given: Any) -> None:
        numbers: dict[str, Any] = {each.name: given.pop(each.name) for each in declared}
        lines: dict[str, Any] = {each.name: "\n".join(map(_content, given.pop(each.name) or ())) for each in written}
        command(sampling=SamplingSettings(**numbers, **lines), **given)

    signature = inspect.signature(command, eval_str=True)
    arguments: list[inspect.Parameter] = []
    for argument in signature.parameters.values():
        options = [*map(_option, declared), *map(_text_option, written)]
        arguments += options if argument.name == "sampling" else [argument]
    run.__signature__ = signature.replace(parameters=arguments)  # type: ignore[attr-defined]  # which typer reads
    return run


def _content(text: str) -> str:
    """The file named after an @, or the text itself. Raises FileUnusable."""
    if not text.startswith("@"):
        return text
    try:
        return expanded(text[1:]).read_text("utf-8")
    except (OSError, ValueError) as error:
        raise FileUnusable(f"{text[1:]} cannot be read: {getattr(error, 'strerror', None) or error}.") from None


def _text_option(parameter: TextParameter) -> inspect.Parameter:
    return inspect.Parameter(
        parameter.name,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=None,
        annotation=Annotated[list[str] | None, typer.Option(help=parameter.option)],
    )


def _option(parameter: Parameter) -> inspect.Parameter:
    return inspect.Parameter(
        parameter.name,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=parameter.default,
        annotation=Annotated[parameter.kind, typer.Option(help=parameter.option_help)],
    )
