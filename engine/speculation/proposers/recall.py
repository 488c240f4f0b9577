"""Recall: what this user and the target said before, in this chat or an earlier one, is likely to be said again.

Places are found by the longest suffix that matches (see `numerics.suffix_index`). What followed there votes. The
place that is quoted is kept, and as long as it is right it votes with all that was copied from it, however many places
look alike. Where votes split and rows are cheap, the outvoted continuations become branches. Where a token of the
quoted place comes out differently, the copy is resumed after the change (`copying.py`), if that is likelier than what
other places say. The length of the match, the agreement of the votes and whether a place is in the prompt give each
token its kind; the chance of each kind is learned from every round, even those that others drafted: from the chance
that the target gave each guess, whatever it drew. Looking up and counting takes some thirty microseconds.

SuffixDecoding (arXiv 2411.04975) scores a path by the product of count ratios; here the ratio is one of two things that
a calibrated chance depends on.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from engine.speculation.numerics.draft import NO_DRAFT, Draft, Verdict, as_parents, chain, common_prefix_length
from engine.speculation.numerics.estimates import Calibration
from engine.speculation.numerics.habits import LONGEST_CONTEXT, Expected, expected
from engine.speculation.numerics.suffix_index import LONGEST_MATCH, GrowingText, Occurrence, SortedPlaces, SuffixIndex
from engine.speculation.proposers import copying
from engine.speculation.proposers.catalogue import RECALL
from engine.speculation.proposers.copying import LONGEST_RESUMED, Copy
from engine.speculation.proposers.interface import Context, Proposer, Supplies, Worth
from engine.values.conversations import ChatTurn
from engine.values.learned import RecallText
from engine.values.owner import USER, Owner

MOST_TOKENS = 1_000_000  # of texts to recall; beyond, the oldest texts are left out
_FEW_TOKENS = 8192  # are indexed again with every text that comes
_FEW_SHARE = 8  # so are as many as an eighth of the others

_MOST_PLACES = 8  # of each text
_HERE = 2.0  # weight of a place in this chat, against one in an earlier chat
_FADING = 0.9  # from one place to the one before it
_POWER = 3  # of the length of a match, in its weight: the longest have most say
_LENGTHS = (2, 3, 4, 6, 9, 14, 21, 32, 64)  # of matches, from which on they are of another kind
_SINGLE, _OF_PROMPT, _AGREED = range(3)  # one voter; one in the prompt; several that all agree
_CONTESTED = (0.0, 0.5, 0.65, 0.8, 0.9)  # shares of the votes where they do not, the same
_CONTESTED_LENGTHS = (2, 6, 21)
_SHARES = (0.12, 0.3)  # of the votes, from which on a branch begins with another kind
# That a token is accepted: over replies of seven models, without texts of earlier chats.
_PRIORS = (
    *(0.42, 0.51, 0.59, 0.67, 0.76, 0.84, 0.90, 0.95, 0.99),  # one voter, by length of the match
    *(0.54, 0.68, 0.78, 0.78, 0.83, 0.90, 0.93, 0.97, 0.99),  # one voter in the prompt
    *(0.73, 0.83, 0.86, 0.90, 0.93, 0.95, 0.96, 0.98, 0.99),  # several that agree
    *(0.12, 0.21, 0.40, 0.52, 0.70),  # the first among several, by share of the votes, after a short match
    *(0.16, 0.29, 0.45, 0.52, 0.78),
    *(0.30, 0.60, 0.75, 0.80, 0.93),  # and after a long one
    *(0.06, 0.12, 0.2),  # where a branch begins, by its share of the votes
    *copying.PRIORS,
)
_FIRST_CONTESTED = 3 * len(_LENGTHS)
_FIRST_BRANCH = _FIRST_CONTESTED + len(_CONTESTED) * len(_CONTESTED_LENGTHS)
_FIRST_RESUMED = len(_PRIORS) - len(copying.PRIORS)
_BRANCHES = range(_FIRST_BRANCH, _FIRST_RESUMED)
_UNSURE = range(_FIRST_RESUMED, _FIRST_RESUMED + copying.NUM_UNSURE)
# By agreement and length of the match.
_KINDS = tuple(
    [agreement * len(_LENGTHS) + bisect_right(_LENGTHS, length) - 1 for length in range(_LENGTHS[-1] + 1)]
    for agreement in (_SINGLE, _OF_PROMPT, _AGREED)
)
_LONGEST_BRANCH = 6  # tokens


@dataclass(frozen=True, slots=True)
class _Guess:
    num_ahead: int  # tokens of another proposer's draft before it
    tokens: list[int]
    kinds: list[int]  # of each token
    parents: list[int]  # as in a draft, also of a chain


@dataclass(frozen=True, slots=True)
class _Quoted:
    """Where the present text was quoted from."""

    cursor: Occurrence | None = None  # the place quoted last, as far as it was right
    copy: Copy | None = None  # the latest one, even after changes

    def moved(self, new: Sequence[int], is_slip: bool = False) -> _Quoted:
        """The places after `new`, the next tokens of the text; `is_slip`: whether the first unexpected one is a
        slip."""
        cursor = self.cursor and self.cursor.moved(new)
        copy = self.copy and self.copy.moved(new, is_slip)
        if cursor is None and self.cursor is not None and (copy is None or (self.copy is not None and self.copy.since)):
            copy = Copy(self.cursor, self.cursor.length).moved(new, is_slip) or copy
        return _Quoted(cursor, copy)

    def has_slipped(self, verdict: Verdict) -> bool:
        """True if the target gave the token that was expected a good chance where it drew another one."""
        expected = self.copy.guess(len(verdict.tokens))[0] if self.copy is not None else []
        if not expected and self.cursor is not None:
            expected = self.cursor.continuation(len(verdict.tokens))
        place = common_prefix_length(expected, verdict.tokens)
        if place >= min(len(expected), len(verdict.distributions)):
            return False
        return verdict.distributions[place].chance(expected[place]) >= copying.LIKELY


_NOTHING_QUOTED = _Quoted()


class RecallProposer(Proposer):
    """Quotes the present chat and texts of earlier ones."""

    origin = RECALL
    is_free = True

    def __init__(self, indexes: Callable[[Owner], Sequence[SuffixIndex]] = lambda _owner: ()) -> None:
        """`indexes` gives those over texts of earlier chats that an owner may quote."""
        self._indexes = indexes
        self._owner = USER
        self._text = GrowingText()
        self._turns: Sequence[ChatTurn] | None = None
        self._prompt_end = 0  # place in the text
        self._quoted = _NOTHING_QUOTED
        self._has_slipped = False  # in the last round
        self._guesses: list[_Guess] = []  # of the round under way
        self.calibration: Calibration = Calibration(_PRIORS, fewest_known=len(_PRIORS))

    @classmethod
    def build(cls, supplies: Supplies, is_cancelled: Callable[[], bool]) -> RecallProposer:  # noqa: ARG003
        return cls(supplies.indexes)

    def propose(self, context: Context, limit: int, worth: Worth) -> Draft:  # noqa: ARG002
        self._guesses = []
        self._follow(context)
        draft, cursor = self._quote(self._text.tail(), self._quoted, limit, max_branches=context.max_branches)
        self._quoted = _Quoted(cursor, self._quoted.copy)
        return draft

    def follow(self, context: Context, limit: int) -> Draft:
        quoted = self._quoted.moved(context.ahead)
        return self._quote([*self._text.tail(), *context.ahead], quoted, limit, len(context.ahead))[0]

    def expect(self, ahead: Sequence[int]) -> Expected | None:
        """The tokens that followed the last few elsewhere, in all places: see `numerics.habits`."""
        tail = [*self._text.tail()[-LONGEST_CONTEXT:], *ahead]
        return expected(
            [self._text.habits, *(index.habits for index in self._indexes(self._owner))], tail[-LONGEST_CONTEXT:]
        )

    def _quote(
        self, tail: Sequence[int], quoted: _Quoted, limit: int, num_ahead: int = 0, max_branches: int = 1
    ) -> tuple[Draft, Occurrence | None]:
        """What followed where a text ended as this one does, and the place that is quoted. `num_ahead`: how many of its
        last tokens are a guess themselves. The first branch has at most `limit` tokens."""
        cursor = quoted.cursor
        places: list[_Place] = []
        weight = _HERE
        sources: list[SortedPlaces] = [self._text, *self._indexes(self._owner)]
        for source in sources:
            found = source.find(tail, _MOST_PLACES)
            if cursor is not None and cursor.tokens is source.tokens:
                found = [*(place for place in found if place.position != cursor.position), cursor]
            end = self._prompt_end if source is self._text else 0
            places += [
                _Place(place, weight * _FADING**age, place.position < end) for age, place in enumerate(reversed(found))
            ]
            weight = 1.0
        branches: list[_Branch] = []
        tokens: list[int] = []
        kinds: list[int] = []
        place: Occurrence | None = None
        if places:
            tokens, kinds, place = _vote(places, limit, branches if max_branches > 1 else None)
        copy = quoted.copy
        if copy is not None and copy.is_resumed and any(copy.place.tokens is source.tokens for source in sources):
            resumed, their_kinds = self._resumed(copy, limit)
            if resumed and (not tokens or self.calibration.share(their_kinds[0]) > self.calibration.share(kinds[0])):
                tokens, kinds, branches = resumed, their_kinds, []
        if not tokens:
            return NO_DRAFT, place
        parents = [*chain(len(tokens))]
        for branch in sorted(branches, key=lambda each: -each.share)[: max_branches - 1]:
            more, more_kinds = branch.guess()
            parents += [branch.parent, *range(len(tokens), len(tokens) + len(more) - 1)]
            tokens, kinds = tokens + more, kinds + more_kinds
        self._guesses.append(_Guess(num_ahead, tokens, kinds, parents))
        judge = self.calibration
        known = {kind: judge.share(kind) if kind in _BRANCHES else judge.chance(kind) for kind in {*kinds}}
        chances = tuple([known[kind] for kind in kinds])
        return Draft(tuple(tokens), chances=chances, proposer=self.origin.key, parents=as_parents(parents)), place

    @staticmethod
    def _resumed(copy: Copy, limit: int) -> tuple[list[int], list[int]]:
        """How a copy goes on after a change, and the kind of each token."""
        tokens, kinds = copy.guess(limit)
        more = _more_kinds(_SINGLE, LONGEST_RESUMED, len(tokens) - len(kinds))
        return tokens, [_FIRST_RESUMED + kind for kind in kinds] + more

    def observe(self, verdict: Verdict) -> None:
        for guess in self._guesses:
            if verdict.num_straight >= guess.num_ahead:
                parent = -1
                for number, wanted in enumerate(verdict.tokens[guess.num_ahead :], guess.num_ahead):
                    children = [place for place, other in enumerate(guess.parents) if other == parent]
                    for place in children:
                        kind, token = guess.kinds[place], guess.tokens[place]
                        # A copy that just broke, or an outvoted guess, says little about the text in general.
                        leans = kind not in _UNSURE and kind not in _BRANCHES
                        self.calibration.note(kind, verdict.chance(number, token), leans)
                    parent = next((place for place in children if guess.tokens[place] == wanted), len(guess.tokens))
        self._guesses = []
        self._has_slipped = self._quoted.has_slipped(verdict)

    def end_reply(self) -> None:
        self._guesses, self._turns = [], None

    def change_owner(self) -> None:
        self._text = GrowingText()

    def _follow(self, context: Context) -> None:
        self._owner = context.owner
        text, tokens = self._text, context.tokens
        self._prompt_end = context.reply_start + LONGEST_MATCH
        num_known = len(text)
        if context.turns is self._turns and 0 < num_known <= len(tokens) and text.last == tokens[num_known - 1]:
            new = [*tokens[num_known:], context.pending]
            text.extend(new)
            self._quoted = self._quoted.moved(new, self._has_slipped)
        else:
            text.become([*tokens, context.pending])
            self._turns = context.turns
            self._quoted = _NOTHING_QUOTED


class RecallTexts:
    """The texts of earlier chats that recall looks in, in the tokens of one vocabulary.

    Two indexes: a large one that is seldom rebuilt, and a small one for texts that came since. Any thread may call
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


