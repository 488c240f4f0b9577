"""Lookahead's window: guesses at the tokens ahead, which the target's own passes refine.

Column i stands for the text from the i-th token ahead on, and has a guess for each of a few tokens in a row, its
levels. A pass over all of them, as a tree that is added to the draft, shows what the target wants at the end of every
column: so each pass finds an n-gram per column, and the levels move up (Fu et al., arXiv 2402.02057, section 3).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from engine.speculation.numerics.draft import Draft, as_parents, chain

MOST_COLUMNS = 6
NUM_LEVELS = 3  # so the n-grams have four tokens


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
        own = draft.origins or (draft.proposer,) * (len(draft.tokens) - draft.num_before)
        return replace(
            draft,
            tokens=tuple(tokens),
            chances=(*draft.chances, *[0.0] * num_new),
            parents=as_parents(parents),
            proposer=draft.proposer or key,
            origins=(*own, *[key] * num_new),
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
