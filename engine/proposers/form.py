"""How a proposer whose guesses take time is doing lately, and when it is worth asking."""

from __future__ import annotations

from collections.abc import Sequence

_NEWEST = 0.12  # what the newest asking counts, in the long run
_FIRST_ASKINGS = 4  # are made before anything is concluded
_FIRST_REST, _LONGEST_REST = 4, 64  # rounds without asking, when it did not pay


class Form:
    """What an asking brings and takes, expected from chances rather than counted from luck: tokens that stand, and
    seconds of guessing and checking. One that does not pay rests, ever longer, and is tried again; while tries pay they
    go on, so that prose that turns into code is noticed within a few rounds."""

    def __init__(self) -> None:
        self.tokens = 0.0  # of an asking, running mean
        self.seconds = 0.0
        self.next_chance = 0.5  # of a token after the first, running mean
        self.num_askings = 0
        self._rest = _FIRST_REST
        self._rounds_to_rest = 0

    @property
    def is_known(self) -> bool:
        return self.num_askings >= _FIRST_ASKINGS

    @property
    def is_resting(self) -> bool:
        return self._rounds_to_rest > 0

    def gain(self, rate: float) -> float:
        """Tokens that an asking gains, at `rate` tokens per second otherwise. What does not pay and does not rest is to
        be tried."""
        return self.tokens - rate * self.seconds

    def pause(self) -> None:
        """A round in which it was not asked."""
        self._rounds_to_rest = max(0, self._rounds_to_rest - 1)

    def note(self, tokens: float, seconds: float, chances: Sequence[float], rate: float) -> None:
        """An asking is expected to bring so many tokens in so many seconds; `chances` are those of its tokens."""
        self.num_askings += 1
        newest = max(_NEWEST, 1 / self.num_askings)
        self.tokens += newest * (tokens - self.tokens)
        self.seconds += newest * (seconds - self.seconds)
        for chance in chances[1:]:
            self.next_chance += _NEWEST / 4 * (chance - self.next_chance)
        if not self.is_known:
            return
        if self.gain(rate) > 0:
            self._rest = _FIRST_REST
        elif tokens <= rate * seconds:
            self._rounds_to_rest = self._rest
            self._rest = min(2 * self._rest, _LONGEST_REST)
