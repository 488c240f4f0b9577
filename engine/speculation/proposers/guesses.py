"""What a drafter thought of a token, and how likely such a guess is to be accepted.

A guess is *certain*, and accepted with the target's probability of it, p(t); or it is *drawn* from the drafter's
distribution q, and accepted with min(1, p(t)/q(t)), before the draw with Σ min(p, q). Which of both is likelier depends
on how sure the drafter is, so it is learned, for each kind of guess and level of temperature. Either way other tokens
may branch off: what is written in the place of a rejected token is often one of them. Guesses are noted by the
distributions that the target gave, whatever was drawn: so both ways are learned from every verdict.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.speculation.native.rows import Probabilities
from engine.speculation.numerics.acceptance_head import AcceptanceHead, odds_of
from engine.speculation.numerics.estimates import Calibration
from engine.speculation.numerics.habits import NUM_KINDS
from engine.speculation.numerics.sampling import Certain, Dice, Distribution
from engine.speculation.proposers.blending import Blend

_CONFIDENCES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)  # borders between kinds of guesses
_CERTAIN = (0.05, 0.12, 0.2, 0.28, 0.36, 0.45, 0.53, 0.62, 0.72, 0.82, 0.9, 0.95)  # that each kind is accepted
_ANY_DRAW = (0.25, 0.32, 0.38, 0.43, 0.47, 0.51, 0.56, 0.64, 0.74, 0.84, 0.91, 0.96)  # before it is drawn
_LIKELIEST_DRAWN = (0.3, 0.4, 0.46, 0.52, 0.57, 0.62, 0.68, 0.75, 0.82, 0.88, 0.93, 0.97)
_RARE = (0.03, 0.06, 0.1, 0.2, 0.3)  # probabilities that other tokens were drawn with, borders between kinds
_OTHER_DRAWN = (0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
_WEIGHT = 0.05  # of what the user's texts suggest, before anything was seen
_BESIDE_CERTAIN = (0.005, 0.02, 0.05, 0.1, 0.2, 0.3)  # probabilities of other tokens, borders between kinds
_BESIDE_CERTAIN_PRIORS = (0.01, 0.03, 0.06, 0.1, 0.17, 0.25)
_BESIDE_DRAWN = (0.005, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7)
_BESIDE_DRAWN_PRIORS = (0.01, 0.02, 0.03, 0.06, 0.1, 0.14, 0.22, 0.35)
_PRIORS = (
    *_CERTAIN,
    *[_WEIGHT] * NUM_KINDS,
    *_BESIDE_CERTAIN_PRIORS,
    *_ANY_DRAW,
    *_LIKELIEST_DRAWN,
    *_OTHER_DRAWN,
    *_BESIDE_DRAWN_PRIORS,
)
FIRST_WEIGHT = len(_CERTAIN)
_FIRST_BESIDE_CERTAIN = FIRST_WEIGHT + NUM_KINDS
_FIRST_ANY_DRAW = _FIRST_BESIDE_CERTAIN + len(_BESIDE_CERTAIN_PRIORS)
_FIRST_LIKELIEST_DRAWN = _FIRST_ANY_DRAW + len(_ANY_DRAW)
_FIRST_OTHER_DRAWN = _FIRST_LIKELIEST_DRAWN + len(_LIKELIEST_DRAWN)
_FIRST_BESIDE_DRAWN = _FIRST_OTHER_DRAWN + len(_OTHER_DRAWN)
_MOST = 0.5
_FAR = 4  # places
NUM_FEATURES = 7  # the calibrated chance, and what `features` returns

LEAST_BESIDE = _BESIDE_CERTAIN[0]  # the least probability of a token that is worth a branch


@dataclass(slots=True)  # not frozen: after a pass, that takes twice as long to make
class Guess:
    """What the drafter thought of one token of the target."""

    sure: int  # kind, by how likely its likeliest token is
    token: int  # the drafter's: its likeliest, or the one that was drawn
    proposed: Distribution | None = None  # what it was, or might have been, drawn from; None: certain anyway
    inner: Collection[int] = ()  # of these, tokens of the drafter that make the token before it longer
    blend: Blend | None = None  # with what the user's texts suggest; None: the drafter's alone
    drawn: float | None = None  # the probability that it was drawn with; None: it is certain, or was not drafted
    is_likeliest: bool = True
    about: tuple[float, ...] = ()  # features for the acceptance head
    chance: float = 0.0  # that it is accepted, as it was judged when it was made

    @property
    def is_of_texts(self) -> bool:
        """True if most of its probability came from the user's texts."""
        return self.blend is not None and self.blend.share_of(self.token) > _MOST

    @property
    def kind(self) -> int:
        return self.sure if self.drawn is None else _drawn_kind(self.sure, self.drawn, self.is_likeliest)


@dataclass(frozen=True, slots=True)
class Alternative:
    """A token that the drafter finds almost as likely, for a branch."""

    place: int  # in the draft
    token: int  # the target's
    kind: int


