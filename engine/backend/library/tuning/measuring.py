"""Measures a target next to other quantizations of it: what passes cost here, and how far apart the distributions are.

Two quantizations are loaded side by side and take turns, so that the drift of the machine's speed falls on both. Where
they do not fit into memory together, they are loaded one after the other, the original before and after; of its
distributions the likeliest tokens are kept meanwhile."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Protocol, TypeVar

from engine.speculation.model.interface import Interrupted, Target
from engine.speculation.model.llama.passes import sample_tokens, time_pass
from engine.speculation.numerics.likeliest import (
    LikeliestLogs,
    LogitRow,
    divergence,
    divergence_of_likeliest,
    likeliest_logs,
)
from engine.speculation.replies.reply import ReplyWriter
from engine.values.config import ReplySettings, SamplingSettings
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import NotPossible
from engine.values.quantizations import Distance, TuneStep
from engine.values.replies import StopReason
from engine.values.stop_signal import StopSignal

PROMPTS = (
    "Explain to a child in a few sentences why the sky is blue.",
    "Write a Python function that returns the n-th Fibonacci number, with a docstring.",
    "Schreibe drei Sätze über einen Herbsttag am Meer.",
    "List five things to check before renting a flat.",
    "A train leaves at 14:35 and arrives at 17:10. How long does the journey take? Show your steps.",
    "Écris un court message pour remercier une collègue de son aide.",
    "Write a polite e-mail that asks to move a meeting from Tuesday to Thursday.",
    "Write an SQL query that counts the orders of each customer in 2024, largest first.",
    "Tell the beginning of a story about a lighthouse keeper who finds a letter.",
    "Explica qué es la fotosíntesis en pocas frases.",
    "Summarize in two sentences: Bees visit flowers to collect nectar. On the way they carry pollen from one flower to "
    "the next, and so many plants can bear fruit. Where there are fewer bees, harvests shrink.",
    "Write a small HTML page with a heading, a paragraph and a list of three links.",
)


NUM_TOKENS = (1, 2, 4, 8)
_REPEATS = 2
_FEWEST_TURNS = 3  # that tell how far they spread
_TO_SIGMA = 1.4826  # of the median deviation from the median, for a normal distribution

Turn = Mapping[int, float]  # V(n) in seconds, by n


def time_turn(target: Target, stop: StopSignal) -> Turn:
    """The target holds nothing before and after. Raises Interrupted."""
    limits = target.limits
    most = min(limits.max_rows, limits.max_tokens, limits.context_size)
    tokens = sample_tokens(target, max(NUM_TOKENS))
    turn: dict[int, float] = {}
    target.roll_back(0)
    for num_tokens in NUM_TOKENS:
        if num_tokens <= most:
            times = [time_pass(target, tokens[:num_tokens], stop) for _ in range(1 + _REPEATS)]
            turn[num_tokens] = min(times[1:])  # the first one builds the graph of this size
    return turn


def medians(turns: Sequence[Turn]) -> dict[int, float]:
    return {num_tokens: median(turn[num_tokens] for turn in turns) for num_tokens in turns[0]}


def ratios(turns: Sequence[Turn], others: Sequence[Turn]) -> tuple[dict[int, float], float]:
    """V(n) of `others` over V(n) of the turns next to them, and the largest standard error of these ratios, as a share
    of one."""
    found: dict[int, float] = {}
    worst = 0.0 if len(turns) >= _FEWEST_TURNS else 1.0
    for num_tokens in turns[0]:
        each = [other[num_tokens] / turn[num_tokens] for turn, other in zip(turns, others, strict=True)]
        middle = median(each)
        spread = _TO_SIGMA * median(abs(ratio - middle) for ratio in each)
        found[num_tokens] = middle
        worst = max(worst, spread / middle / math.sqrt(len(each)))
    return found, worst


_GREEDY = SamplingSettings(temperature=0.0)
_DRAWN = SamplingSettings(seed=1)


@dataclass(frozen=True, slots=True)
class ReferencePassage:
    """A prompt, and what the original wrote after it."""

    prompt: tuple[int, ...]
    reply: tuple[int, ...]


def write_passage(target: Target, prompt: str, is_greedy: bool, num_tokens: int, stop: StopSignal) -> ReferencePassage:
    """The reply to a prompt, of at most `num_tokens`, greedy or drawn as usual. Raises Interrupted."""
    target.roll_back(0)
    writer = ReplyWriter(target)
    try:
        prepared = writer.prepare([ChatTurn(Role.USER, prompt)])
        sampling = _GREEDY if is_greedy else _DRAWN
        reply = writer.write(prepared, ReplySettings(max_tokens=num_tokens, sampling=sampling), stop)
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


_T = TypeVar("_T")
NUM_KEPT = 64  # likeliest tokens of a distribution, where the whole of it cannot be kept
_FEWEST_TOKENS = 8  # of a reply
_SMALL_ERROR = 0.02  # of a ratio; if it is larger, there are up to `_MORE_TURNS` times as many turns
_MORE_TURNS = 3

_Look = tuple[float, bool]  # at one token: the divergence, and whether both find the same one likeliest
LoadTarget = Callable[[Path], Target]


class Quietly(Protocol):
    """Runs work while no reply is awaited, and again if one was meanwhile; see `quiet`."""

    def __call__(self, work: Callable[[StopSignal], _T], /) -> _T: ...


def at_once(work: Callable[[StopSignal], _T]) -> _T:
    return work(StopSignal())


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is measured."""

    num_turns: int = 7
    num_prompts: int = len(PROMPTS)
    own_prompts: tuple[str, ...] = ()  # of the user, which come before the built-in ones
    reply_tokens: int = 48  # of each reply, at most
    writing_s: float = 12.0  # about how long the original may write; a slow one writes shorter replies


