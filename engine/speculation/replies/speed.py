"""Times a reply: its prompt, its rounds, and how much of it was written while the drafter was still being loaded."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from engine.speculation.decoding.speculation import Speculation
from engine.values import clock

_WINDOW_S = 1.0  # of the present speed
_MIN_WINDOW_ROUNDS = 4  # however long they take


class ReplySpeed:
    """The speed of a reply from the ends of its rounds."""

    def __init__(self, now: float, num_tokens: int = 0) -> None:
        """It begins `now`, on the clock of `note`, with `num_tokens` already written."""
        self._latest = deque([(now, num_tokens)])  # ends of rounds, and tokens written until then
        self._begin(now, num_tokens)

    def note(self, now: float, num_tokens: int) -> None:
        """A round has ended; the reply has `num_tokens` now."""
        latest = self._latest
        latest.append((now, num_tokens))
        while len(latest) > _MIN_WINDOW_ROUNDS + 1 and latest[1][0] <= now - _WINDOW_S:
            latest.popleft()

    def restart(self) -> None:
        """Leaves the rounds until now out of the mean."""
        self._begin(*self._latest[-1])

    def leave_out(self, seconds: float) -> None:
        """Shifts all times until now by `seconds`, to leave a break out."""
        self._latest = deque((at + seconds, num_tokens) for at, num_tokens in self._latest)
        self._began_at += seconds

    @property
    def num_measured(self) -> int:
        return self._latest[-1][1] - self._first_token

    @property
    def now(self) -> float:
        """Tokens per second recently; 0: not known yet."""
        (begin, first), (end, last) = self._latest[0], self._latest[-1]
        return (last - first) / (end - begin) if end > begin else 0.0

    @property
    def mean(self) -> float:
        """Tokens per second since it began; 0: not known yet."""
        seconds = self._latest[-1][0] - self._began_at
        return self.num_measured / seconds if seconds > 0 else 0.0

    def _begin(self, now: float, num_tokens: int) -> None:
        self._began_at = now
        self._first_token = num_tokens


class ReplyClock:
    """Runs from the prompt of a reply to its end. The mean speed leaves out the rounds that were slowed down by the
    loading of the drafter."""

    def __init__(self, speculation: Speculation | None) -> None:
        self._speculation = speculation
        self._began_at: float | None = None
        self._was_loading = False
        self.speed = ReplySpeed(0.0)
        self.prompt_s = 0.0
        self.reply_s = 0.0

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Times the prompt; if it was read to its end, the reply begins."""
        start = clock.now()
        try:
            yield
            self._began_at = clock.now()
            self.speed = ReplySpeed(self._began_at)
            self._was_loading = self._is_loading
        finally:
            self.prompt_s = clock.now() - start

    def note(self, num_tokens: int) -> None:
        """A round has ended; the reply has `num_tokens` now."""
        assert self._began_at is not None
        now = clock.now()
        if num_tokens == 1:  # drawn from the prompt's logits
            self.speed = ReplySpeed(now, 1)
            return
        self.speed.note(now, num_tokens)
        if self._was_loading and not self._is_loading:
            self._was_loading = False
            self.speed.restart()

    def leave_out(self, seconds: float) -> None:
        """Leaves out a break between two rounds, which was no part of the reply."""
        assert self._began_at is not None
        self._began_at += seconds
        self.speed.leave_out(seconds)

    def stop(self) -> None:
        if self._began_at is not None:
            self.reply_s = clock.now() - self._began_at

    @property
    def _is_loading(self) -> bool:
        return self._speculation is not None and self._speculation.is_loading
