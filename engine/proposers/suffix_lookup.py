"""Recall: what this user and the target said before, in this chat or an earlier one, is likely to be said again.

The places are found by the longest suffix that matches (see `engine.numerics.suffix_index`). What followed there votes,
and the votes' agreement and the length of the match say how likely each token stands; how likely that truly is, is
learned from every round, also from those that others drafted, since what was written tells what recall would have been
worth. Looking and counting takes some twenty microseconds.

SuffixDecoding (arXiv 2411.04975) scores a path by the product of count ratios; here the ratio is one of two things that
a calibrated chance depends on.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.messages.conversations import ChatTurn
from engine.numerics.calibration import Calibration
from engine.numerics.draft import NO_DRAFT, Draft, Verdict
from engine.numerics.suffix_index import GrowingText, Occurrence, SuffixIndex
from engine.proposers.interface import Context, Worth
from engine.target.interface import TargetFeature

_MOST_PLACES = 8  # of each text
_HERE = 2.0  # what a place in this chat is worth, against one in an earlier chat
_FADING = 0.95  # from one place to the one before it
_MAJORITY = 0.8  # of the votes
_CONTESTED, _SINGLE, _AGREED = range(3)  # no such majority, one voter, several voters
_LENGTHS = (2, 3, 4, 6, 9, 14, 21)  # of matches, from which on they are of another kind
# That a token stands, by length of the match and agreement: means over replies of four models, within one chat each.
_PRIORS = (
    *(0.22, 0.50, 0.72),
    *(0.35, 0.59, 0.80),
    *(0.38, 0.67, 0.86),
    *(0.40, 0.73, 0.86),
    *(0.42, 0.79, 0.92),
    *(0.60, 0.87, 0.96),
    *(0.60, 0.93, 0.98),
)


class SuffixLookup:
    """Implements `engine.proposers.interface.Proposer`."""

    name = "recall"
    needs = frozenset({TargetFeature.ROLLBACK})

    def __init__(self, kept: Callable[[], Sequence[SuffixIndex]] = tuple) -> None:
        """`kept` gives what is remembered of earlier chats."""
        self._kept = kept
        self._text = GrowingText()
        self._turns: Sequence[ChatTurn] | None = None
        self._guess: list[int] = []  # of the round under way, with the kind of each token
        self._kinds: list[int] = []
        self._calibration = Calibration(_PRIORS)

    def propose(self, context: Context, limit: int, worth: Worth) -> Draft:  # noqa: ARG002
        """All it has: these tokens cost nothing but the checking, and whoever asked may leave some out."""
        self._guess, self._kinds = [], []
        self._follow(context)
        tail = self._text.tail()
        places = [(place, _HERE * _FADING**age) for age, place in enumerate(reversed(self._text.find(_MOST_PLACES)))]
        for index in self._kept():
            found = index.find(tail, _MOST_PLACES)
            places += [(place, _FADING**age) for age, place in enumerate(reversed(found))]
        if not places:
            return NO_DRAFT
        self._guess, self._kinds = _vote(places, limit)
        chances = self._calibration.chances(self._kinds)
        return Draft(tuple(self._guess), chances=chances, proposer=self.name)

    def observe(self, verdict: Verdict) -> None:
        for token, kind, written in zip(self._guess, self._kinds, verdict.tokens, strict=False):
            self._calibration.note(kind, token == written)
            if token != written:
                break
        self._guess = []

    def end_reply(self) -> None:
        self._guess, self._kinds = [], []

    def _follow(self, context: Context) -> None:
        text, tokens = self._text, context.tokens
        num_known = len(text)
        if context.turns is self._turns and 0 < num_known <= len(tokens) and text.last == tokens[num_known - 1]:
            text.extend([*tokens[num_known:], context.pending])
        else:
            text.become([*tokens, context.pending])
            self._turns = context.turns


@dataclass(slots=True)
class _Voice:
    """A continuation, and those who are for it."""

    tokens: tuple[int, ...]
    weight: float = 0.0
    num_voters: int = 0
    length: int = 0  # of the longest match among them


def _vote(places: Sequence[tuple[Occurrence, float]], limit: int) -> tuple[list[int], list[int]]:
    """The continuation that most votes are for, token by token among those who agree so far, and the kind of each."""
    by_tokens: dict[tuple[int, ...], _Voice] = {}
    for place, weight in places:
        following = tuple(place.continuation(limit))
        voice = by_tokens.get(following)
        if voice is None:
            voice = by_tokens[following] = _Voice(following)
        voice.weight += weight * place.length**2
        voice.num_voters += 1
        voice.length = max(voice.length, place.length)
    voices = list(by_tokens.values())
    tokens: list[int] = []
    kinds: list[int] = []
    while len(voices) > 1 and len(tokens) < limit:
        depth = len(tokens)
        voices = [voice for voice in voices if depth < len(voice.tokens)]
        votes: defaultdict[int, float] = defaultdict(float)
        for voice in voices:
            votes[voice.tokens[depth]] += voice.weight
        if not votes:
            return tokens, kinds
        token = max(votes, key=votes.__getitem__)
        share = votes[token] / sum(votes.values())
        voices = [voice for voice in voices if voice.tokens[depth] == token]
        tokens.append(token)
        kinds.append(_kind(voices, depth, contested=share < _MAJORITY))
    for depth in range(len(tokens), len(voices[0].tokens) if len(voices) == 1 else 0):  # nobody is left to disagree
        tokens.append(voices[0].tokens[depth])
        kinds.append(_kind(voices, depth))
    return tokens, kinds


def _kind(voices: Sequence[_Voice], depth: int, contested: bool = False) -> int:
    """Of the token at `depth` that these agree on."""
    length = max(voice.length for voice in voices) + depth
    is_single = len(voices) == 1 and voices[0].num_voters == 1
    agreement = _CONTESTED if contested else _SINGLE if is_single else _AGREED
    return (bisect_right(_LENGTHS, length) - 1) * 3 + agreement
