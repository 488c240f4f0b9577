"""How far to draft: the costs of passes, and the length that gains most."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from operator import sub

from engine.speculation.numerics.draft import Draft
from engine.values.draft_policy import KnownCosts, SpanCosts

MAX_LENGTH = 63  # tokens of a draft; one pass then has 64 rows
USUAL_LENGTH = 15  # the same, except for long copies: guesses further ahead are hardly ever right
_NEWEST = 0.05  # weight of the newest pass in what is known of its number of rows, in the long run
_HOPE = 0.05  # of a cost that no pass has shown
_NEWEST_CHANGE = 0.1  # weight of the newest change
_NEIGHBOURS = (1 / 4, 1 / 16)  # of a surprise, for those with one row more or less, and with two
_LARGEST_SURPRISE = 2.0  # a pass that took longer or shorter than that says more about the machine than about passes
_SPANS = (256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768)  # numbers of tokens held at which costs change


class OwnWork:
    """The seconds of a round that are no pass of the target or the drafter: proposing, distributions, acceptance, and
    all that follows the reply. V(n) is without them; a draft pays for what it takes more of them than a plain round."""

    def __init__(self) -> None:
        self._plain, self._drafted, self._step = _Usual(), _Usual(), _Usual()

    @property
    def plain_s(self) -> float:
        """Of a round without a draft."""
        return self._plain.seconds

    @property
    def drafted_s(self) -> float:
        """How much more a round with a draft takes; 0 until there was one that no drafter worked for."""
        return max(0.0, self._drafted.seconds - self.plain_s)

    @property
    def step_s(self) -> float:
        """How much more it takes for each pass of a drafter."""
        return self._step.seconds

    def of(self, num_rounds: int, num_drafted: int, num_steps: int) -> float:
        """The usual seconds of so many rounds, of which some have a draft."""
        return num_rounds * self.plain_s + num_drafted * self.drafted_s + num_steps * self.step_s

    def note(self, draft: Draft, seconds: float) -> None:
        """Notes those of a round with this draft, unless a drafter read a prompt, which has to be rendered, too."""
        if draft.num_read:
            return
        if draft.num_steps:
            known_s = self.of(1, bool(draft.tokens), 0)
            self._step.note(max(0.0, seconds - known_s) / draft.num_steps)
        elif draft.tokens:
            self._drafted.note(seconds)
        else:
            if not self._plain.number:
                self._step = _Usual()  # all that was seen so far was put down to the drafter
            self._plain.note(seconds)


class _Usual:
    """A running mean that hiccups hardly move."""

    def __init__(self) -> None:
        self.seconds, self.number = 0.0, 0

    def note(self, seconds: float) -> None:
        if self.number:
            seconds = min(seconds, _LARGEST_SURPRISE * self.seconds)
        self.number += 1
        self.seconds += max(_NEWEST, 1 / self.number) * (seconds - self.seconds)


class PassCosts:
    """V(n): the seconds of a pass over n tokens, for n from 1 to MAX_LENGTH + 1, by how much the target holds; and
    `change_s`, how much more it takes after one over another number of tokens.

    V(1) is known, and every V(n) as a multiple of it. When the machine turns slower or faster, plain passes show it and
    all others follow; a pass over several tokens says nothing about plain ones. A pass takes longer the more tokens are
    held, one over many tokens less so; each span of lengths has its own costs. A span entered for the first time begins
    with the costs of the one before. `own`: what rounds take besides.
    """

    def __init__(self, measured: Mapping[int, float], change_s: float = 0.0, num_measured: int = 2) -> None:
        """`measured` maps some numbers of tokens, 1 among them, to seconds, each seen in `num_measured` passes; others
        are filled in between, and follow what passes show at once."""
        seconds = filled(measured)
        self.change_s = change_s
        self.own = OwnWork()
        self._single_s = seconds[0]
        self._multiples = [each / seconds[0] for each in seconds]
        self._weights = [float(num_measured * (place + 1 in measured)) for place in range(len(seconds))]
        self._spans: dict[int, SpanCosts] = {}  # all but the present one
        self._span = 0

    def of(self, num_tokens: int) -> float:
        return self._single_s * self._multiples[min(num_tokens, MAX_LENGTH + 1) - 1]

    def beyond(self, num_tokens: int, count: int) -> list[float]:
        """V(n) for the next `count` numbers after `num_tokens`, as far as they go."""
        single_s = self._single_s
        return [single_s * each for each in self._multiples[num_tokens : num_tokens + count]]

    @property
    def least_row_s(self) -> float:
        """What one more row costs where it costs least, in passes that have a draft, but no long copy."""
        multiples = self._multiples[1 : USUAL_LENGTH + 1]
        least: float = min(map(sub, multiples[1:], multiples))
        return self._single_s * least

    @property
    def most_rows(self) -> int:
        return len(self._multiples)

    @property
    def best_ratio(self) -> float:
        """The speed relative to plain decoding if every guess were right and took no time."""
        return max(num_rows / multiple for num_rows, multiple in enumerate(self._multiples[: USUAL_LENGTH + 1], 1))

    def hoped(self, num_tokens: int) -> float:
        """V(n), reduced where little is known of it, so that a length that only looks expensive because it was never
        tried gets tried."""
        place = min(num_tokens, MAX_LENGTH + 1) - 1
        return self._single_s * self._multiples[place] * (1 - _HOPE / math.sqrt(1 + self._weights[place]))

    def enter(self, num_held: int) -> bool:
        """Switches to the costs of a target that holds `num_held` tokens. Returns whether they are different."""
        span = bisect_right(_SPANS, num_held)
        if span == self._span:
            return False
        self._spans[self._span] = self._here
        known = self._spans.pop(span, None)
        self._span = span
        if known is None:
            self._weights = [min(weight, 1.0) for weight in self._weights]  # what comes says more
        else:
            self._take(known)
        return True

    def refine(self, num_tokens: int, seconds: float) -> None:
        """Notes the seconds of a pass over `num_tokens`. Only its own cost moves with it, and slightly those of
        neighbouring numbers; the first passes of a span count more than later ones."""
        if not 1 <= num_tokens <= MAX_LENGTH + 1:
            return
        place = num_tokens - 1
        surprise = min(max(seconds / self.of(num_tokens), 1 / _LARGEST_SURPRISE), _LARGEST_SURPRISE)
        newest = max(_NEWEST, 1 / (self._weights[place] + 1))
        self._weights[place] += 1
        if place == 0:
            self._single_s *= surprise**newest
            return
        self._multiples[place] *= surprise**newest
        for distance, share in enumerate(_NEIGHBOURS, 1):
            for other in (place - distance, place + distance):
                if 1 <= other <= MAX_LENGTH:
                    self._multiples[other] *= surprise ** (newest * share / (1 + self._weights[other]))

    def refine_change(self, seconds: float) -> None:
        """Notes how much longer a pass over one token took after one over several."""
        surplus = min(max(0.0, seconds), self._single_s / _LARGEST_SURPRISE)
        self.change_s += _NEWEST_CHANGE * (surplus - self.change_s)

    def note_own(self, draft: Draft, seconds: float) -> None:
        self.own.note(draft, seconds)

    @property
    def plain_s(self) -> float:
        """The seconds of a round without a draft."""
        return self._single_s + self.own.plain_s

    @property
    def known(self) -> KnownCosts:
        return KnownCosts({**self._spans, self._span: self._here}, self.change_s)

    def know(self, known: KnownCosts) -> None:
        """Restores earlier costs, scaled to today's plain passes at the beginning."""
        spans = {
            span: costs
            for span, costs in known.spans.items()
            if len(costs.multiples) == len(costs.weights) == MAX_LENGTH + 1 and costs.multiples[0] == 1
        }
        first = spans.get(0)
        ratio = self._single_s / first.single_s if first else 1.0
        self.change_s = known.change_s * ratio
        self._spans = {span: replace(costs, single_s=costs.single_s * ratio) for span, costs in spans.items()}
        if self._span in self._spans:
            self._take(self._spans.pop(self._span))

    @property
    def _here(self) -> SpanCosts:
        return SpanCosts(self._single_s, tuple(self._multiples), tuple(self._weights))

    def _take(self, known: SpanCosts) -> None:
        self._single_s, self._multiples, self._weights = known.single_s, [*known.multiples], [*known.weights]


