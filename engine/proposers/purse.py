"""What drafting may lose in a reply."""

from __future__ import annotations

from collections.abc import Sequence

_AT_FIRST = 0.3  # tokens
_SHARE = 0.014  # of the tokens written
_PASSED_UP = 0.3  # of what a guess would have gained that was not checked
_LOST = 0.5  # of drafts of which no more is known
_LEAST = -1.0  # tokens that such guesses leave, however wrong they are: a text may change
_AVERSION = 4.0  # tokens to be gained for each token that the purse is expected to lack


class Purse:
    """Tokens that drafting may still lose in a reply: a few at first and a share of those that are written, with all
    that drafts have gained, without what they have lost.

    A draft that stakes more must promise more than chance would ask for. So a reply is hardly ever slower than plain by
    more than that share, however its text misleads, and what drafts gain in one place pays for boldness in another. By
    counts, on 100 replies of the starter and with its passes: docs/decisions/0013-pace-and-recall.md.
    """

    def __init__(self) -> None:
        self._tokens = _AT_FIRST

    def caution(self, stake: float, reached: Sequence[float] | None = None) -> float:
        """Tokens that a draft must be expected to gain which loses `stake` tokens if none of its own is accepted.
        `reached`: how likely so many are, 1, 2, …; None: not known."""
        missing = stake - self._tokens
        if missing <= 0:
            return 0.0
        if reached is None:
            return _AVERSION * missing * _LOST
        lost, num_accepted = 0.0, 0
        while num_accepted < missing:
            share = 1 - reached[num_accepted] if num_accepted < len(reached) else 1.0
            lost += share * min(1.0, missing - num_accepted)
            num_accepted += 1
        return _AVERSION * lost

    def note(self, num_written: int, cost: float) -> None:
        """A round wrote so many tokens, and took as much longer than a plain one as plain decoding takes for `cost`."""
        self._tokens += _SHARE * num_written + (num_written - 1) - cost

    def note_passed_up(self, gain: float) -> None:
        """A guess was not checked that would have gained so many tokens, or lost them."""
        self._tokens = max(self._tokens + _PASSED_UP * gain, min(self._tokens, _LEAST))

    def begin_reply(self) -> None:
        self._tokens = _AT_FIRST