class _Place(NamedTuple):
    occurrence: Occurrence
    weight: float
    is_of_prompt: bool


@dataclass(slots=True)
class _Voice:
    """A continuation, and the places that vote for it."""

    tokens: tuple[int, ...]
    place: Occurrence  # of the longest match among them
    alone: int  # the agreement if only its first place votes
    weight: float = 0.0
    num_voters: int = 0


@dataclass(frozen=True, slots=True)
class _Branch:
    """Voices that disagree with the majority."""

    parent: int  # the place of the last token that they agree with, -1 where they agree with none
    share: float  # of the votes there
    voices: list[_Voice]  # those that go on with the same token

    def guess(self) -> tuple[list[int], list[int]]:
        """The tokens that follow at the longest match among these, and their kinds."""
        voice = max(self.voices, key=lambda each: each.place.length)
        depth = self.parent + 1
        tokens = [*voice.tokens[depth : depth + _LONGEST_BRANCH]]
        first = _FIRST_BRANCH + bisect_right(_SHARES, self.share)
        return tokens, [first, *_kinds(self.voices, depth + 1, len(tokens) - 1)]


def _vote(
    places: Sequence[_Place], limit: int, branches: list[_Branch] | None
) -> tuple[list[int], list[int], Occurrence]:
    """The continuation with most votes, token by token among those that agree so far, the kind of each token, and the
    place of the longest match that it is quoted from. Those that disagree are added to `branches`, if given."""
    by_tokens: dict[tuple[int, ...], _Voice] = {}
    for place, weight, is_of_prompt in places:
        following = tuple(place.continuation(limit))
        voice = by_tokens.get(following)
        if voice is None:
            voice = by_tokens[following] = _Voice(following, place, _OF_PROMPT if is_of_prompt else _SINGLE)
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
        share = votes[token] / total
        kinds += _kinds(voices, depth, 1) if len(votes) == 1 else [_contested(share, _longest(voices) + depth)]
        if branches is not None:
            for other in votes.keys() - {token}:
                those = [voice for voice in longer if voice.tokens[depth] == other]
                branches.append(_Branch(depth - 1, votes[other] / total, those))
    best = max(voices, key=lambda voice: voice.place.length)
    if len(voices) == 1:  # none is left to disagree
        more = best.tokens[len(tokens) :]
        kinds += _kinds(voices, len(tokens), len(more))
        tokens += more
    return tokens, kinds, best.place


def _longest(voices: Sequence[_Voice]) -> int:
    return max(voice.place.length for voice in voices)


def _contested(share: float, length: int) -> int:
    """The kind of a token with such a share of the votes, after a match of that length."""
    by_length = (bisect_right(_CONTESTED_LENGTHS, length) - 1) * len(_CONTESTED)
    return _FIRST_CONTESTED + by_length + bisect_right(_CONTESTED, share) - 1


def _kinds(voices: Sequence[_Voice], depth: int, num_tokens: int) -> list[int]:
    """The kinds of the tokens from `depth` on that these agree on."""
    is_alone = len(voices) == 1 and voices[0].num_voters == 1
    return _more_kinds(voices[0].alone if is_alone else _AGREED, _longest(voices) + depth, num_tokens)


def _more_kinds(agreement: int, length: int, num_tokens: int) -> list[int]:
    by_length = _KINDS[agreement]
    kinds = by_length[length : length + num_tokens]
    return kinds + by_length[-1:] * (num_tokens - len(kinds))


def _index(texts: dict[int, RecallText]) -> SuffixIndex:
    """Later messages have higher numbers."""
    return SuffixIndex(texts[number].tokens for number in sorted(texts))
