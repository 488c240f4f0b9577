"""Answers one prompt in turns without and with drafts, to compare the speed."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from engine.speculation.numerics.draft import common_prefix_length
from engine.speculation.replies.reply import ReplyWriter
from engine.speculation.replies.writing import Reply
from engine.values.comparison import Comparison, ComparisonOrder, ComparisonStep, RunFigures, Side, TextFork
from engine.values.config import ReplySettings
from engine.values.conversations import ChatTurn
from engine.values.growing_reply import GrowingReply, PieceReader, ReplySoFar, TextPiece
from engine.values.learned import VerifiedReply
from engine.values.replies import StopReason
from engine.values.stop_signal import StopSignal

# In this order, a machine that becomes slower or faster meanwhile does so for both sides alike.
TURNS = (Side.PLAIN, Side.SPED_UP, Side.SPED_UP, Side.PLAIN)
_SHOWN_TOKENS = 3  # of each side, from the fork on


def compare(
    writer: ReplyWriter,
    turns: Sequence[ChatTurn],
    order: ComparisonOrder,
    stop: StopSignal,
    progress: Callable[[ComparisonStep], object],
) -> Comparison:
    """Writes the replies of `TURNS`, until `stop` is set.

    Raises PromptTooLong or TemplateFailed, and the error that ends a reply.
    """
    finished: dict[Side, list[Reply]] = {Side.PLAIN: [], Side.SPED_UP: []}
    settings = _settings(order)
    with writer.aside():
        for side in TURNS:
            turn = len(finished[side])
            prepared = writer.prepare(list(turns), order.conversation_id, thinks=settings.asks_to_think)
            growing = GrowingReply(partial(_tell, side, turn, progress, PieceReader()))
            reply = writer.write(prepared, replace(settings, speculate=side is Side.SPED_UP), stop, growing)
            if reply.failure is not None:
                raise reply.failure
            if reply.statistics.stop_reason is StopReason.STOPPED:
                break
            finished[side].append(reply)
            progress(ComparisonStep(side, turn, "", _figures(reply), is_finished=True))
    is_greedy = settings.sampling.temperature == 0
    return Comparison(
        plain=tuple(map(_figures, finished[Side.PLAIN])),
        sped_up=tuple(map(_figures, finished[Side.SPED_UP])),
        is_greedy=is_greedy,
        is_stopped=sum(map(len, finished.values())) < len(TURNS),
        fork=_find_fork(writer, finished[Side.PLAIN], finished[Side.SPED_UP]) if is_greedy else None,
    )


def _settings(order: ComparisonOrder) -> ReplySettings:
    """One seed for all replies, so that at least the plain ones are the same. Greedy replies carry the target's
    distributions, which show whether a fork is a near-tie."""
    sampling = order.settings.sampling
    if sampling.seed is None:
        sampling = replace(sampling, seed=secrets.randbits(63))
    return replace(
        order.settings,
        sampling=sampling,
        max_tokens=order.num_tokens,
        learns=False,
        keeps_distributions=sampling.temperature == 0,
    )


def _tell(
    side: Side, turn: int, progress: Callable[[ComparisonStep], object], reader: PieceReader, so_far: ReplySoFar
) -> None:
    text = "".join(each.text for each in reader.new_in(so_far) if isinstance(each, TextPiece))
    if text:
        figures, speed = so_far.figures, so_far.figures.mean_tokens_per_s
        seconds = (figures.num_tokens - 1) / speed if speed > 0 else 0.0
        progress(ComparisonStep(side, turn, text, RunFigures(figures.num_tokens, seconds, speed)))


def _figures(reply: Reply) -> RunFigures:
    figures = reply.statistics
    return RunFigures(
        num_tokens=figures.reply_tokens,
        seconds=figures.reply_s,
        tokens_per_s=figures.tokens_per_s,
        num_rounds=figures.num_rounds,
        num_drafted=figures.num_drafted,
        num_accepted=figures.num_accepted,
        hindrance=figures.hindrance,
    )


def _find_fork(writer: ReplyWriter, plain: Sequence[Reply], sped_up: Sequence[Reply]) -> TextFork | None:
    """The fork of the first sped-up reply that differs from the first plain one; None if none does."""
    for reply in sped_up:
        if plain and reply.tokens != plain[0].tokens:
            return _fork(writer, plain[0], reply)
    return None


def _fork(writer: ReplyWriter, plain: Reply, sped_up: Reply) -> TextFork:
    assert plain.verified is not None
    assert sped_up.verified is not None
    wrote, other = plain.verified.tokens.tolist(), sped_up.verified.tokens.tolist()
    place = common_prefix_length(wrote, other)
    return TextFork(
        num_tokens=place,
        plain=writer.text_of(wrote[place : place + _SHOWN_TOKENS]),
        sped_up=writer.text_of(other[place : place + _SHOWN_TOKENS]),
        plain_chance=_chance(plain.verified, place, wrote[place : place + 1]),
        sped_up_chance=_chance(plain.verified, place, other[place : place + 1]),
    )


def _chance(plain: VerifiedReply, place: int, token: Sequence[int]) -> float | None:
    """The probability of the token at that place; None if it is not among the likeliest, or there is none."""
    if not token or place >= len(plain.top_tokens):
        return None
    among = (plain.top_tokens[place] == token[0]).nonzero()[0]
    return math.exp(float(plain.top_logs[place, among[0]])) if len(among) else None
