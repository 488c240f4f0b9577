"""Crash reports: files in `crashes/` of the data folder, which go nowhere unless the user takes them.

Nothing a user wrote gets into one: where something could hold such words it is left out, and the user's own folders are
shortened. A report that was not shown yet ends in `.new`. What the system writes when a library ends the process goes
to a file that ends in `.native`, which becomes a report at the next start.
"""

from __future__ import annotations

import contextlib
import dis
import getpass
import os
import platform
import re
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib.metadata import distributions
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from app.crash.our_words import template_of, words_of_python
from engine.values.errors import MendableError
from engine.values.places import expanded
from engine.values.whole_file import plain_file, private_folder

if TYPE_CHECKING:
    from app.settings.app_settings import AppSettings

_MOST_REPORTS = 10
_NATIVE_BYTES = 256 * 1024
_PLAIN_ERRORS = frozenset(  # whose words are Python's own where it raises them itself, but for names that they quote
    {
        AttributeError, FloatingPointError, ImportError, IndexError, MemoryError, ModuleNotFoundError, NameError,
        RecursionError, TypeError, UnboundLocalError, ZeroDivisionError,
    }
)  # fmt: skip
_RAISING = frozenset(dis.opmap[name] for name in ("RAISE_VARARGS", "RERAISE"))
_MOST_WORDS = 500  # characters


class CrashFolder:
    """Reports of one data folder. What cannot be written is not: a crash is no time for further errors."""

    def __init__(self, data_dir: Path) -> None:
        self.path = data_dir / "crashes"
        self._native: Path | None = None  # of this process

    def write(self, what: str, trace: str, settings: str = "", when: datetime | None = None) -> Path | None:
        """A report that was not shown yet. None if it could not be written."""
        at = when or datetime.now(UTC)
        report = self.path / f"slipstream-crash-{at:%Y%m%d-%H%M%S-%f}.new"
        text = (
            "Slipstream crash report\n\n"
            "It lies on your machine; nothing was sent. No chat, prompt or title is in it.\n\n"
            f"When: {at:%Y-%m-%d %H:%M:%S} UTC\nWhat: {what}\n\n{machine_text()}\n\n"
            f"Settings that are not the usual ones, without texts\n{settings}\n\n{trace.strip()}\n"
        )
        try:
            private_folder(self.path)
            with report.open("x", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
            for old in self._files(".new", ".txt")[:-_MOST_REPORTS]:
                old.unlink()
        except OSError:
            return None
        return report

    def take_new(self, settings: Callable[[], str] = str) -> tuple[Path, ...]:
        """Reports that were not shown yet, oldest first, those of processes that are gone among them. Only for the
        process that has the data folder to itself: the files of others must not be in use."""
        for native in self._files(".native"):
            with contextlib.suppress(OSError):
                if native != self._native:
                    self._report_native(native, settings)
        return self._files(".new")

    def mark_shown(self, report: Path) -> None:
        with contextlib.suppress(OSError):
            report.rename(report.with_suffix(".txt"))

    @contextlib.contextmanager
    def native_file(self) -> Iterator[BinaryIO | None]:
        """Opens a file for `faulthandler`, which cannot make one when it needs it. The file remains only if the process
        dies inside the block; None if it cannot be made."""
        path = self.path / f"{datetime.now(UTC):%Y%m%d-%H%M%S-%f}-{os.getpid()}.native"
        file = None
        with contextlib.suppress(OSError):
            private_folder(self.path)
            file = path.open("xb", buffering=0)
            self._native = path
        try:
            yield file
        finally:
            if file is not None:
                file.close()
                with contextlib.suppress(OSError):
                    path.unlink()

    def _report_native(self, native: Path, settings: Callable[[], str]) -> None:
        """Reports a native crash. An empty file is no crash: its process was killed, or the machine lost power."""
        with plain_file(native) as file:
            trace = file.read(_NATIVE_BYTES).decode("utf-8", "replace")
        if trace:
            when = datetime.fromtimestamp(native.stat().st_mtime, UTC)
            self.write("The process was ended by an error outside of Python.", without_home(trace), settings(), when)
        native.unlink()

    def _files(self, *suffixes: str) -> tuple[Path, ...]:
        try:
            return tuple(sorted(file for file in self.path.iterdir() if file.suffix in suffixes))
        except OSError:
            return ()


def error_text(error: BaseException | None) -> str:
    """An exception with its place, and with its own words only if code wrote them."""
    parts: list[str] = []
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        frames = "".join(traceback.format_tb(error.__traceback__))
        parts.append(f"Traceback (most recent call last):\n{frames}{type(error).__qualname__}{_words(error)}")
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return without_home("\n\nwhich came from\n\n".join(parts))


def error_line(error: BaseException) -> str:
    """The exception in one line, with the innermost place."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__qualname__}{place}{_words(error)}"


def machine_text() -> str:
    packages = ", ".join(sorted(f"{package.name} {package.version}" for package in distributions()))
    system = f"Python {platform.python_version()}, {platform.platform()}"
    return f"{system}, {platform.machine()} {platform.processor()}, {os.cpu_count()} cores\n{packages}"


def settings_text(settings: AppSettings) -> str:
    """Switches, numbers and choices that differ from the defaults; never a text, a path or a name."""
    from app.settings.declaration import Kind, shown_settings  # pydantic, which is slow: not before the first window

    choices = {setting.name for setting in shown_settings(type(settings)) if setting.kind is Kind.CHOICE}
    changed = settings.model_dump(exclude_defaults=True).items()
    return "\n".join(
        f"{name} = {value}" for name, value in changed if isinstance(value, int | float) or name in choices
    )


def without_home(text: str) -> str:
    """Replaces the user's folder by `~`, and the user's name in other folders."""
    home = str(expanded("~"))
    if len(home) > 1:
        text = text.replace(home, "~")
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):  # one without a name
        return text
    return re.sub(rf"(?<=[/\\]){re.escape(user)}(?=[/\\])", "user", text)


def _words(error: BaseException) -> str:
    if isinstance(error, MendableError):
        return f": {template_of(error.sentence)}"
    if type(error) in _PLAIN_ERRORS and not _is_raised_by_code(error):
        return f": {words_of_python(error)}"[:_MOST_WORDS]
    if isinstance(error, OSError) and error.errno is not None:
        return f": [Errno {error.errno}] {os.strerror(error.errno)}"  # without the file
    return " (its words are left out: they may hold what somebody wrote)" if str(error) else ""


def _is_raised_by_code(error: BaseException) -> bool:
    """True if a `raise` statement raised it; its message may contain data."""
    trace = error.__traceback__
    if trace is None:
        return True
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_code[trace.tb_lasti] in _RAISING
