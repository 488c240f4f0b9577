"""The tokens that one target holds of a conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from engine.numerics.draft import Draft, Verdict, common_prefix_length
from engine.stop_signal import StopSignal
from engine.target.interface import (
    FloatRows,
    SavedPart,
    StateRows,
    Target,
    TargetFeature,
    branching,
    keeping,
    telling,
)


class Session:
    """The only one to move the target forwards and back, so that `tokens` are always those that the target holds, or
    reads again before its next pass because a rollback lost them."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self.tokens: list[int] = []
        self.num_evaluated = 0  # tokens, over the life of the session
        self._can_tell = TargetFeature.STATES in target.features

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

    def extend(self, tokens: Sequence[int], stop: StopSignal, num_rows: int) -> FloatRows:
        """One pass over `tokens`, after all that a rollback lost was read again; see `Target.evaluate`. Whatever it
        raises, `tokens` stay those that the target holds."""
        with self._reading_lost(stop):
            rows = self._evaluate(tokens, num_rows, stop)
        self.tokens.extend(tokens)
        return rows

    @property
    def states(self) -> StateRows | None:
        """Of the rows of the last check, where they were wanted: see `TellingTarget.states`."""
        return telling(self._target).states if self._can_tell else None

    def check(self, pending: int, draft: Draft, stop: StopSignal, with_states: bool = False) -> FloatRows:
        """One pass over the pending token and a draft: the logits after it and after each token of the draft. `settle`
        then says what is held of the draft. Raises as `extend` does."""
        if self._can_tell:
            telling(self._target).tell_states(with_states)
        if not draft.parents:
            return self.extend([pending, *draft.tokens], stop, num_rows=1 + len(draft.tokens))
        with self._reading_lost(stop):
            rows = branching(self._target).evaluate_tree(pending, draft.tokens, draft.parents, stop)
        self.num_evaluated += 1 + len(draft.tokens)
        self.tokens.append(pending)
        return rows

    def settle(self, verdict: Verdict) -> bool:
        """Forgets what was rejected of the draft that was checked last. False as `keep` says."""
        if not verdict.draft.parents:
            return self.keep(len(self.tokens) - len(verdict.draft.tokens) + verdict.num_accepted)
        branching(self._target).keep_branch(verdict.places)
        self.tokens += verdict.tokens[: verdict.num_accepted]
        return True

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

    def save(self, start: int, end: int) -> SavedPart | None:
        """Of the tokens at these places; see `KeepingTarget.save_part`."""
        return keeping(self._target).save_part(start, end)

    def restore(self, saved: SavedPart, tokens: Sequence[int]) -> bool:
        """Holds these tokens, of which it held the first ones and saved the others. False: it holds nothing."""
        is_done = keeping(self._target).restore_part(saved, len(tokens))
        self.tokens[:] = tokens if is_done else ()
        return is_done

    def keep(self, num_kept: int) -> bool:
        """Forgets all but the first `num_kept` tokens. False where the target could not roll back: it has lost these,
        too."""
        del self.tokens[num_kept:]
        return self._target.roll_back(num_kept)

    @contextmanager
    def _reading_lost(self, stop: StopSignal) -> Iterator[None]:
        """A pass over all that a rollback lost, and then another one."""
        try:
            while lost := self._first_lost():
                self._evaluate(lost, 1, stop)
            yield
        except BaseException:
            self._forget_lost()
            raise

    def _evaluate(self, tokens: Sequence[int], num_rows: int, stop: StopSignal) -> FloatRows:
        rows = self._target.evaluate(tokens, num_rows, stop)
        self.num_evaluated += len(tokens)
        return rows

    def _first_lost(self) -> list[int]:
        """As many as one pass reads."""
        num_held = self._target.num_held
        return self.tokens[num_held : num_held + self._target.limits.max_tokens]

    def _forget_lost(self) -> None:
        del self.tokens[self._target.num_held :]
