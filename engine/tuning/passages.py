"""Replies that a target writes, and its distributions along them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.config import ReplySettings, SamplingSettings
from engine.messages.conversations import ChatTurn, Role
from engine.messages.replies import ReplyListener, StopReason
from engine.numerics.likeliest import LogitRow
from engine.replies.reply import ReplyWriter
from engine.stop_signal import StopSignal
from engine.target.interface import Interrupted, Target

_GREEDY = SamplingSettings(temperature=0.0)
_DRAWN = SamplingSettings(seed=1)


@dataclass(frozen=True, slots=True)
class ReferencePassage:
    """A prompt, and what the original wrote after it."""

    prompt: tuple[int, ...]
    reply: tuple[int, ...]


def write_passage(target: Target, prompt: str, is_greedy: bool, num_tokens: int, stop: StopSignal) -> ReferencePassage:
    """The reply to a prompt, of at most so many tokens, greedy or drawn as usual. Raises Interrupted."""
    target.roll_back(0)
    writer = ReplyWriter(target)
    try:
        prepared = writer.prepare([ChatTurn(Role.USER, prompt)])
        sampling = _GREEDY if is_greedy else _DRAWN
        reply = writer.write(prepared, ReplySettings(max_tokens=num_tokens, sampling=sampling), stop, ReplyListener())
    finally:
        writer.close()
    if reply.failure is not None:
        raise reply.failure
    if reply.statistics.stop_reason is StopReason.STOPPED:
        raise Interrupted
    return ReferencePassage(tuple(prepared.prompt.tokens), tuple(reply.tokens))


def rows_along(target: Target, passage: ReferencePassage, stop: StopSignal) -> Iterator[LogitRow]:
    """The row of logits before each token of the reply, which the next one may overwrite. Raises Interrupted."""
    target.roll_back(0)
    *before, last = passage.prompt
    for tokens in _pieces(before, target.limits.max_tokens):
        target.evaluate(tokens, 1, stop)
    for tokens in _pieces([last, *passage.reply[:-1]], min(target.limits.max_rows, target.limits.max_tokens)):
        yield from target.evaluate(tokens, len(tokens), stop)


def _pieces(tokens: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    return (tokens[start : start + size] for start in range(0, len(tokens), size))
