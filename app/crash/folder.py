"""Where crash reports lie: `crashes/` in the data folder. They go nowhere from there unless the user takes them.

A report that the user has not been told of yet ends in `.new`. What the system writes when a library brings the process
down ends in `.native` and becomes a report at the next start. Of both, few are kept.
"""

from __future__ import annotations

import contextlib
import os
from datetime import UTC, datetime
from pathlib import Path

from app.crash.logs import log_file
from app.crash.text import log_tail, machine_text, without_home

_KEPT = 10  # reports
_TAIL_BYTES = 48 * 1024  # of the log
_NATIVE_BYTES = 256 * 1024
_PREFIX = "slipstream-crash-"
_NEW, _TOLD, _NATIVE = ".new", ".txt", ".native"


class CrashFolder:
    """Reports of one data folder. What cannot be written is not: a crash is no time for further errors."""

    def __init__(self, data_dir: Path) -> None:
        self.path = data_dir / "crashes"
        self._log = log_file(data_dir)
        self._native: Path | None = None  # of this process

    def write(self, what: str, trace: str, settings: str = "", when: datetime | None = None) -> Path | None:
        """A report nobody has been told of. None if it could not be written."""
        at = when or datetime.now(UTC)
        report = self.path / f"{_PREFIX}{at:%Y%m%d-%H%M%S-%f}{_NEW}"
        try:
            self._make()
            with os.fdopen(os.open(report, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                file.write(self._text(what, trace, settings, at))
        except OSError:
            return None
        self._thin_out()
        return report

    def take_up(self, settings: str = "") -> tuple[Path, ...]:
        """Reports nobody has been told of, oldest first, those of a process that is gone among them. Only for the one
        that has the data folder to itself: the files of others must not be in use."""
        for native in self._files(_NATIVE):
            if native == self._native:
                continue
            with contextlib.suppress(OSError):
                self._report_native(native, settings)
        return self._files(_NEW)

    def mark_told(self, report: Path) -> Path:
        """Where the report is from now on."""
        told = report.with_suffix(_TOLD)
        try:
            return report.replace(told)
        except OSError:
            return report

    def open_native(self) -> int | None:
        """A file for what `faulthandler` writes, which cannot make one when it is needed."""
        path = self.path / f"{datetime.now(UTC):%Y%m%d-%H%M%S-%f}-{os.getpid()}{_NATIVE}"
        try:
            self._make()
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError:
            return None
        self._native = path
        return file

    def close_native(self, file: int) -> None:
        """The process ends as it should: whatever was written into it, it was no end."""
        with contextlib.suppress(OSError):
            os.close(file)
        if self._native is not None:
            with contextlib.suppress(OSError):
                self._native.unlink()

    def _report_native(self, native: Path, settings: str) -> None:
        """An empty one is of a process that was killed, or whose machine lost power: that is no crash."""
        status = native.stat()
        if status.st_size:
            with native.open("rb") as file:
                trace = file.read(_NATIVE_BYTES).decode("utf-8", "replace")
            when = datetime.fromtimestamp(status.st_mtime, UTC)
            self.write("The process was ended by an error outside of Python.", without_home(trace), settings, when)
        native.unlink()

    def _text(self, what: str, trace: str, settings: str, when: datetime) -> str:
        parts = [
            "Slipstream crash report",
            "It lies on your machine; nothing was sent. No chat, prompt or title is in it.",
            f"When: {when:%Y-%m-%d %H:%M:%S} UTC\nWhat: {what}",
            f"The program and the machine\n{machine_text()}",
        ]
        if settings:
            parts.append(f"Settings that are not the usual ones, without texts\n{settings}")
        parts.append(trace.strip())
        parts.append(f"The end of the log, shortened\n{self._log_tail() or '(empty)'}")
        return "\n\n".join(parts) + "\n"

    def _log_tail(self) -> str:
        try:
            with self._log.open("rb") as file:
                file.seek(max(0, self._log.stat().st_size - _TAIL_BYTES))
                return log_tail(file.read().decode("utf-8", "replace").splitlines())
        except OSError:
            return ""

    def _thin_out(self) -> None:
        reports = sorted((*self._files(_NEW), *self._files(_TOLD)), key=lambda report: report.stem)
        for report in reports[:-_KEPT]:
            with contextlib.suppress(OSError):
                report.unlink()

    def _files(self, suffix: str) -> tuple[Path, ...]:
        try:
            return tuple(sorted(file for file in self.path.iterdir() if file.suffix == suffix and file.is_file()))
        except OSError:
            return ()

    def _make(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
