"""What commands share in the terminal: Ctrl+C, bars, tables, and the drafter that `--drafter` names."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import engine
from engine.errors import Cancelled

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn

    from engine.messages.events import DrafterFetching

INTERRUPTED = 130  # the exit code of a program that Ctrl+C ended
_WIDE = 10_000  # columns


@contextmanager
def stopped_by_ctrl_c(says_so: bool = False) -> Iterator[engine.StopSignal]:
    """A signal that Ctrl+C sets; a second one ends the program, and so does a command that the first one cancelled."""
    stop = engine.StopSignal()

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        stop.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield stop
    except Cancelled as error:
        if says_so:
            print(error, file=sys.stderr)
        sys.exit(INTERRUPTED)
    finally:
        signal.signal(signal.SIGINT, before)


def progress_bar(*columns: ProgressColumn) -> Progress:
    """With these columns after the bar. On standard error, and gone when it is done; nothing if that is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        *columns,
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )


def download_bar() -> Progress:
    from rich.progress import DownloadColumn, TimeRemainingColumn, TransferSpeedColumn

    return progress_bar(DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())


def wide_console() -> Console:
    """For tables: other programs get whole lines."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=_WIDE)


def in_gib(size_bytes: int) -> str:
    return f"{size_bytes / 2**30:.2f} GiB"


def chosen_drafter(choice: str, data_dir: Path) -> str:
    """The choice, after a name on the hub, or a file there, was downloaded. Ctrl+C ends the download and the program.

    Raises FetchFailed.
    """
    name = engine.hub_name(choice)
    if name is not None:
        _fetch(name, data_dir)
    return choice


def _fetch(name: str, data_dir: Path) -> None:
    with stopped_by_ctrl_c(says_so=True) as stop, download_bar() as bar:
        task = bar.add_task(name, total=None, visible=False)  # shown only if something is downloaded

        def show(progress: DrafterFetching) -> None:
            bar.update(task, completed=progress.num_bytes, total=progress.total_bytes, visible=True)

        config = engine.EngineConfig(data_dir)

        def take_in(path: Path) -> None:
            with engine.open_library(config) as library:
                library.take_in(path)

        engine.fetch_drafter(config, name, show, stop, take_in)
