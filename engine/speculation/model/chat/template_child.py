"""The process that renders chat templates. Imports little, so that it starts quickly."""

from __future__ import annotations

import json
import signal
import struct
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any, NoReturn

from engine.speculation.model.apart.child import take_at_most
from engine.speculation.model.apart.sandbox import confine
from engine.speculation.model.chat import template_rendering
from engine.speculation.model.chat.template_rendering import TOO_LARGE, Refused
from engine.speculation.model.prompt_text import from_json
from engine.values.sentences import packed, say

# The head of an answer: the verdict, the seconds taken, the number of characters. After it come a byte for each
# character, whether it was said, and the text in UTF-8; or the reason of a refusal as JSON.
HEAD = struct.Struct("=cdQ")
RENDERED, REFUSED, EXHAUSTED, ODD = b"+", b"-", b"!", b"?"
GRACE_S = 0.2  # a single call that goes on for this long after its time ends the process


class _OutOfTime(BaseException):
    """Not an Exception, because jinja2 catches some."""


def serve(pipe: Connection) -> None:
    """Answers questions until the pipe closes."""
    # Imports what could not be opened later.
    template_rendering.rendered("{{strftime_now('%c')~'\\N{BULLET}'}}", {}, 100)
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGVTALRM, _end_rendering)
    confine()
    pipe.send_bytes(b"")
    while True:
        source, names, most, seconds = json.loads(pipe.recv_bytes())
        start = time.process_time()
        kind, length, rest = _answered(source, from_json(names), most, seconds)
        pipe.send_bytes(HEAD.pack(kind, time.process_time() - start, length) + rest)


def _answered(source: str, names: Mapping[str, Any] | None, most: int, seconds: float) -> tuple[bytes, int, bytes]:
    try:
        with _at_most(seconds):
            if names is None:
                template_rendering.check(source)
                return RENDERED, 0, b""
            text = template_rendering.rendered(source, names, most)
            return RENDERED, len(text), text.said + text.encode("utf-8", "surrogatepass")
    except _OutOfTime:
        refused = Refused(say("it takes too long"), is_exhausted=True)
    except MemoryError:
        refused = Refused(TOO_LARGE, is_exhausted=True)
    except Refused as error:
        refused = error
    kind = EXHAUSTED if refused.is_exhausted else ODD if refused.is_odd else REFUSED
    return kind, 0, json.dumps(packed(refused.reason)).encode()


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Limits the processor time inside: a signal raises _OutOfTime, and a single call that goes on ends the process."""
    if not hasattr(signal, "setitimer"):
        yield
        return
    take_at_most(seconds + GRACE_S)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        take_at_most(0)


def _end_rendering(_number: int, _frame: FrameType | None) -> NoReturn:
    raise _OutOfTime
