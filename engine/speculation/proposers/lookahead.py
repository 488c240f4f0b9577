"""Lookahead: what the target itself takes to be likely, gathered from passes that were run anyway (Fu et al., arXiv
2402.02057).

Every row of a pass says what the target wants after the tokens before it, even after a rejected token, where its answer
is lost otherwise: one step of a Jacobi iteration. The *pool* keeps these n-grams, a token after the last five, three,
two and one, together with those of the present chat. A guess follows the pool from the pending token on, by the longest
context that is known. How sure such a guess is, by the length of the context and by whether the pool agreed, is learned
from every round, as recall does it; so the draft policy checks a guess only where its row pays. The pool belongs to one
reply and ends with it. No model and no memory of the user is needed.

Where rows cost next to nothing, a *window* of guesses is added to the draft: its rows fill the pool, too. As many
columns are drawn as bring more tokens than they cost; what a column brings is learned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import cycle, islice
from typing import NamedTuple

from engine.speculation.numerics.draft import NO_DRAFT, Draft, Verdict, as_parents, chain
from engine.speculation.numerics.draft_length import USUAL_LENGTH
from engine.speculation.numerics.estimates import Calibration
from engine.speculation.proposers.catalogue import LOOKAHEAD
from engine.speculation.proposers.interface import Context, Proposer, Worth
from engine.values.conversations import ChatTurn

_LENGTHS = (5, 3, 2, 1)  # of contexts, in tokens
_LONGEST = _LENGTHS[0]
_MOST_TOKENS = 256  # of the chat, the latest, that a reply begins with: the rest is recall's, and reading takes time
_NEGLIGIBLE = 0.02  # chance that a guess is accepted as far as that
_MOST_ALIKE = 2  # times in a row that a token was seen after a context, beyond which no more is concluded

# That a guess is accepted: by what is known of it, and by the length of the context, the longest first. They are low:
# what was written shows what unchecked guesses were worth, so it need not pay to find out.
_PRIORS = (
    *(0.36, 0.25, 0.15, 0.06),  # written after the context the last time
    *(0.50, 0.36, 0.25, 0.12),  # written after it twice or more
    *(0.35, 0.25, 0.18, 0.10),  # the target's likeliest after it, in a text that was not written
    *(0.42, 0.32, 0.24, 0.14),  # the same, twice or more
    *(0.30, 0.20, 0.13, 0.07),  # the same in the window
    *(0.36, 0.27, 0.18, 0.11),
)
_WRITTEN, _WANTED, _IN_WINDOW = range(3)  # where a token was seen
_FILLING = 64  # tokens before the reply that the window begins with
_COLUMN_WORTH = 0.05  # tokens that a column of the window brings in the long run, before anything was seen
_COLUMNS_KNOWN = 60.0  # that this counts for
_MEMORY = 0.98  # of what columns brought, from one window to the next
_FROM_WINDOW = 2 * _IN_WINDOW * len(_LENGTHS)  # the first kind of what was seen there

MOST_COLUMNS = 6
NUM_LEVELS = 3  # so the n-grams have four tokens


class _Seen(NamedTuple):
    token: int
    times: int  # in a row, up to _MOST_ALIKE
    where: int  # the last time

    def kind(self, place: int) -> int:
        """The kind of a guess by the context of the length at that place."""
        return (2 * self.where + self.times - 1) * len(_LENGTHS) + place


class Pool:
    """The latest token after each context."""

    def __init__(self) -> None:
        self._seen: dict[tuple[int, ...], _Seen] = {}

    def note(self, context: Sequence[int], token: int, where: int) -> None:
        """`token` follows `context`, whose last tokens count."""
        for length in _LENGTHS:
            if length <= len(context):
                key = (*context[-length:],)
                before = self._seen.get(key)
                times = min(before.times + 1, _MOST_ALIKE) if before is not None and before.token == token else 1
                self._seen[key] = _Seen(token, times, where)

    def follow(self, tail: Sequence[int]) -> Iterator[tuple[int, int]]:
        """The tokens after a text that ends in `tail`, without end or as far as is known, each with its kind as a
        guess."""
        line = [*tail[-_LONGEST:]]
        while (found := self._longest(line)) is not None:
            token, kind = found
            yield token, kind
            line = [*line[1 - _LONGEST :], token]

    def _longest(self, line: Sequence[int]) -> tuple[int, int] | None:
        for place, length in enumerate(_LENGTHS):
            seen = self._seen.get((*line[-length:],)) if length <= len(line) else None
            if seen is not None:
                return seen.token, seen.kind(place)
        return None


class LookaheadProposer(Proposer):
    """Guesses by what the target wanted in this reply, even where it was not written."""

    origin = LOOKAHEAD
    is_free = True
    asks_what_is_wanted = True

    def __init__(self) -> None:
        self._pool = Pool()
        self._turns: Sequence[ChatTurn] | None = None
        self._tail: list[int] = []  # the last tokens, up to the pending one
        self._num_known = 0  # tokens of the text, in the pool
        self._guess: list[tuple[int, int]] = []  # of the round under way: tokens and their kinds
        self.calibration: Calibration = Calibration(_PRIORS)
        self._window: Window | None = None
        self._begun: list[int] = []  # the last tokens before the reply
        self._window_start = 0  # place in the draft of this round
        self._columns, self._brought = _COLUMNS_KNOWN, _COLUMNS_KNOWN * _COLUMN_WORTH  # tokens accepted by its n-grams

    def propose(self, context: Context, limit: int, worth: Worth) -> Draft:  # noqa: ARG002
        self._read(context)
        draft, self._guess = self._drafted(self._tail, limit)
        return draft

    def follow(self, context: Context, limit: int) -> Draft:
        return self._drafted([*self._tail, *context.ahead], limit)[0]

    def widened(self, draft: Draft, room: int, branches: int, cost: Callable[[int], float]) -> Draft:
        self._window_start = len(draft.tokens)
        worth, most = self._brought / self._columns, min(MOST_COLUMNS, branches, room // NUM_LEVELS)
        if most < 1 or most * worth <= cost(NUM_LEVELS):  # more rows cost no less
            return draft
        gains = {columns: columns * worth - cost(columns * NUM_LEVELS) for columns in range(1, most + 1)}
        columns = max(gains, key=gains.__getitem__)
        if gains[columns] <= 0:
            return draft
        self._columns, self._brought = _MEMORY * self._columns + columns, _MEMORY * self._brought
        self._window = self._window or Window(cycle(self._begun).__next__)
        return self._window.added_to(draft, columns, self.origin.key)

    def observe(self, verdict: Verdict) -> None:
        for place, ((token, kind), written) in enumerate(zip(self._guess, verdict.tokens, strict=False)):
            self.calibration.note(kind, verdict.chance(place, token))
            if token != written:
                break
            self._brought += place < verdict.num_accepted and kind >= _FROM_WINDOW
        self._guess = []
        for place, wanted in verdict.wanted:
            line = [*self._tail, *verdict.draft.line(place)]
            self._pool.note(line[-_LONGEST:], wanted, _WANTED if place < self._window_start else _IN_WINDOW)
        if self._window is not None:
            self._window.refine(dict(verdict.wanted), len(verdict.tokens))

    def end_reply(self) -> None:
        self._pool, self._turns, self._guess, self._window = Pool(), None, [], None

    def _drafted(self, tail: Sequence[int], limit: int) -> tuple[Draft, list[tuple[int, int]]]:
        guess: list[tuple[int, int]] = []
        chances: list[float] = []
        known: dict[int, float] = {}
        reached = 1.0
        for token, kind in islice(self._pool.follow(tail), min(limit, USUAL_LENGTH)):
            if kind not in known:
                known[kind] = self.calibration.chance(kind)
            reached *= known[kind]
            if guess and reached < _NEGLIGIBLE:
                break
            guess.append((token, kind))
            chances.append(known[kind])
        if not guess:
            return NO_DRAFT, []
        return Draft(tuple([token for token, _ in guess]), chances=tuple(chances), proposer=self.origin.key), guess

    def _read(self, context: Context) -> None:
        tokens = context.tokens
        if context.turns is not self._turns or len(tokens) + 1 < self._num_known:
            self.end_reply()
            self._turns, self._num_known = context.turns, max(0, len(tokens) - _MOST_TOKENS)
            self._begun = [*tokens[-_FILLING:], context.pending]
        line = [*tokens[max(0, self._num_known - _LONGEST) :], context.pending]
        first = len(line) - (len(tokens) + 1 - self._num_known)
        for place in range(max(first, 1), len(line)):
            self._pool.note(line[max(0, place - _LONGEST) : place], line[place], _WRITTEN)
        self._num_known, self._tail = len(tokens) + 1, line[-_LONGEST:]


class Window:
    """The window of one reply."""

    def __init__(self, fill: Callable[[], int]) -> None:
        """`fill`: a token of the text, for places of which nothing is known."""
        self._fill = fill
        self._levels = [[fill() for _ in range(MOST_COLUMNS)] for _ in range(NUM_LEVELS)]
        self._ends: list[int] = []  # places of the last tokens of the columns, in the draft of this round

    def added_to(self, draft: Draft, num_columns: int, key: str) -> Draft:
        """The draft with the first columns added, for their rows: their tokens are not expected to be accepted. `key`:
        of the origin of these tokens."""
        tokens = [*draft.tokens]
        parents = [*(draft.parents or chain(len(tokens)))]
        places = {(parent, token): place for place, (parent, token) in enumerate(zip(parents, tokens, strict=True))}

        def grown(parent: int, token: int) -> int:
            if (parent, token) not in places:
                places[parent, token] = len(tokens)
                tokens.append(token)
                parents.append(parent)
            return places[parent, token]

        self._ends, front = [], -1
        for column in range(num_columns):
            place = front = grown(front, self._levels[0][column])
            for level in self._levels[1:]:
                place = grown(place, level[column])
            self._ends.append(place)
        num_new = len(tokens) - len(draft.tokens)
        return replace(
            draft,
            tokens=tuple(tokens),
            chances=(*draft.chances, *[0.0] * num_new),
            parents=as_parents(parents),
            proposer=draft.proposer or key,
            origins=(*draft.own_origins, *[key] * num_new),
        )

    def refine(self, wanted: Mapping[int, int], num_written: int) -> None:
        """Takes in the round that wrote `num_written` tokens: `wanted` at places of its draft."""
        if self._ends:
            found = [wanted[end] if end in wanted else self._fill() for end in self._ends]
            found += [self._fill() for _ in range(MOST_COLUMNS - len(found))]
            self._levels = [*self._levels[1:], found]
        # The levels have moved by a token; those of the columns that were written beyond it fall out.
        num_moved = min(num_written - bool(self._ends), MOST_COLUMNS)
        self._levels = [[*level[num_moved:], *(self._fill() for _ in range(num_moved))] for level in self._levels]
        self._ends = []