@dataclass(frozen=True, slots=True)
class Accepted:
    """How likely a guess was to be accepted in each way; None: not known."""

    certain: float | None = None
    any_draw: float | None = None  # before it was drawn
    drawn: float | None = None

    @property
    def in_its_way(self) -> float | None:
        """How likely that was before the draw, if there was one."""
        return self.certain if self.any_draw is None else self.any_draw


class GuessChances:
    """Learned chances of guesses and of alternatives to them, and weights of what the user's texts suggest. A guess is
    judged by its calibrated chance, or by the acceptance head where that has proved better."""

    def __init__(self) -> None:
        self.calibration = Calibration(_PRIORS)
        self.head = AcceptanceHead(NUM_FEATURES)

    def chance(self, sure: int, about: tuple[float, ...], may_be_drawn: bool) -> float:
        """That a guess of that kind is accepted; if it may be drawn, in the likelier way."""
        chance = self._chance(sure, about)
        return max(chance, self._chance(_FIRST_ANY_DRAW + sure, about)) if may_be_drawn else chance

    def _chance(self, kind: int, about: tuple[float, ...]) -> float:
        known = self.calibration.chance(kind)
        return self.head.chance((odds_of(known), *about)) if self.head.is_better else known

    def of_alternative(self, alternative: Alternative) -> float:
        return self.calibration.share(alternative.kind)

    def weight(self, blend_kind: int) -> float:
        return self.calibration.share(FIRST_WEIGHT + blend_kind)

    def decide(self, guess: Guess, dice: Dice) -> tuple[Guess, Distribution]:
        """The guess made the way that is likelier to be accepted, whose chance it has, and the distribution that its
        token was truly taken from."""
        proposed, sure = guess.proposed, guess.sure
        assert proposed is not None
        if guess.chance > self._chance(_FIRST_ANY_DRAW + sure, guess.about):
            return guess, Certain(guess.token)
        place = dice.choose(proposed.probabilities)
        token, drawn = int(proposed.ids[place]), float(proposed.probabilities[place])
        is_likeliest = token == guess.token
        chance = self._chance(_drawn_kind(sure, drawn, is_likeliest), guess.about)
        return replace(guess, token=token, drawn=drawn, is_likeliest=is_likeliest, chance=chance), proposed

    def note(self, guess: Guess, accepted: Accepted) -> None:
        if accepted.certain is not None:
            self._note(guess, guess.sure, accepted.certain, leans=guess.drawn is None)
        if accepted.any_draw is not None:
            self._note(guess, _FIRST_ANY_DRAW + guess.sure, accepted.any_draw, leans=False)
        if accepted.drawn is not None:
            self._note(guess, guess.kind, accepted.drawn)

    def _note(self, guess: Guess, kind: int, accepted: float, leans: bool = True) -> None:
        if guess.about:
            self.head.note((odds_of(self.calibration.chance(kind)), *guess.about), accepted)
        self.calibration.note(kind, accepted, leans)

    def note_blend(self, blend_kind: int, share: float) -> None:
        self.calibration.note(FIRST_WEIGHT + blend_kind, share, leans=False)

    def note_alternative(self, alternative: Alternative, accepted: bool) -> None:
        self.calibration.note(alternative.kind, accepted, leans=False)


def features(probability: float, before: Sequence[Guess], begins_word: bool, blend: Blend | None) -> tuple[float, ...]:
    """What the acceptance head is told of a guess whose likeliest token has that probability; `before`: the guesses of
    the same draft."""
    last = odds_of(before[-1].chance) if before else 0.0
    place = min(len(before), _FAR) / _FAR
    return odds_of(probability) / 2, last / 2, float(not before), place, float(begins_word), float(blend is not None)


def sure_kind(probability: float) -> int:
    """The kind of a guess whose likeliest token has that probability."""
    return bisect_right(_CONFIDENCES, probability)


def _drawn_kind(sure: int, drawn: float, is_likeliest: bool) -> int:
    return _FIRST_LIKELIEST_DRAWN + sure if is_likeliest else _FIRST_OTHER_DRAWN + bisect_right(_RARE, drawn)


def kind_beside(guess: Guess, probability: float) -> int | None:
    """The kind of another token of that probability beside the guess; None where it is not worth a branch."""
    beside = (_BESIDE_CERTAIN, _FIRST_BESIDE_CERTAIN) if guess.drawn is None else (_BESIDE_DRAWN, _FIRST_BESIDE_DRAWN)
    place = bisect_right(beside[0], probability) - 1
    return None if place < 0 else beside[1] + place


def accepted_ways(guess: Guess, proposed: Distribution, masses: Probabilities) -> Accepted:
    """How likely the guess was to be accepted in each way. `masses`: how likely the target writes each of the
    `proposed` tokens, shape (k,)."""
    drawn = None
    if guess.drawn is not None:
        place = int((proposed.ids == guess.token).argmax())
        drawn = min(1.0, float(masses[place] / proposed.probabilities[place]))
    return Accepted(float(masses[0]), float(np.minimum(masses, proposed.probabilities).sum()), drawn)