USUAL = Extent()
QUICK = Extent(num_turns=5, reply_tokens=32, writing_s=4.0)


@dataclass(frozen=True, slots=True)
class Compared:
    """A quantization compared with the original."""

    ratios: dict[int, float]  # of V(n) to the original's, by n
    error: float  # the largest standard error of them
    distance: Distance


class Measuring:
    """Measures one target. Every method raises what loading raises, and Interrupted where `quietly` does."""

    def __init__(
        self,
        original: Path,
        load: LoadTarget,
        extent: Extent = USUAL,
        quietly: Quietly = at_once,
        on_step: Callable[[TuneStep, float], None] = lambda _step, _share: None,
    ) -> None:
        """`load` loads a file of its weights, whatever the quantization."""
        self._original = original
        self._load = load
        self._extent = extent
        self._quietly = quietly
        self._on_step = on_step
        self._turns: list[Turn] = []  # all of the original's
        self._passages: list[ReferencePassage] = []
        self._num_own = 0  # of the passages: those that begin with a prompt of the user's
        self._kept: list[list[LikeliestLogs]] = []  # the original's along each passage

    @property
    def passes(self) -> dict[int, float]:
        """V(n) of the original in seconds, by n, in all turns until now."""
        return medians(self._turns)

    def alone(self) -> None:
        """Times the original."""
        with closing(self._load(self._original)) as original:
            self._time([original])

    def beside(self, quantization: Path) -> Compared:
        """Compares with both in memory."""
        with closing(self._load(self._original)) as original, closing(self._load(quantization)) as other:
            ours, others = self._time([original, other])
            self._write(original)

            def look(place: int, stop: StopSignal) -> list[_Look]:
                passage = self._passages[place]
                pairs = zip(rows_along(original, passage, stop), rows_along(other, passage, stop), strict=True)
                return [(divergence(*pair), bool(pair[0].argmax() == pair[1].argmax())) for pair in pairs]

            distance = self._distance(look)
        return Compared(*ratios(ours, others), distance)

    def apart(self, quantization: Path) -> Compared:
        """Compares with one of them in memory at a time."""
        with closing(self._load(self._original)) as original:
            (before,) = self._time([original])
            self._write(original)
            self._keep(original)
        with closing(self._load(quantization)) as other:
            (others,) = self._time([other], is_original=False)

            def look(place: int, stop: StopSignal) -> list[_Look]:
                pairs = zip(self._kept[place], rows_along(other, self._passages[place], stop), strict=True)
                return [(divergence_of_likeliest(*pair), bool(pair[0].ids[0] == pair[1].argmax())) for pair in pairs]

            distance = self._distance(look, NUM_KEPT)
        with closing(self._load(self._original)) as original:
            (after,) = self._time([original])
        around = [_between(*turns) for turns in zip(before, after, strict=True)]
        return Compared(*ratios(around, others), distance)

    def _time(self, targets: Sequence[Target], is_original: bool = True) -> list[list[Turn]]:
        """Each target's turns; the order changes each time. Two that are compared take more turns while the machine is
        too busy to tell."""
        turns: list[list[Turn]] = [[] for _ in targets]
        places = list(range(len(targets)))
        usual, most = self._extent.num_turns, self._extent.num_turns * (_MORE_TURNS if len(targets) > 1 else 1)
        for number in range(most):
            if number >= usual and ratios(*turns)[1] <= _SMALL_ERROR:
                break
            for place in places if number % 2 else reversed(places):
                turns[place].append(self._quietly(partial(time_turn, targets[place])))
            self._on_step(TuneStep.TIMING, (number + 1) / (usual if number < usual else most))
        if is_original:
            self._turns += turns[0]
        return turns

    def _write(self, original: Target) -> None:
        """The replies along which distributions are compared, once for all quantizations."""
        if self._passages:
            return
        prompts = (*self._extent.own_prompts, *PROMPTS)[: self._extent.num_prompts]
        room = int(self._extent.writing_s / self.passes[1] / len(prompts))
        num_tokens = max(_FEWEST_TOKENS, min(self._extent.reply_tokens, room))
        for place, prompt in enumerate(prompts):
            is_greedy = place % 2 == 0
            passage = self._quietly(partial(write_passage, original, prompt, is_greedy, num_tokens))
            if passage.reply:
                self._passages.append(passage)
                self._num_own += place < len(self._extent.own_prompts)
            self._on_step(TuneStep.WRITING, (place + 1) / len(prompts))
        if not self._passages:
            raise NotPossible("This model writes nothing, so its quantizations cannot be compared.")

    def _keep(self, original: Target) -> None:
        if not self._kept:
            for passage in self._passages:
                self._kept.append(self._quietly(partial(_likeliest_along, original, passage)))

    def _distance(self, look: Callable[[int, StopSignal], list[_Look]], num_likeliest: int = 0) -> Distance:
        looks: list[list[_Look]] = []
        for place in range(len(self._passages)):
            looks.append(self._quietly(partial(look, place)))
            self._on_step(TuneStep.COMPARING, (place + 1) / len(self._passages))
        return replace(distance_of(looks, num_likeliest), num_own=self._num_own)


def distance_of(looks: Sequence[Sequence[_Look]], num_likeliest: int = 0) -> Distance:
    """The distance, from what was seen along each reply. Tokens of one reply are alike, so the error is that of
    replies."""
    divergences = [kl for each in looks for kl, _ in each]
    mean = fmean(divergences)
    weights = [len(each) / len(divergences) for each in looks]
    means = [fmean(kl for kl, _ in each) for each in looks]
    spread = sum((weight * (of_reply - mean)) ** 2 for weight, of_reply in zip(weights, means, strict=True))
    num_equal = sum(is_equal for each in looks for _, is_equal in each)
    return Distance(mean, math.sqrt(spread), num_equal / len(divergences), len(divergences), num_likeliest)


def _likeliest_along(original: Target, passage: ReferencePassage, stop: StopSignal) -> list[LikeliestLogs]:
    return [likeliest_logs(row, NUM_KEPT) for row in rows_along(original, passage, stop)]


def _between(before: Turn, after: Turn) -> Turn:
    return {num_tokens: (before[num_tokens] + after[num_tokens]) / 2 for num_tokens in before}
