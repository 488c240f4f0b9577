"""Recall: what this user and the target said before, in this chat or an earlier one, is likely to be said again.

Places are found by the longest suffix that matches (see `engine.numerics.suffix_index`). What followed there votes. The
place that is quoted is kept, and as long as it is right it votes with all that was copied from it, however many places
look alike. Where votes split and rows are cheap, what others voted for stands beside it as a branch. Where a token of
the quoted place comes out otherwise, that is taken for a replacement: the copy goes on behind it, if no other place is
found. The length of the match and the agreement of the votes give each token its kind; the chance of each kind is
learned from every round, also from those that others drafted, since what was written shows what recall would have been
worth. Looking up and counting takes some thirty microseconds.

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
from engine.numerics.draft import NO_DRAFT, Draft, Verdict, as_parents, chain, common_prefix_length
from engine.numerics.estimates import Calibration
from engine.numerics.habits import LONGEST_CONTEXT, Expected, expected
from engine.numerics.suffix_index import GrowingText, Occurrence, SortedPlaces, SuffixIndex
from engine.proposers.catalogue import RECALL
from engine.proposers.interface import Context, Proposer, Supplies, Worth

MOST_TOKENS = 1_000_000  # of texts to recall; beyond, the oldest texts are left out
_FEW_TOKENS = 8192  # are indexed anew with every text that comes
_FEW_SHARE = 8  # so are as many as an eighth of the others

_MOST_PLACES = 8  # of each text
_HERE = 2.0  # weight of a place in this chat, against one in an earlier chat
_FADING = 0.9  # from one place to the one before it
_POWER = 3  # of the length of a match, in its weight: the longest have most say
_MAJORITY = 0.8  # of the votes
_CONTESTED, _SINGLE, _AGREED = range(3)  # no such majority, one voter, several voters
_LENGTHS = (2, 3, 4, 6, 9, 14, 21, 32, 64)  # of matches, from which on they are of another kind
# That a token is accepted, by length of the match and agreement: over replies of four models, with and without texts of
# earlier chats.
_PRIORS = (
    *(0.20, 0.42, 0.71),
    *(0.24, 0.53, 0.80),
    *(0.26, 0.60, 0.84),
    *(0.27, 0.69, 0.88),
    *(0.33, 0.78, 0.91),
    *(0.45, 0.85, 0.96),
    *(0.50, 0.88, 0.96),
    *(0.50, 0.94, 0.98),
    *(0.50, 0.99, 0.99),
    *(0.14, 0.57),  # right behind a replaced token, and one token on
    *(0.06, 0.12, 0.2),  # where a branch begins, by its share of the votes
)
# By agreement and length of the match.
_KINDS = tuple(
    [(bisect_right(_LENGTHS, length) - 1) * 3 + agreement for length in range(_LENGTHS[-1] + 1)]
    for agreement in (_CONTESTED, _SINGLE, _AGREED)
)
_RESUMED = (len(_PRIORS) - 5, len(_PRIORS) - 4)  # kinds, by the number of tokens that were right since the break
_BESIDE = (len(_PRIORS) - 3, len(_PRIORS) - 2, len(_PRIORS) - 1)
_SHARES = (0.12, 0.3)  # of the votes, from which on a branch begins with another kind
_LONGEST_BESIDE = 6  # tokens of a branch
_SHORTEST_BROKEN = 4  # tokens of a copy that is resumed


@dataclass(frozen=True, slots=True)
class _Guess:
    num_ahead: int  # tokens of another's draft before it
    tokens: list[int]
    kinds: list[int]  # of each token
    parents: list[int]  # as in a draft, also of a chain


@dataclass(frozen=True, slots=True)
class _Resumed:
    """A copy behind a break: one of its tokens came out otherwise."""

    place: Occurrence  # its length is that of the copy, the replaced token left out
    num_right: int  # tokens since the break

    @classmethod
    def behind(cls, cursor: Occurrence, new: Sequence[int]) -> _Resumed | None:
        """The copy goes on with `new`, not all of which follow at the cursor. None where more than one of them came out
        otherwise, or the copy was short."""
        following = cursor.continuation(len(new))
        num_before = common_prefix_length(following, new)
        length, rest = cursor.length + num_before, [*new[num_before + 1 :]]
        if length < _SHORTEST_BROKEN or len(following) < len(new) or following[num_before + 1 :] != rest:
            return None
        return cls(Occurrence(cursor.tokens, cursor.position + len(new), length + len(rest)), len(rest))

    def moved(self, new: Sequence[int]) -> _Resumed | None:
        place = self.place.moved(new)
        return place and _Resumed(place, self.num_right + len(new))

    def guess(self, limit: int) -> tuple[list[int], list[int]]:
        """The tokens that follow, and their kinds."""
        tokens = self.place.continuation(limit)
        kinds = [*_RESUMED[self.num_right :], *_more_kinds(_SINGLE, self.place.length, limit)]
        return tokens, kinds[: len(tokens)]


@dataclass(frozen=True, slots=True)
class _Quoted:
    """Where the text at hand was quoted from."""

    cursor: Occurrence | None = None  # the place quoted last, as far as it was right
    resumed: _Resumed | None = None  # found as other places are, once it was right, and kept until it breaks again

    def moved(self, new: Sequence[int]) -> _Quoted:
        """After `new`, the next tokens of the text."""
        cursor = self.cursor and self.cursor.moved(new)
        resumed = self.resumed and self.resumed.moved(new)
        if resumed is None and self.resumed is not None and self.resumed.num_right >= len(_RESUMED):
            resumed = _Resumed.behind(self.resumed.place, new)
        if resumed is None and cursor is None and self.cursor is not None:
            resumed = _Resumed.behind(self.cursor, new)
        return _Quoted(cursor, resumed)


_NOTHING_QUOTED = _Quoted()


class RecallProposer(Proposer):
    """Quotes the chat at hand and texts of earlier ones."""

    origin = RECALL
    is_free = True

    def __init__(self, indexes: Callable[[], Sequence[SuffixIndex]] = tuple) -> None:
        """`indexes` gives those over texts of earlier chats."""
        self._indexes = indexes
        self._text = GrowingText()
        self._turns: Sequence[ChatTurn] | None = None
        self._quoted = _NOTHING_QUOTED
        self._guesses: list[_Guess] = []  # of the round under way
        self._calibration = Calibration(_PRIORS)

    @property
    def calibration(self) -> Calibration:
        return self._calibration

    @classmethod
    def build(cls, supplies: Supplies, is_cancelled: Callable[[], bool]) -> RecallProposer:  # noqa: ARG003
        return cls(supplies.indexes)

    def propose(self, context: Context, limit: int, worth: Worth) -> Draft:  # noqa: ARG002
        self._guesses = []
        self._follow(context)
        draft, cursor = self._quote(self._text.tail(), self._quoted, limit, max_branches=context.max_branches)
        self._quoted = _Quoted(cursor, self._quoted.resumed)
        return draft

    def follow(self, context: Context, limit: int) -> Draft:
        quoted = self._quoted.moved(context.ahead)
        return self._quote([*self._text.tail(), *context.ahead], quoted, limit, len(context.ahead))[0]

    def expect(self, ahead: Sequence[int]) -> Expected | None:
        """By what followed the last few tokens elsewhere, in all places: see `engine.numerics.habits`."""
        tail = [*self._text.tail()[-LONGEST_CONTEXT:], *ahead]
        return expected([self._text.habits, *(index.habits for index in self._indexes())], tail[-LONGEST_CONTEXT:])

    def _quote(
        self, tail: Sequence[int], quoted: _Quoted, limit: int, num_ahead: int = 0, max_branches: int = 1
    ) -> tuple[Draft, Occurrence | None]:
        """What followed where a text ended as this one does, and the place that is quoted. `num_ahead`: how many of its
        last tokens are a guess themselves. The first branch has at most `limit` tokens."""
        cursor = quoted.cursor
        places: list[tuple[Occurrence, float]] = []
        weight = _HERE
        sources: list[SortedPlaces] = [self._text, *self._indexes()]
        for source in sources:
            found = source.find(tail, _MOST_PLACES)
            if cursor is not None and cursor.tokens is source.tokens:
                found = [*(place for place in found if place.position != cursor.position), cursor]
            places += [(place, weight * _FADING**age) for age, place in enumerate(reversed(found))]
            weight = 1.0
        resumed = quoted.resumed
        beside: list[_Beside] = []
        if places:
            tokens, kinds, place = _vote(places, limit, beside if max_branches > 1 else None)
        elif resumed is not None and any(resumed.place.tokens is source.tokens for source in sources):
            (tokens, kinds), place = resumed.guess(limit), None
        else:
            return NO_DRAFT, None
        parents = [*chain(len(tokens))]
        for branch in sorted(beside, key=lambda each: -each.share)[: max_branches - 1]:
            more, more_kinds = branch.guess()
            parents += [branch.parent, *range(len(tokens), len(tokens) + len(more) - 1)]
            tokens, kinds = tokens + more, kinds + more_kinds
        self._guesses.append(_Guess(num_ahead, tokens, kinds, parents))
        different = list(dict.fromkeys(kinds))
        known = dict(zip(different, self._calibration.chances(different), strict=True))
        known |= {kind: self._calibration.share(kind) for kind in _BESIDE if kind in known}
        chances = tuple([known[kind] for kind in kinds])
        return Draft(tuple(tokens), chances=chances, proposer=self.origin.key, parents=as_parents(parents)), place

    def observe(self, verdict: Verdict) -> None:
        for guess in self._guesses:
            if verdict.num_straight >= guess.num_ahead:
                parent = -1
                for wanted in verdict.tokens[guess.num_ahead :]:
                    children = [place for place, other in enumerate(guess.parents) if other == parent]
                    for place in children:
                        kind = guess.kinds[place]
                        # That a copy just broke, or who else was right, says little about the text in general.
                        leans = kind not in _RESUMED and kind not in _BESIDE
                        self._calibration.note(kind, guess.tokens[place] == wanted, leans)
                    parent = next((place for place in children if guess.tokens[place] == wanted), len(guess.tokens))
        self._guesses = []

    def end_reply(self) -> None:
        self._guesses = []

    def _follow(self, context: Context) -> None:
        text, tokens = self._text, context.tokens
        num_known = len(text)
        if context.turns is self._turns and 0 < num_known <= len(tokens) and text.last == tokens[num_known - 1]:
            new = [*tokens[num_known:], context.pending]
            text.extend(new)
            self._quoted = self._quoted.moved(new)
        else:
            text.become([*tokens, context.pending])
            self._turns = context.turns
            self._quoted = _NOTHING_QUOTED


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
    place: Occurrence  # of the longest match among them
    weight: float = 0.0
    num_voters: int = 0


@dataclass(frozen=True, slots=True)
class _Beside:
    """Voices that disagree."""

    parent: int  # the place of the last token that they agree with, -1 where they agree with none
    share: float  # of the votes there
    voices: list[_Voice]  # those that go on with the same token

    def guess(self) -> tuple[list[int], list[int]]:
        """The tokens that follow where the longest match among these is, and their kinds."""
        voice = max(self.voices, key=lambda each: each.place.length)
        depth = self.parent + 1
        tokens = [*voice.tokens[depth : depth + _LONGEST_BESIDE]]
        first = _BESIDE[bisect_right(_SHARES, self.share)]
        return tokens, [first, *_kinds(self.voices, depth + 1, len(tokens) - 1)]


def _vote(
    places: Sequence[tuple[Occurrence, float]], limit: int, beside: list[_Beside] | None
) -> tuple[list[int], list[int], Occurrence]:
    """The continuation with most votes, token by token among those that agree so far, the kind of each token, and the
    place of the longest match that it is quoted from. Those who disagree are added to `beside`, if that is given."""
    by_tokens: dict[tuple[int, ...], _Voice] = {}
    for place, weight in places:
        following = tuple(place.continuation(limit))
        voice = by_tokens.get(following)
        if voice is None:
            voice = by_tokens[following] = _Voice(following, place)
        voice.weight += weight * place.length**_POWER
        voice.num_voters += 1
        if place.length > voice.place.length:
            voice.place = place
    voices = list(by_tokens.values())
    tokens: list[int] = []
    kinds: list[int] = []
    while len(voices) > 1 and len(tokens) < limit:
        depth = len(tokens)
        longer = [voice for voice in voices if depth < len(voice.tokens)]
        if not longer:
            break
        votes: defaultdict[int, float] = defaultdict(float)
        for voice in longer:
            votes[voice.tokens[depth]] += voice.weight
        token = max(votes, key=votes.__getitem__)
        total = sum(votes.values())
        voices = [voice for voice in longer if voice.tokens[depth] == token]
        tokens.append(token)
        kinds += _kinds(voices, depth, 1, votes[token] / total < _MAJORITY)
        if beside is not None:
            for other in votes.keys() - {token}:
                those = [voice for voice in longer if voice.tokens[depth] == other]
                beside.append(_Beside(depth - 1, votes[other] / total, those))
    best = max(voices, key=lambda voice: voice.place.length)
    if len(voices) == 1:  # nobody is left to disagree
        more = best.tokens[len(tokens) :]
        kinds += _kinds(voices, len(tokens), len(more))
        tokens += more
    return tokens, kinds, best.place


def _kinds(voices: Sequence[_Voice], depth: int, num_tokens: int, contested: bool = False) -> list[int]:
    """Of the tokens from `depth` on that these agree on."""
    length = max(voice.place.length for voice in voices) + depth
    is_single = len(voices) == 1 and voices[0].num_voters == 1
    return _more_kinds(_CONTESTED if contested else _SINGLE if is_single else _AGREED, length, num_tokens)


def _more_kinds(agreement: int, length: int, num_tokens: int) -> list[int]:
    """Of so many tokens after a match of that length."""
    by_length = _KINDS[agreement]
    kinds = by_length[length : length + num_tokens]
    return kinds + by_length[-1:] * (num_tokens - len(kinds))


def _index(texts: dict[int, RecallText]) -> SuffixIndex:
    """Later messages have higher numbers."""
    return SuffixIndex(texts[number].tokens for number in sorted(texts))
