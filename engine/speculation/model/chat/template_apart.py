"""Renders strangers' chat templates in a separate process that can open nothing and ends at its limits.

One process serves all templates. It starts when a target begins to load, so that no prompt waits for it, and restarts
as soon as it has ended.
"""

from __future__ import annotations

import json
import struct
import threading
from collections.abc import Mapping
from typing import Any

from engine.speculation.model.apart.child import Child, ChildEnded, Limits
from engine.speculation.model.chat.template_rendering import (
    EXHAUSTED,
    GRACE_S,
    HEAD,
    ODD,
    RENDERED,
    TOO_LARGE,
    Refused,
    serve,
)
from engine.speculation.model.interface import Interrupted
from engine.speculation.model.prompt_text import PromptText, as_json
from engine.values.errors import Cancelled
from engine.values.sentences import say, unpacked
from engine.values.stop_signal import StopSignal

# Over what the process has at first, 25 MB. A chat of a million characters takes a fifth of it, or twice that in emoji.
_MEMORY_BYTES = 104 << 20
_STARTING_S = 10.0  # of processor time, as are all below

# The templates of seventy models take 1 to 10 ms for 200 messages; few take more than 0.6 s for 5,000.
_SECONDS_IN_ALL = 0.9  # of the renderings for one prompt, of which each is given a share of what is left
_SHARE, _LEAST_SECONDS = 2 / 3, 0.05  # the least is enough to compile the template and render the last turn alone

_LONGEST_QUESTION = 15 << 20  # bytes: what there is memory for
_LONGEST_CHARACTER = 5  # bytes: one of UTF-8, and whether it was said
_LONGEST_REASON = 10_000  # bytes


class Patience:
    """The time budget of all renderings of one prompt."""

    def __init__(self, stop: StopSignal | None = None) -> None:
        """Setting `stop` ends the rendering."""
        self._left = _SECONDS_IN_ALL
        self.stop = stop or StopSignal()
        self.is_over = False  # a rendering has ended the process

    @property
    def seconds(self) -> float:
        """The share of the next rendering."""
        return max(_LEAST_SECONDS, _SHARE * self._left)

    def spend(self, seconds: float) -> None:
        self._left -= seconds


def check(source: str) -> None:
    """Compiles a template. Raises Refused if it is not valid, or takes too much."""
    _shared.ask((source, None, 0), Patience())


def rendered(source: str, names: Mapping[str, Any], most: int, patience: Patience) -> PromptText:
    """Renders a template to at most `most` characters. Raises Refused, and Interrupted when the patience is stopped."""
    return _shared.ask((source, names, most), patience)


def begin() -> None:
    """Starts the process unless it is running. Does not wait for it."""
    _shared.begin()


class _Shared:
    """The process, which answers one question at a time, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._is_warm = self._has_answered = False

    def begin(self) -> None:
        with self._lock:
            self._begun()

    def ask(self, question: tuple[str, Mapping[str, Any] | None, int], patience: Patience) -> PromptText:
        """Raises Refused and Interrupted."""
        if patience.is_over:
            raise _too_much()
        if patience.stop.is_set():
            raise Interrupted
        seconds = patience.seconds
        source, names, most = question
        data = json.dumps((source, as_json(names), most, seconds), ensure_ascii=False).encode("utf-8", "surrogatepass")
        if len(data) > _LONGEST_QUESTION:
            raise Refused(TOO_LARGE, is_exhausted=True)
        with self._lock:
            while True:
                child = self._begun()
                is_first = not self._has_answered
                answer = self._answer(child, data, seconds, patience)
                try:
                    return _read(answer, most, patience)
                except Refused as refused:
                    if not refused.is_odd or is_first:
                        raise
                    child.end()  # an earlier template may have harmed it: another process is asked
                except (ValueError, RecursionError, struct.error) as error:
                    child.end()
                    raise _too_much() from error

    def _answer(self, child: Child, data: bytes, seconds: float, patience: Patience) -> bytes:
        try:
            if not self._is_warm:
                child.ask(None, _STARTING_S, patience.stop.is_set)
                self._is_warm = True
            answer = child.ask(data, seconds + GRACE_S, patience.stop.is_set)
        except Cancelled:
            self._begun()
            raise Interrupted from None
        except ChildEnded as error:
            patience.is_over = True
            self._begun()
            raise _too_much() from error
        self._has_answered = True
        return answer

    def _begun(self) -> Child:
        if self._child is None or self._child.has_ended:
            self._child = Child(serve, (), Limits(memory_bytes=_MEMORY_BYTES))
            self._is_warm = self._has_answered = False
        return self._child


_shared = _Shared()


def _too_much() -> Refused:
    return Refused(say("it takes too much time or memory"), is_exhausted=True)


def _read(answer: bytes, most: int, patience: Patience) -> PromptText:
    """Unpacks an answer. A template that broke out of the sandbox may send anything: raises ValueError, RecursionError
    or struct.error for what is none, and Refused."""
    if len(answer) > HEAD.size + max(_LONGEST_CHARACTER * most, _LONGEST_REASON):
        raise ValueError("too long")
    kind, took, length = HEAD.unpack_from(answer)
    patience.spend(max(took, 0.0))
    rest = answer[HEAD.size :]
    if kind != RENDERED:
        raise Refused(unpacked(json.loads(rest)), is_exhausted=kind == EXHAUSTED, is_odd=kind == ODD)
    said, text = rest[:length], rest[length:].decode("utf-8", "surrogatepass")
    if len(said) != len(text) or said.strip(b"\0\1\2"):
        raise ValueError("not of this format")
    return PromptText(text, said)
