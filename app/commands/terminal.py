"""What commands share in the terminal: Ctrl+C, bars, tables, and the drafter that `--drafter` names.

Models, files and errors may have words in them that command a terminal: to hide text, to change its title, to answer as
if it had been typed. All that is written passes through `MarkedOutput`, which shows them as what they are, also where
it goes to a file or to another program: a terminal may be next. `--json` has the exact text, in escapes.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import IO, TYPE_CHECKING, Any, TextIO

import engine
from app.text.unseen import ending, mark_of, replaced, shown
from engine.values.errors import Cancelled

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn

    from engine.values.targets import Downloading

INTERRUPTED = 130  # the exit code of a program that Ctrl+C ended
_WIDE = 10_000  # columns


class MarkedOutput(io.TextIOWrapper):
    """Standard output, or standard error, with marks in place of what commands a terminal. Libraries that ask
    find no terminal, and send no colours."""

    def __init__(self, beneath: io.TextIOWrapper) -> None:
        """Shows question marks on a terminal that has no emoji."""
        super().__init__(
            beneath.buffer, beneath.encoding, "replace", line_buffering=beneath.line_buffering, write_through=True
        )
        self.beneath = beneath  # for bars and tables, which move the cursor; they mark their words themselves
        self._before = ""  # the end of what was written: a reply comes in pieces, which may begin within a word

    def write(self, text: str, /) -> int:
        super().write(_shown(text, self._before))
        self._before = ending(self._before + text)
        return len(text)

    def isatty(self) -> bool:
        return False


def mark_output() -> None:
    os.environ["_TYPER_FORCE_DISABLE_TERMINAL"] = "1"  # else it sends colours wherever its help is tested
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if type(stream) is io.TextIOWrapper:
            setattr(sys, name, MarkedOutput(stream))


def json_line(value: object) -> str:
    """The value on one line, exact, with nothing that controls a terminal."""
    is_unicode = (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")
    return replaced(json.dumps(value, ensure_ascii=not is_unicode), lambda signs: json.dumps(signs)[1:-1])


def _shown(text: str, before: str = "") -> str:
    return shown(text.replace("\r\n", "\n"), before).replace("\r", mark_of("\r"))


def _beneath(stream: TextIO) -> IO[str]:
    return stream.beneath if isinstance(stream, MarkedOutput) else stream


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
    """A bar followed by these columns, on standard error; it disappears when done. Shows nothing where that is no
    terminal."""
    from rich.progress import BarColumn, Progress, ProgressColumn, Task
    from rich.text import Text

    class Description(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(_shown(task.description))

    console = _console(sys.stderr)
    return Progress(
        Description(), BarColumn(), *columns, console=console, transient=True, disable=not console.is_terminal
    )


def download_bar() -> Progress:
    from rich.progress import DownloadColumn, TimeRemainingColumn, TransferSpeedColumn

    return progress_bar(DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())


def wide_console() -> Console:
    """Prints tables: a terminal's own width, and whole lines for other programs."""
    console = _console(sys.stdout)
    return console if console.is_terminal else _console(sys.stdout, width=_WIDE)


def _console(stream: TextIO, **options: Any) -> Console:
    """Makes a console that reads no markup."""
    from rich.console import Console
    from rich.text import Text

    class MarkingConsole(Console):
        def render_str(self, text: str, **others: Any) -> Text:
            return super().render_str(_shown(text), **others)

    return MarkingConsole(file=_beneath(stream), markup=False, emoji=False, highlight=False, **options)


def in_gib(size_bytes: int) -> str:
    return f"{size_bytes / 1e9:.2f} GB"


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

        def show(progress: Downloading) -> None:
            bar.update(task, completed=progress.num_bytes, total=progress.total_bytes, visible=True)

        engine.fetch_drafter(engine.EngineConfig(data_dir), name, stop, show)
