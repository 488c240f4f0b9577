"""What the rounds of late were like: how fast they wrote, who drafted, how far."""

from __future__ import annotations

from dataclasses import dataclass

_RATE_MEMORY = 0.9  # of the speed, from round to round: it is to be that of the text at hand
_MEMORY = 0.97  # of who drafted how far


@dataclass(frozen=True, slots=True)
class Activity:
    """What was done recently, as running means over some thirty rounds."""

    shares: dict[str, float]  # of the rounds, by the labels of those who drafted, like “earlier text and drafter”
    length: float  # tokens of a draft


class RecentRounds:
    def __init__(self, single_s: float) -> None:
        """`single_s`: seconds of a plain round."""
        self._tokens, self._seconds = 1.0, single_s
        self._rounds, self._length = 1.0, 0.0
        self._shares: dict[str, float] = {}

    def note(self, tokens: float, seconds: float, words: str, num_drafted: int) -> None:
        """A round was expected to write so many tokens (counted ones tell more of luck than of the text) in so many
        seconds; `words`: labels of those who drafted so many tokens, empty where nobody did."""
        self._tokens = _RATE_MEMORY * self._tokens + tokens
        self._seconds = _RATE_MEMORY * self._seconds + seconds
        self._rounds = _MEMORY * self._rounds + 1
        self._length = _MEMORY * self._length + num_drafted
        for known in self._shares:
            self._shares[known] *= _MEMORY
        if words:
            self._shares[words] = self._shares.get(words, 0.0) + 1

    def forget_activity(self) -> None:
        """Who drafted lately is no news any more."""
        self._rounds, self._length, self._shares = 1.0, 0.0, {}

    @property
    def rate(self) -> float:
        """Tokens per second."""
        return self._tokens / self._seconds

    @property
    def activity(self) -> Activity:
        drafted = sum(self._shares.values())
        shares = {words: rounds / self._rounds for words, rounds in self._shares.items()}
        return Activity(shares, self._length / drafted if drafted else 0.0)
