"""The command line. Without a command it opens the app; everything slow is imported by the command that needs it."""

from __future__ import annotations

import errno
import io
import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from engine.config import STARTER, EngineConfig, ReplySettings, SamplingSettings, TargetSettings, data_dir
from engine.errors import MendableError

_DEFAULTS = SamplingSettings()

application = typer.Typer(
    help="Chat with language models on your own machine. Without a command, the app opens.",
    epilog="Everything stays on this machine, in the folder SLIPSTREAM_DATA_DIR names or the platform's own for data.",
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
models = typer.Typer(help="The models you can use as a target.", no_args_is_help=True)
application.add_typer(models, name="models")

TargetOption = Annotated[
    str, typer.Option("--target", "-t", help="`starter`, the name of a model used before, or the path of a GGUF file.")
]


def main() -> None:
    """Entry point. What a user can mend ends with one sentence and exit code 2, never with a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that knows no emoji shows question marks
    try:
        application()
    except MendableError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.ENOSPC):
            raise
        os._exit(1)  # nobody reads any more, or there is no room; leaving in the usual way would try to write again


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"slipstream {version('slipstream')}")
        raise typer.Exit


@application.callback(invoke_without_command=True)
def window(
    context: typer.Context,
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="Open with this model: `starter`, a name, or a GGUF file.")
    ] = None,
    smoke: Annotated[
        Path | None,
        typer.Option(
            "--smoke", metavar="OUT.png", help="Open the window, answer one prompt, save a picture of it, and quit."
        ),
    ] = None,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and quit.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        from app.application import run

        raise typer.Exit(run(target=target, smoke=smoke))


@application.command()
def chat(
    prompt: Annotated[
        str | None, typer.Option("--prompt", "-p", help="What to say. Left out, or `-`: read from standard input.")
    ] = None,
    target: TargetOption = STARTER,
    system: Annotated[str, typer.Option("--system", help="System prompt.")] = "",
    temperature: Annotated[float, typer.Option(help="0 is greedy.")] = _DEFAULTS.temperature,
    top_k: Annotated[int, typer.Option(help="0 switches it off.")] = _DEFAULTS.top_k,
    top_p: Annotated[float, typer.Option(help="1 switches it off.")] = _DEFAULTS.top_p,
    min_p: Annotated[float, typer.Option(help="0 switches it off.")] = _DEFAULTS.min_p,
    repetition_penalty: Annotated[float, typer.Option(help="1 switches it off.")] = _DEFAULTS.repetition_penalty,
    presence_penalty: Annotated[float, typer.Option(help="0 switches it off.")] = _DEFAULTS.presence_penalty,
    frequency_penalty: Annotated[float, typer.Option(help="0 switches it off.")] = _DEFAULTS.frequency_penalty,
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same reply.")] = None,
    max_tokens: Annotated[int, typer.Option(min=0, help="Length of the reply at most; 0 = no limit.")] = 1024,
    stop: Annotated[
        list[str] | None, typer.Option(help="End the reply before this text; may be given several times.")
    ] = None,
    context_size: Annotated[int | None, typer.Option("--context", help="Tokens the model can see at once.")] = None,
    threads: Annotated[int | None, typer.Option(help="Threads to compute with.")] = None,
    gpu_layers: Annotated[int | None, typer.Option(help="Layers on the GPU, in a build that has one.")] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object with the text, counts and times.")
    ] = False,
) -> None:
    """Answer one prompt in the terminal. Ctrl+C stops the reply.

    Example: slipstream chat --target starter --prompt "Write a haiku about the sea."
    """
    from app.terminal_chat import answer

    if prompt is None and sys.stdin.isatty():
        print("Write the prompt; Ctrl+D ends it.", file=sys.stderr)
    text = prompt if prompt is not None and prompt != "-" else sys.stdin.read()
    if not text.strip():
        raise typer.BadParameter("There is no prompt; say something with --prompt, or through standard input.")
    sampling = SamplingSettings(
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        min_p=min_p,
        repetition_penalty=repetition_penalty,
        presence_penalty=presence_penalty,
        frequency_penalty=frequency_penalty,
        seed=seed,
    )
    answer(
        EngineConfig(data_dir()),
        target,
        TargetSettings(context_size, threads, gpu_layers),
        ReplySettings(sampling, max_tokens or None, tuple(stop or ())),
        system,
        text,
        as_json=json,
    )


@models.command("list")
def list_models() -> None:
    """Show the starter and every model used before."""
    from app.model_table import print_models

    print_models(EngineConfig(data_dir()))


if __name__ == "__main__":
    main()
