"""Sees to it that an error nobody expected leaves a report on this machine, wherever it happened."""

from __future__ import annotations

import faulthandler
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import QMessageLogContext, QtMsgType, qFormatLogMessage, qInstallMessageHandler

from app.crash.folder import CrashFolder
from app.crash.text import error_text
from engine.errors import MendableError

MOST_REPORTS = 5  # of one run: what goes wrong at every repaint is known by then
_logger = logging.getLogger("slipstream.uncaught")


class CrashWatch(logging.Handler):
    """Hears of every error that is logged with its traceback, and writes one report for each place it comes from.

    `on_report` is called on the thread of the error.
    """

    def __init__(self, folder: CrashFolder) -> None:
        super().__init__(logging.ERROR)
        self.folder = folder
        self.on_report: Callable[[Path], None] = lambda _report: None
        self.settings_text: Callable[[], str] = str
        self._places: set[tuple[type[BaseException], str, int]] = set()

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is None or isinstance(error, MendableError):
            return
        place = _place(error)
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
    """Until the end of the block, and for what ends the block."""
    watch = CrashWatch(folder)
    logger = logging.getLogger("slipstream")
    logger.addHandler(watch)
    before = sys.excepthook, threading.excepthook, sys.unraisablehook
    sys.excepthook = _uncaught
    threading.excepthook = _uncaught_on_thread
    sys.unraisablehook = _unraisable
    native = folder.open_native()
    if native is not None:
        faulthandler.enable(native)
    qInstallMessageHandler(lambda kind, context, text: _hear_qt(native, kind, context, text))
    try:
        yield watch
    except Exception as error:
        if not isinstance(error, MendableError):
            _logger.critical("the app was ended by an error", exc_info=error)
        raise
    finally:
        qInstallMessageHandler(None)
        if native is not None:
            faulthandler.disable()
            folder.close_native(native)
        sys.excepthook, threading.excepthook, sys.unraisablehook = before
        logger.removeHandler(watch)


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Also what a method raises that Qt has called: the app goes on after that."""
    if isinstance(error, Exception):
        _logger.error("an error was caught by nobody", exc_info=(kind, error, trace))
    sys.__excepthook__(kind, error, trace)


def _uncaught_on_thread(told: threading.ExceptHookArgs) -> None:
    if isinstance(told.exc_value, Exception):
        _logger.error("a thread was ended by an error", exc_info=(told.exc_type, told.exc_value, told.exc_traceback))
    threading.__excepthook__(told)


def _unraisable(told: sys.UnraisableHookArgs) -> None:
    if isinstance(told.exc_value, Exception):
        _logger.error("an error could not be raised", exc_info=(told.exc_type, told.exc_value, told.exc_traceback))
    sys.__unraisablehook__(told)


def _hear_qt(native: int | None, kind: QtMsgType, context: QMessageLogContext, text: str) -> None:
    """Qt ends the process after a fatal message: its words go where the traceback is going to stand."""
    line = f"{qFormatLogMessage(kind, context, text)}\n"
    if kind == QtMsgType.QtFatalMsg and native is not None:
        os.write(native, line.encode("utf-8", "replace"))
    if sys.stderr is not None:
        sys.stderr.write(line)


def _place(error: BaseException) -> tuple[type[BaseException], str, int]:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return (type(error), "", 0) if trace is None else (type(error), trace.tb_frame.f_code.co_filename, trace.tb_lineno)
