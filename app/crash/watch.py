"""The log, and a report on this machine of every unexpected error, wherever it happened."""

from __future__ import annotations

import faulthandler
import logging
import logging.handlers
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from types import TracebackType
from typing import Any

from app.crash.discretion import Discreet, others_discreet
from app.crash.reports import CrashFolder, error_text
from engine.values.errors import MendableError
from engine.values.places import LOG
from engine.values.whole_file import private_folder

MOST_REPORTS = 5  # of one run: what goes wrong at every repaint is known by then
_LOG_BYTES = 1_000_000  # of one file, of which there are
_NUM_OLD_LOGS = 2  # more
_logger = logging.getLogger("slipstream")


def log_file(data_dir: Path) -> Path:
    return data_dir / LOG


def log_to_file(data_dir: Path) -> None:
    """Starts logging; nothing a user wrote is ever logged, see `Discreet`. There is no log if the folder cannot be
    written, or another file has the log's name."""
    file = log_file(data_dir)
    try:
        private_folder(file.parent)
        handler = _LogFile(file, "a", _LOG_BYTES, _NUM_OLD_LOGS, "utf-8", errors="backslashreplace")
    except OSError:
        return
    handler.setFormatter(Discreet("%(asctime)s %(levelname)s %(name)s %(threadName)s: %(message)s"))
    _logger.addHandler(handler)
    _logger.setLevel(logging.INFO)


class _LogFile(logging.handlers.RotatingFileHandler):
    """Follows no link, and waits at no pipe. What it cannot write is lost: the standard error would get the
    message as it is."""

    def handleError(self, record: logging.LogRecord) -> None:
        pass

    def _open(self) -> TextIOWrapper:
        return open(self.baseFilename, "a", encoding=self.encoding, errors=self.errors, opener=_open_itself)


def _open_itself(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0), 0o600)


class CrashWatch(logging.Handler):
    """Takes every error that is logged with its traceback, and writes one report for each place it comes from.

    `on_report` is called on the thread of the error.
    """

    def __init__(self, folder: CrashFolder) -> None:
        super().__init__(logging.ERROR)
        self.folder = folder
        self.on_report: Callable[[Path], None] = lambda _report: None
        self.settings_text: Callable[[], str] = str
        self._places: set[tuple[object, ...]] = set()

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is None or isinstance(error, MendableError):
            return
        place = (type(error), *((at.filename, at.lineno) for at in traceback.extract_tb(error.__traceback__, -1)))
        if place in self._places or len(self._places) >= MOST_REPORTS:
            return
        self._places.add(place)
        try:
            what = f"An error nobody expected, on the thread {record.threadName}."
            report = self.folder.write(what, error_text(error), self.settings_text())
            if report is not None:
                self.on_report(report)
        except Exception:
            self.handleError(record)


@contextmanager
def watching(folder: CrashFolder) -> Iterator[CrashWatch]:
    """Watches until the end of the block, including the error that ends it."""
    watch = CrashWatch(folder)
    _logger.addHandler(watch)
    before = sys.excepthook, threading.excepthook, sys.unraisablehook
    sys.excepthook = _uncaught
    threading.excepthook = _uncaught_elsewhere(threading.__excepthook__)
    sys.unraisablehook = _uncaught_elsewhere(sys.__unraisablehook__)
    try:
        with others_discreet(), folder.native_file() as native:
            if native is not None:
                faulthandler.enable(native)
            try:
                yield watch
            finally:
                faulthandler.disable()
    except Exception as error:
        if not isinstance(error, MendableError):
            _logger.critical("the app was ended by an error", exc_info=error)
        raise
    finally:
        sys.excepthook, threading.excepthook, sys.unraisablehook = before
        _logger.removeHandler(watch)


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Also hears of errors in methods that Qt calls, after which the app goes on."""
    if isinstance(error, Exception):
        _logger.error("an error was caught by nobody", exc_info=error)
        _tell(error)
    else:
        sys.__excepthook__(kind, error, trace)


def _uncaught_elsewhere(as_usual: Callable[[Any], Any]) -> Callable[[Any], None]:
    """Hears of errors on threads, and of those that cannot be raised."""

    def hear(failed: threading.ExceptHookArgs | sys.UnraisableHookArgs) -> None:
        if isinstance(failed.exc_value, Exception):
            _logger.error("an error ended a thread, or could not be raised", exc_info=failed.exc_value)
            _tell(failed.exc_value)
        else:
            as_usual(failed)

    return hear


def _tell(error: Exception) -> None:
    """Prints the error; started from a desktop, there is only the system's log."""
    if sys.stderr is not None:
        print(error_text(error), file=sys.stderr)
