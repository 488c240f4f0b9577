"""The command line. Without a command it opens the app.

Modules of this folder are imported before the window is shown. Whatever is slow (Qt, rich, the engine's events) is
imported by the command that needs it, or by `engine` when one of its names is used.
"""

from __future__ import annotations

import errno
import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from app.commands.bench import bench, replay
from app.commands.chat import chat
from app.commands.distill import distill
from app.commands.drafter import drafter
from app.commands.models import models
from app.commands.options import NoSpeculationOption
from app.commands.profile import profile
from app.commands.serve import clients, serve
from app.commands.servers import servers
from app.commands.terminal import mark_output
from app.crash.images import leave_no_image
from app.startup.open_request import OpenRequest, is_there
from engine.values.config import SpeculationSettings
from engine.values.errors import MendableError


class _CommandsOrFiles(TyperGroup):
    """`slipstream FILE…` is `slipstream open FILE…`: desktops start programs like that."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        file = Path(args[0])
        if args[0] not in self.commands and (is_there(file) or file.name != args[0] or file.suffix):
            args = ["open", *args]
        return super().resolve_command(ctx, args)


application = typer.Typer(
    cls=_CommandsOrFiles,
    help="Chat with language models on your own machine. Without a command, the app opens, and with files as well: "
    "`slipstream FILE…`.",
    epilog="Everything stays on this machine, in the folder SLIPSTREAM_DATA_DIR names or the platform's own for data.",
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Entry point. An error that the user can mend ends with one sentence and exit code 2, never with a traceback."""
    leave_no_image()
    mark_output()
    try:
        application()
    except MendableError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.ENOSPC):
            raise
        os._exit(1)  # a closed pipe or a full disk; leaving in the usual way would try to write again


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
    no_speculation: NoSpeculationOption = False,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and quit.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        from app.application import run

        raise typer.Exit(run(target, smoke, SpeculationSettings(enabled=not no_speculation)))


@application.command("open")
def open_files(
    context: typer.Context,
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="A model, a profile, exported chats, or files to attach.")
    ],
) -> None:
    """Open files in the app, as dropping them on its window does. `slipstream FILE…` does the same.

    Example: slipstream open ~/models/tiny.gguf
    """
    from app.application import run

    asked = OpenRequest.of(files)
    options = context.parent.params if context.parent is not None else {}
    speculation = SpeculationSettings(enabled=not options.get("no_speculation", False))
    raise typer.Exit(run(options.get("target"), None, speculation, asked))


for _command in (chat, bench, replay, distill, serve):
    application.command()(_command)
application.add_typer(models, name="models")
application.add_typer(profile, name="profile")
application.add_typer(clients, name="clients")
application.add_typer(servers, name="servers")
application.add_typer(drafter, name="drafter")

if __name__ == "__main__":
    main()
