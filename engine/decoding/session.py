"""The tokens that one target holds of a conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from engine.numerics.draft import common_prefix_length
from engine.stop_signal import StopSignal
from engine.target.interface import FloatRows, StateRows, Target


class Session:
    """The only one to move the target forwards and back, so that `tokens` are always those that the target holds, or
    reads again before its next pass because a rollback lost them."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self.tokens: list[int] = []
        self.num_evaluated = 0  # tokens, over the life of the session
        self.states: StateRows | None = None  # of the rows of the last pass, if they were wanted: a view as those are

    @property
    def room(self) -> int:
        """How many more tokens the target can hold."""
        return self._target.limits.context_size - len(self.tokens)

    def read(
        self,
        prompt: Sequence[int],
        stop: StopSignal,
        on_progress: Callable[[int, int], None] = lambda _evaluated, _total: None,
    ) -> FloatRows:
        """Makes the target hold exactly `prompt`, evaluating only what it does not hold yet.

        Returns the logits after its last token, shape (1, vocabulary). Raises Interrupted when `stop` gets set; tokens
        evaluated until then stay held.
        """
        self._forget_lost()
        # The last token is always evaluated: the reply begins with its logits.
        self.keep(min(common_prefix_length(self.tokens, prompt), len(prompt) - 1))
        self._forget_lost()
        new = prompt[len(self.tokens) :]
        step = self._target.limits.max_tokens
        for start in range(0, len(new), step):
            rows = self.extend(new[start : start + step], stop, num_rows=1)
            on_progress(min(start + step, len(new)), len(new))
        return rows

    def extend(self, tokens: Sequence[int], stop: StopSignal, num_rows: int, with_states: bool = False) -> FloatRows:
        """One pass over `tokens`, after all that a rollback lost was read again; see `Target.evaluate`. Only one with a
        row for each of its tokens can tell its `states`. Whatever it raises, `tokens` stay those that the target
        holds."""
        assert num_rows == len(tokens) or not with_states
        try:
            while lost := self._first_lost():
                self._evaluate(lost, 1, stop)
            rows = self._evaluate(tokens, num_rows, stop, with_states)
        except BaseException:
            self._forget_lost()
            raise
        self.tokens.extend(tokens)
        return rows

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Meanwhile other tokens may be read; afterwards the target holds the present ones again, where there is memory
        to save them."""
        tokens, saved = self.tokens.copy(), self._target.save()
        try:
            yield
        finally:
            if saved is not None:
                self.tokens[:] = tokens if self._target.restore(saved) else ()

    def keep(self, num_kept: int) -> bool:
        """Forgets all but the first `num_kept` tokens. False where the target could not roll back: it has lost these,
        too."""
        del self.tokens[num_kept:]
        return self._target.roll_back(num_kept)

    def _evaluate(self, tokens: Sequence[int], num_rows: int, stop: StopSignal, with_states: bool = False) -> FloatRows:
        self.states = None
        if with_states:
            rows, self.states = self._target.evaluate_with_states(tokens, stop)
        else:
            rows = self._target.evaluate(tokens, num_rows, stop)
        self.num_evaluated += len(tokens)
        return rows

    def _first_lost(self) -> list[int]:
        """As many as one pass reads."""
        num_held = self._target.num_held
        return self.tokens[num_held : num_held + self._target.limits.max_tokens]

    def _forget_lost(self) -> None:
        del self.tokens[self._target.num_held :]
