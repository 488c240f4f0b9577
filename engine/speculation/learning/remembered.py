"""What memory would have made of a reply: places where recall drafts, and what habits expect, both in the drafter's
tokens.

In a chat a drafter does not work alone. Where the present text is a copy, recall drafts, whatever the drafter thinks,
and elsewhere its distribution is blended with the user's habits (see `proposers.blending`). An adapter that has learned
what memory knows anyway is worth nothing there. So memory is asked what it knew before each reply was written: from the
replies that were learned from until then, each with the end of what it answers.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from engine.speculation.learning.adapting import Check
from engine.speculation.learning.samples import Sample
from engine.speculation.numerics.habits import LONGEST_CONTEXT, expected
from engine.speculation.numerics.suffix_index import GrowingText, SortedPlaces, SuffixIndex

NOT_COPIED = -1

_MOST_TOKENS = 64_000  # of texts: some 250 replies
_BLOCK_TOKENS = 8_000  # that are indexed together, in a hundredth of a second
_SURE_MATCH = 14  # tokens that a text ends with as another one did, from which on recall is right four times in five
_MOST_EXPECTED = 16  # tokens at one place
# Of a blend, by the kind of expectation: about where recordings of several kinds of text lead the weights in a chat.
_WEIGHTS = np.array(
    [
        *(0.01, 0.01, 0.01, 0.04),
        *(0.01, 0.01, 0.01, 0.05),
        *(0.01, 0.02, 0.05, 0.05),
        *(0.03, 0.45, 0.20, 0.50),
    ],
    np.float32,
)


@dataclass(frozen=True, slots=True, eq=False)
class Remembered:
    """What memory knew at each of the n places of a reply, before it was written."""

    copied: npt.NDArray[np.int8]  # shape (n,): where recall drafts, whether it is right; elsewhere NOT_COPIED
    tokens: npt.NDArray[np.int64]  # shape (n, k), which habits expect, each once; 0 where there are fewer
    masses: npt.NDArray[np.float32]  # shape (n, k), in a blend: q' = (1 − Σ masses) q + masses; 0 where there are fewer

    @classmethod
    def nothing(cls, num_places: int, width: int = 1) -> Remembered:
        """Nothing remembered. `width`: how many tokens there is room for at a place."""
        size = num_places, width
        return cls(np.full(num_places, NOT_COPIED, np.int8), np.zeros(size, np.int64), np.zeros(size, np.float32))


@dataclass(slots=True, eq=False)
class _Block:
    texts: dict[int, npt.NDArray[np.int32]] = field(default_factory=dict)  # by number
    index: SuffixIndex | None = None  # made when it is needed

    @property
    def num_tokens(self) -> int:
        return sum(map(len, self.texts.values()))

    @property
    def made(self) -> SuffixIndex:
        if self.index is None:
            self.index = SuffixIndex(self.texts.values())
        return self.index


class RecentTexts:
    """The latest texts, in the drafter's tokens."""

    def __init__(self) -> None:
        self._blocks: list[_Block] = []  # the oldest first

    def add(self, number: int, tokens: npt.NDArray[np.int32]) -> None:
        """Adds a text that comes after those added before; the oldest ones go where there are too many."""
        if not self._blocks or self._blocks[-1].num_tokens + len(tokens) > _BLOCK_TOKENS:
            self._blocks.append(_Block())
        self._blocks[-1].texts[number] = tokens
        self._blocks[-1].index = None
        while sum(block.num_tokens for block in self._blocks[1:]) >= _MOST_TOKENS:
            del self._blocks[0]

    def forget(self, numbers: Collection[int]) -> None:
        for block in self._blocks:
            if not block.texts.keys().isdisjoint(numbers):
                block.texts = {number: text for number, text in block.texts.items() if number not in numbers}
                block.index = None
        self._blocks = [block for block in self._blocks if block.texts]

    def of(self, sample: Sample, check: Check) -> Remembered:
        """What memory knows of a sample. `check` is called between the places."""
        earlier: list[SuffixIndex] = []
        for block in self._blocks:
            check()
            earlier.append(block.made)
        tokens: list[int] = sample.tokens.tolist()
        text = GrowingText()
        text.extend(tokens[: sample.reply_start])
        known = Remembered.nothing(len(tokens) - sample.reply_start, _MOST_EXPECTED)
        for place, written in enumerate(tokens[sample.reply_start :]):
            check()
            tail = text.tail()
            copy = _copied([text, *reversed(earlier)], tail)
            if copy is not None:
                known.copied[place] = copy == written
            likely = expected([text.habits, *(index.habits for index in earlier)], tail[-LONGEST_CONTEXT:])
            if likely is not None:
                most = sorted(likely.probabilities.items(), key=lambda each: -each[1])[:_MOST_EXPECTED]
                known.tokens[place, : len(most)] = [token for token, _ in most]
                known.masses[place, : len(most)] = _WEIGHTS[likely.kind] * np.array([share for _, share in most])
            text.extend([written])
        return known


def _copied(sources: Sequence[SortedPlaces], tail: Sequence[int]) -> int | None:
    """What recall says follows a text that ends in `tail`; None where it is not sure. Among equals, the first
    source's."""
    places = [found[-1] for source in sources if (found := source.find(tail, 1))]
    longest = max(places, key=lambda place: place.length, default=None)
    if longest is None or longest.length < _SURE_MATCH:
        return None
    return next(iter(longest.continuation(1)), None)