class FixedCosts(PassCosts):
    """Costs that are given and stay; nothing else takes time."""

    def hoped(self, num_tokens: int) -> float:
        return self.of(num_tokens)

    def know(self, known: KnownCosts) -> None: ...

    def refine_change(self, seconds: float) -> None: ...

    def enter(self, num_held: int) -> bool:  # noqa: ARG002
        return False

    def refine(self, num_tokens: int, seconds: float) -> None: ...

    def note_own(self, draft: Draft, seconds: float) -> None: ...


def best_gain(
    costs: PassCosts, chances: Sequence[float], rate: float, num_rows: int = 1, step_s: float = 0.0
) -> tuple[int, float]:
    """How many of these tokens to check in addition to `num_rows` others, and the tokens gained by it: argmax over k of
    a₁ + a₁a₂ + … + a₁…aₖ − rate · (V(rows + k) − V(rows) + (k − 1) · step); (0, 0.0) where nothing is gained.

    `chances` a: that each is accepted if those before it are; `rate`: tokens per second otherwise; `step_s`: seconds to
    guess one more, the first being there already. A token is worth drafting while its chance is above its costs at the
    going rate; a pass can cost less with more rows, so all lengths are tried.
    """
    best, best_gain = 0, 0.0
    accepted, gained = 1.0, 0.0
    without, longer_s = costs.of(num_rows), costs.beyond(num_rows, len(chances))
    for length, (chance, seconds) in enumerate(zip(chances, longer_s, strict=False), 1):
        accepted *= chance
        gained += accepted
        gain = gained - rate * (seconds - without + (length - 1) * step_s)
        if gain > best_gain:
            best, best_gain = length, gain
    return best, best_gain


def likeliest_first(reached: Sequence[float]) -> Sequence[int]:
    """The places of a tree's tokens, which are `reached` with these chances: any number of the first ones gains more
    than any other part of the tree of that size. Parents come before their children."""
    return sorted(range(len(reached)), key=lambda place: -reached[place])


def filled(measured: Mapping[int, float]) -> list[float]:
    """The seconds of passes over 1, 2, … MAX_LENGTH + 1 tokens, interpolated from some of them."""
    points = sorted(measured.items())
    assert points
    assert points[0][0] == 1
    seconds = [points[0][1]]
    for (low, low_s), (high, high_s) in pairwise(points):
        step = (high_s - low_s) / (high - low)
        seconds += [low_s + step * (place + 1) for place in range(high - low)]
    # Beyond the last point a token costs what it did on average up to there.
    last, last_s = points[-1]
    slope = (last_s - seconds[0]) / (last - 1) if last > 1 else seconds[0] * 0.25
    seconds += [last_s + max(slope, 0.0) * (place + 1) for place in range(MAX_LENGTH + 1 - last)]
    return seconds[: MAX_LENGTH + 1]
