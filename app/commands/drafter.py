"""`slipstream drafter`: takes a drafter along to other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import engine
from app.commands.options import TargetOption
from engine.values.config import STARTER, EngineConfig, data_dir

if TYPE_CHECKING:
    from engine.values.exports import DrafterExported

drafter = typer.Typer(help="Take a drafter, with what it learned, to other programs.", no_args_is_help=True)


@drafter.callback()
def _group() -> None:
    """Take a drafter, with what it learned, to other programs."""


@drafter.command("export")
def export_drafter(
    out: Annotated[Path, typer.Argument(help="Where to write it: a GGUF file for llama.cpp, a folder for the others.")],
    program: Annotated[
        engine.ExportEngine, typer.Option("--for", help="The program that is to run it.")
    ] = engine.ExportEngine.LLAMA_CPP,
    target: TargetOption = STARTER,
    choice: Annotated[
        str | None,
        typer.Option(
            "--drafter",
            help="`built-in`, `starter`, a GGUF file, a folder, or the name of a model in the library; left out, the "
            "one that has learned most about the model.",
        ),
    ] = None,
    snapshot: Annotated[
        int | None,
        typer.Option(help="Of those that `profile show` lists; 0: as it was before it learned. Else the one in use."),
    ] = None,
    bits: Annotated[int, typer.Option(help="Of a weight in a GGUF file, 8 or 16.")] = 8,
) -> None:
    """Write a drafter with what it learned about a model, check it, and print the line that serves the model with it.

    Example: slipstream drafter export drafter.gguf --for llama.cpp --target starter
    """
    if bits not in (8, 16):
        raise typer.BadParameter("Choose 8 or 16.", param_hint="--bits")
    order = engine.ExportOrder(program, target, out, choice, snapshot, bits)
    for line in _lines(engine.export_drafter(EngineConfig(data_dir()), order)):
        print(line)


def _lines(done: DrafterExported) -> list[str]:
    size = f"{done.size_bytes / 1e6:,.0f} MB"
    lines = [f"{done.order.out}: {done.drafter} for {done.target}, {size}"]
    if done.snapshot is None:
        lines.append("It has learned nothing about this model yet: this is the drafter as it was.")
    else:
        lines.append(f"In it is snapshot {done.snapshot.number}, learned from {done.snapshot.num_learned:,} replies.")
        lines.append("That comes from your chats: share it only with people who may know how you write.")
    if not done.shares_vocabulary:
        lines.append("Its vocabulary is not the model's: the program has to translate between them.")
    lines += [*done.check.proven, *done.check.unproven, "", done.command]
    return [*lines, done.hint] if done.hint else lines
