"""Recall: what this user and the target said before, in this chat or an earlier one, is likely to be said again.

Places are found by the longest suffix that matches (see `engine.numerics.suffix_index`). What followed there votes. The
length of the match and the agreement of the votes give each token its kind; the chance of each kind is learned from
every round, also from those that others drafted, since what was written shows what recall would have been worth.
Looking up and counting takes some twenty microseconds.

SuffixDecoding (arXiv 2411.04975) scores a path by the product of count ratios; here the ratio is one of two things that
a calibrated chance depends on.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from engine.messages.conversations import ChatTurn
from engine.messages.learned import RecallText
from engine.numerics.draft import NO_DRAFT, Draft, Verdict
from engine.numerics.estimates import Calibration
from engine.numerics.suffix_index import GrowingText, Occurrence, SuffixIndex
from engine.proposers.catalogue import RECALL
from engine.proposers.interface import Context, Proposer, Supplies, Worth

MOST_TOKENS = 1_000_000  # of texts to recall; beyond, the oldest texts are left out
_FEW_TOKENS = 8192  # are indexed anew with every text that comes
_FEW_SHARE = 8  # so are as many as an eighth of the others

_MOST_PLACES = 8  # of each text
_HERE = 2.0  # weight of a place in this chat, against one in an earlier chat
_FADING = 0.95  # from one place to the one before it
_MAJORITY = 0.8  # of the votes
_CONTESTED, _SINGLE, _AGREED = range(3)  # no such majority, one voter, several voters
_LENGTHS = (2, 3, 4, 6, 9, 14, 21)  # of matches, from which on they are of another kind
# That a token is accepted, by length of the match and agreement: means over replies of four models, one chat each.
_PRIORS = (
    *(0.22, 0.50, 0.72),
    *(0.35, 0.59, 0.80),
    *(0.38, 0.67, 0.86),
    *(0.40, 0.73, 0.86),
    *(0.42, 0.79, 0.92),
    *(0.60, 0.87, 0.96),
    *(0.60, 0.93, 0.98),
)


@dataclass(frozen=True, slots=True)
class _Guess:
    num_ahead: int  # tokens of another's draft before it
    tokens: list[int]
    kinds: list[int]  # of each token


class RecallProposer(Proposer):
    """Quotes the chat at hand and texts of earlier ones."""

    origin = RECALL
    is_free = True

    def __init__(self, indexes: Callable[[], Sequence[SuffixIndex]] = tuple) -> None:
        """`indexes` gives those over texts of earlier chats."""
        self._indexes = indexes
        self._text = GrowingText()
        self._turns: Sequence[ChatTurn] | None = None
        self._guesses: list[_Guess] = []  # of the round under way
        self._calibration = Calibration(_PRIORS)

    @classmethod
    def build(cls, supplies: Supplies, is_cancelled: Callable[[], bool]) -> RecallProposer:  # noqa: ARG003
        return cls(supplies.indexes)

    def propose(self, context: Context, limit: int, worth: Worth) -> Draft:  # noqa: ARG002
        self._guesses = []
        self._follow(context)
        return self._quote(0, limit)

    def follow(self, context: Context, limit: int) -> Draft:
        num_known = len(self._text)
        self._text.extend(context.ahead)
        draft = self._quote(len(context.ahead), limit)
        self._text.cut(num_known)
        return draft

    def _quote(self, num_ahead: int, limit: int) -> Draft:
        """What followed where the text ended as it does now."""
        tail = self._text.tail()
        places = [(place, _HERE * _FADING**age) for age, place in enumerate(reversed(self._text.find(_MOST_PLACES)))]
        for index in self._indexes():
            found = index.find(tail, _MOST_PLACES)
            places += [(place, _FADING**age) for age, place in enumerate(reversed(found))]
        if not places:
            return NO_DRAFT
        guess = _Guess(num_ahead, *_vote(places, limit))
        self._guesses.append(guess)
        return Draft(tuple(guess.tokens), chances=self._calibration.chances(guess.kinds), proposer=self.origin.key)

    def observe(self, verdict: Verdict) -> None:
        for guess in self._guesses:
            if verdict.num_accepted >= guess.num_ahead:
                written = verdict.tokens[guess.num_ahead :]
                for token, kind, wanted in zip(guess.tokens, guess.kinds, written, strict=False):
                    self._calibration.note(kind, token == wanted)
                    if token != wanted:
                        break
        self._guesses = []

    def end_reply(self) -> None:
        self._guesses = []

    def _follow(self, context: Context) -> None:
        text, tokens = self._text, context.tokens
        num_known = len(text)
        if context.turns is self._turns and 0 < num_known <= len(tokens) and text.last == tokens[num_known - 1]:
            text.extend([*tokens[num_known:], context.pending])
        else:
            text.become([*tokens, context.pending])
            self._turns = context.turns


class RecallTexts:
    """The texts of earlier chats that recall looks in, in the tokens of one vocabulary.

    Two indexes: a large one that is seldom built anew, and a small one for texts that came since. Any thread may call
    any method; reading `indexes` never waits.
    """

    def __init__(self, texts: Iterable[RecallText] = ()) -> None:
        self._lock = threading.Lock()
        self._texts = {text.message_id: text for text in texts}
        self._new: dict[int, RecallText] = {}
        self.indexes: tuple[SuffixIndex, ...] = ()
        self._merge()

    @property
    def num_tokens(self) -> int:
        return sum(index.num_tokens for index in self.indexes)

    def add(self, texts: Iterable[RecallText]) -> None:
        with self._lock:
            self._new |= {text.message_id: text for text in texts if text.message_id not in self._texts}
            num_new = sum(len(text.tokens) for text in self._new.values())
            old = self.indexes[0]
            if num_new > max(_FEW_TOKENS, old.num_tokens // _FEW_SHARE):
                self._merge()
            else:
                self.indexes = (old, _index(self._new))

    def knows(self, message_id: int) -> bool:
        with self._lock:
            return message_id in self._texts or message_id in self._new

    def forget(self, *conversation_ids: int) -> None:
        """None of their texts is found any more."""
        gone = set(conversation_ids)
        with self._lock:
            left = {number: text for number, text in self._all() if text.conversation_id not in gone}
            if len(left) < len(self._texts) + len(self._new):
                self._texts, self._new = left, {}
                self._merge()

    def _all(self) -> Iterable[tuple[int, RecallText]]:
        return (self._texts | self._new).items()

    def _merge(self) -> None:
        newest: dict[int, RecallText] = {}
        num_tokens = 0
        for number, text in sorted(self._all(), reverse=True):
            num_tokens += len(text.tokens)
            if num_tokens > MOST_TOKENS:
                break
            newest[number] = text
        self._texts, self._new = newest, {}
        self.indexes = (_index(newest),)


@dataclass(slots=True)
class _Voice:
    """A continuation, and the places that vote for it."""

    tokens: tuple[int, ...]
    weight: float = 0.0
    num_voters: int = 0
    length: int = 0  # of the longest match among them


def _vote(places: Sequence[tuple[Occurrence, float]], limit: int) -> tuple[list[int], list[int]]:
    """The continuation with most votes, token by token among those that agree so far, and the kind of each token."""
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


def _index(texts: dict[int, RecallText]) -> SuffixIndex:
    """Later messages have higher numbers."""
    return SuffixIndex(texts[number].tokens for number in sorted(texts))
