"""Times a reply: its prompt, its rounds, and how much of it was written while the drafter was still being loaded."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from engine import clock
from engine.decoding.figures import DecodingFigures
from engine.decoding.speculation import Speculation
from engine.numerics.draft_length import PassCosts

_WINDOW_S = 1.0  # of the present speed
_MIN_WINDOW_ROUNDS = 4  # however long they take
_MIN_PLAIN_ROUNDS = 4  # without a draft, before the speed of plain decoding counts as known
_MAX_LOADING_SHARE = 0.1  # of a reply; when the drafter was loading for longer, the ratio to plain decoding is unknown


def ratio_by_counts(figures: DecodingFigures, passes: PassCosts) -> float:
    """How many times as fast as plain decoding a reply was written, every pass taking what such passes are known to
    take by now, this reply's among them: so a hiccup of the machine is no fault of the drafts, and no gain. 0 where
    nothing was written."""
    drafting_s = passes.change_s * figures.num_changes + figures.draft_s
    spent_s = sum(passes.of(num_rows) * count for num_rows, count in figures.passes.items()) + drafting_s
    return figures.num_written * passes.of(1) / spent_s if spent_s > 0 else 0.0


class ReplyPace:
    """The speed of a reply from the ends of its rounds. Each round costs a few operations; the rest is computed when
    it is read."""

    def __init__(self, now: float, num_tokens: int = 0) -> None:
        """It begins `now`, on the clock of `note`, with `num_tokens` already written."""
        self._latest = deque([(now, num_tokens)])  # ends of rounds, and tokens written until then
        self._begin(now, num_tokens)

    def note(self, now: float, num_tokens: int) -> None:
        """A round has ended; the reply has `num_tokens` now."""
        then, before = self._latest[-1]
        seconds, tokens = now - then, num_tokens - before
        self._num_rounds += 1
        self._sum_ss += seconds * seconds
        self._sum_st += seconds * tokens
        self._sum_tt += tokens * tokens
        latest = self._latest
        latest.append((now, num_tokens))
        while len(latest) > _MIN_WINDOW_ROUNDS + 1 and latest[1][0] <= now - _WINDOW_S:
            latest.popleft()

    def restart(self) -> None:
        """Leaves the rounds until now out of the mean."""
        self._begin(*self._latest[-1])

    @property
    def num_measured(self) -> int:
        """Tokens in the mean."""
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

    @property
    def error(self) -> float:
        """Standard error of the mean, as a share of it, from the spread of the rounds; infinite for fewer than two."""
        n, seconds, mean = self._num_rounds, self._latest[-1][0] - self._began_at, self.mean
        if n < 2 or mean <= 0:
            return math.inf
        # A ratio of sums: its error is that of the sum of (tokens - mean x seconds), which is 0 on the whole.
        squares = self._sum_tt - 2 * mean * self._sum_st + mean * mean * self._sum_ss
        return math.sqrt(max(0.0, squares) * n / (n - 1)) / (mean * seconds)

    def _begin(self, now: float, num_tokens: int) -> None:
        self._began_at = now
        self._first_token = num_tokens
        self._num_rounds = 0
        self._sum_ss = self._sum_st = self._sum_tt = 0.0


class ReplyClock:
    """Runs from the prompt of a reply to its end. The mean speed leaves out the rounds that were slowed down by the
    loading of the drafter."""

    def __init__(self, speculation: Speculation | None) -> None:
        self._speculation = speculation
        self._began_at: float | None = None
        self._was_loading = False
        self._loading_s = 0.0
        self.pace = ReplyPace(0.0)
        self.prompt_s = 0.0
        self.reply_s = 0.0

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Times the prompt; if it was read to its end, the reply begins."""
        start = clock.now()
        try:
            yield
            self._began_at = clock.now()
            self.pace = ReplyPace(self._began_at)
            self._was_loading = self._is_loading
        finally:
            self.prompt_s = clock.now() - start

    def note(self, num_tokens: int) -> None:
        """A round has ended; the reply has `num_tokens` now."""
        assert self._began_at is not None
        now = clock.now()
        if num_tokens == 1:  # drawn from the prompt's logits
            self.pace = ReplyPace(now, 1)
            return
        self.pace.note(now, num_tokens)
        if self._was_loading:
            self._loading_s = now - self._began_at
            if not self._is_loading:
                self._was_loading = False
                self.pace.restart()

    def stop(self) -> None:
        if self._began_at is not None:
            self.reply_s = clock.now() - self._began_at

    @property
    def is_compared(self) -> bool:
        """Whether plain decoding is measured."""
        return self._speculation is not None and self._speculation.baseline is not None

    @property
    def plain_now(self) -> tuple[float, float]:
        """The speed of this machine without drafts in tokens per second, and its standard error as a share of it; zeros
        while the drafter is being loaded, or too little is known."""
        return (0.0, 0.0) if self._was_loading else self._plain

    @property
    def plain_of_reply(self) -> tuple[float, float]:
        """The same for the whole reply, which has ended."""
        return (0.0, 0.0) if self._loading_s > _MAX_LOADING_SHARE * self.reply_s else self._plain

    @property
    def _plain(self) -> tuple[float, float]:
        baseline = None if self._speculation is None else self._speculation.baseline
        if baseline is None or baseline.num_seen < _MIN_PLAIN_ROUNDS:
            return 0.0, 0.0
        return 1 / baseline.seconds, baseline.error

    @property
    def _is_loading(self) -> bool:
        return self._speculation is not None and self._speculation.is_loading
