"""A copy in progress, with changes: a word corrected, a name replaced, a line left out.

Where a token comes out differently, the copy is *lost* until its place in the source is found again: first by taking
that token for a replacement, and from then on wherever the last tokens stand nearby in the source, too. How likely that
is right depends on the tokens that were right since; on how much was copied in all; on how many changes in a row were
of single tokens; and on whether the change was a *slip*, which the target would rather not have drawn.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from engine.speculation.numerics.draft import common_prefix_length
from engine.speculation.numerics.suffix_index import Occurrence

_SHORTEST = 4  # tokens of a copy that is looked for once it is lost
_LONGEST_LOST = 16  # tokens without finding it
_AHEAD = 12  # tokens of the source, beyond as many as were written, in which it is looked for
_LEFT_OUT = 3  # tokens of the source, at most, that are left out before the changed one
_OFF, _SOON = 3, 6  # tokens put in or left out, and written since the change, with which a single token shows it
_SURE = 2  # tokens in a row that show it for good
LIKELY = 0.3  # chance of a token that was not drawn, from which on that was a slip

_RIGHT = (0, 1, 2, 3, 6)  # tokens that were right since the change, from which on a guess is of another kind
_REPLACED = (0, 1, 3)  # changes in a row of single tokens: the same, for guesses right after a change
_COPIED = (0, 16, 64)  # tokens in all: the same, for all others
_SLIP = 3  # after a slip
LONGEST_RESUMED = 14  # tokens that were right since the change: from then on it counts as any match of that length
# That a token is accepted, by these: over 1,680 replies of seven models. Slips were not among them.
PRIORS = (
    *(0.13, 0.26, 0.60, 0.50),
    *(0.45, 0.52, 0.62, 0.70),
    *(0.52, 0.64, 0.74, 0.80),
    *(0.63, 0.77, 0.88, 0.88),
    *(0.73, 0.82, 0.92, 0.92),
)
_NUM_COLUMNS = _SLIP + 1
NUM_UNSURE = _SURE * _NUM_COLUMNS  # kinds, the first ones, of guesses while it is lost


@dataclass(frozen=True, slots=True)
class Copy:
    place: Occurrence  # as far as the copy is sure; its length is that of the tokens since the last change
    num_copied: int  # tokens in all
    num_replaced: int = 0  # changes in a row, the last ones, of single tokens
    since: tuple[int, ...] = ()  # what was written since the change, while it is lost
    is_changed: bool = False
    is_slip: bool = False  # whether the last change was one

    @property
    def is_resumed(self) -> bool:
        """True if it is lost, or was lately."""
        return bool(self.since) or (self.is_changed and self.place.length < LONGEST_RESUMED)

    def moved(self, new: Sequence[int], is_slip: bool = False) -> Copy | None:
        """The copy after `new`, the next tokens of the text; None if it is over. `is_slip`: whether the first
        unexpected one is a slip."""
        if self.since:
            return replace(self, is_slip=is_slip or self.is_slip)._searched(new)
        num_right = common_prefix_length(self.place.continuation(len(new)), new)
        copy = replace(self, place=_on(self.place, num_right), num_copied=self.num_copied + num_right)
        if num_right == len(new):
            return copy
        if copy.num_copied < _SHORTEST:
            return None
        return replace(copy, is_changed=True, is_slip=is_slip)._searched(new[num_right:])

    def guess(self, limit: int) -> tuple[list[int], list[int]]:
        """The tokens that follow, and the kind of each as long as it is of one of these."""
        found = self._found() if self.since else (self.place, self.place.length)
        if found is None:
            return [], []
        place, num_right = found
        tokens, end = place.continuation(limit), min(num_right + limit, LONGEST_RESUMED)
        return tokens, [self._kind(length) for length in range(num_right, end)][: len(tokens)]

    def _kind(self, num_right: int) -> int:
        if self.is_slip:
            column = _SLIP
        elif num_right:
            column = bisect_right(_COPIED, self.num_copied) - 1
        else:
            column = bisect_right(_REPLACED, self.num_replaced) - 1
        return (bisect_right(_RIGHT, num_right) - 1) * _NUM_COLUMNS + column

    def _searched(self, new: Sequence[int]) -> Copy | None:
        copy = self
        for number, token in enumerate(new, 1):
            copy = replace(copy, since=(*copy.since, token))
            found = copy._found()
            if found is not None and found[1] >= _SURE:
                place, num_right = found
                num_passed, num_new = place.position - copy.place.position, len(copy.since)
                num_replaced = copy.num_replaced + 1 if num_passed == num_new == num_right + 1 else 0
                num_copied = copy.num_copied + num_right
                return replace(copy, place=place, num_copied=num_copied, num_replaced=num_replaced, since=()).moved(
                    new[number:]
                )
            if len(copy.since) == _LONGEST_LOST:
                return None
        return copy

    def _found(self) -> tuple[Occurrence, int] | None:
        """Where the last tokens since the change stand in the source, and how many of them do: the most, and among
        equals the place where least was put in or left out."""
        since = self.since
        ahead = self.place.continuation(len(since) + _AHEAD)
        best, num_right, off = -1, 0, 0
        for at, token in enumerate(ahead if len(since) > 1 else ()):
            if token != since[-1]:
                continue
            length = 1
            while length < min(len(since), at + 1) and ahead[at - length] == since[-1 - length]:
                length += 1
            its_off = abs(at + 1 - len(since))
            if length == 1 and (its_off > _OFF or len(since) > _SOON):
                continue
            if length > num_right or (length == num_right and its_off < off):
                best, num_right, off = at, length, its_off
        if not num_right and (len(since) == 1 or self.is_slip):
            near = ahead[1 : 2 + _LEFT_OUT]
            is_left_out = len(since) == 1 and not (self.is_slip or self.num_replaced) and since[0] in near
            best = near.index(since[0]) + 1 if is_left_out else len(since) - 1
        return (_on(self.place, best + 1)._replace(length=num_right), num_right) if best >= 0 else None


def _on(place: Occurrence, num_tokens: int) -> Occurrence:
    return Occurrence(place.tokens, place.position + num_tokens, place.length + num_tokens)
