"""The one place through which everything goes that is logged, and that says no word of a user."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from enum import Enum
from numbers import Real
from pathlib import Path
from typing import Any, TextIO

from app.crash.our_words import LEFT_OUT, template_of, words_of_library
from app.crash.reports import error_line, error_text, without_home
from engine.values.logged import Loggable

_OURS = "slipstream"
_LIBRARIES = ("slipstream.llama_cpp", "slipstream.qt")  # whose messages we pass on
_logger = logging.getLogger(_OURS)


class Discreet(logging.Formatter):
    """Says what happened and where. The messages of our own code are literals (a test makes sure of that); of what is
    filled in, numbers and names of our code are shown, errors and sentences by their templates, and everything else is
    left out: it may be what a user wrote or searched for, a title, a name, a path or a key. Of messages of libraries,
    only words that are no names are shown."""

    def format(self, record: logging.LogRecord) -> str:
        told = copy(record)
        told.exc_text = None
        is_ours = told.name.partition(".")[0] == _OURS and told.name not in _LIBRARIES
        if is_ours and isinstance(told.msg, str):
            told.args = tuple(map(_shown, told.args)) if isinstance(told.args, tuple) else ()
            told.msg, told.args = _message_of(told) or told.msg, ()
        else:
            told.msg, told.args = words_of_library(_message_of(told)), ()
        return without_home(super().format(told))

    def formatException(self, failed: Any) -> str:
        return error_text(failed[1])


def _message_of(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # what is filled in does not fit
        return ""


def _shown(value: object) -> object:
    match value:
        case None | Real():
            return value
        case BaseException():
            return error_line(value)
        case type():
            return value.__qualname__
        case Enum():
            return value.name
        case Loggable():
            return value
        case str():
            return template_of(value)
    return LEFT_OUT


@contextmanager
def others_discreet() -> Iterator[None]:
    """Redacts what other packages log or warn of until the end of the block: standard error may be the system's own
    log, which more people read than ours."""
    last, before = logging.lastResort, warnings.showwarning
    if last is not None:
        last.setFormatter(Discreet("%(name)s: %(message)s"))
    warnings.showwarning = _log_warning
    try:
        yield
    finally:
        warnings.showwarning = before
        if last is not None:
            last.setFormatter(None)


def _log_warning(
    message: Warning | str,  # noqa: ARG001
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,  # noqa: ARG001
    line: str | None = None,  # noqa: ARG001
) -> None:
    _logger.warning("%s at %s:%d", category, Loggable(Path(filename).name), lineno)
