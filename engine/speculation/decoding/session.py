"""The tokens that one target holds of a conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType

from engine.speculation.model.interface import (
    FloatRows,
    PictureRun,
    SavedPart,
    StateRows,
    Target,
    TargetFeature,
    branching,
    keeping,
    seeing,
    telling,
)
from engine.speculation.numerics.draft import Draft, Verdict, common_prefix_length
from engine.values.owner import USER, Owner
from engine.values.stop_signal import StopSignal

Runs = Mapping[int, PictureRun]  # of pictures among tokens, by their first places; any token stands in their places


def num_cells(tokens: Sequence[int], runs: Runs) -> int:
    """The cells of the context that these take."""
    return len(tokens) + sum(run.num_cells - run.num_places for run in runs.values())


def before_pictures(tokens: Sequence[int], runs: Runs) -> Sequence[int]:
    return tokens[: min(runs)] if runs else tokens


@dataclass(frozen=True, slots=True)
class _Copy:
    owner: Owner
    tokens: list[int]
    runs: dict[int, PictureRun]
    saved: object  # as `Target.save` returned it


class Session:
    """The only one to move the target forwards and back, so that `tokens` are always those that the target holds, or
    reads again before its next pass because a rollback lost them."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self.tokens: list[int] = []
        self.runs: dict[int, PictureRun] = {}
        self.owner = USER  # whose tokens these are
        self._left: _Copy | None = None  # what another owner had read when the last break ended
        self.num_evaluated = 0  # tokens, over the life of the session
        self._telling = telling(target) if TargetFeature.STATES in target.features else None

    @property
    def num_cells(self) -> int:
        return num_cells(self.tokens, self.runs)

    @property
    def room(self) -> int:
        return self._target.limits.context_size - self.num_cells

    def held_of(self, owner: Owner) -> Sequence[int]:
        """The tokens that are held, or will be after `take_over`, as far as this owner may know."""
        if owner == self.owner:
            return self.tokens
        return self._left.tokens if self._left is not None and self._left.owner == owner else ()

    def take_over(self, owner: Owner) -> None:
        """Hands the session to this owner, who reads again what others have read."""
        if owner != self.owner:
            self.keep(0)
            self.owner = owner
            if self._left is not None and self._left.owner == owner:
                left, self._left = self._left, None
                self._put_back(left)

    def read(
        self,
        prompt: Sequence[int],
        stop: StopSignal,
        on_progress: Callable[[int, int], None] = lambda _evaluated, _total: None,
        runs: Runs = MappingProxyType({}),
    ) -> FloatRows:
        """Makes the target hold exactly `prompt`, evaluating only what it does not hold yet.

        Returns the logits after its last token, shape (1, vocabulary). Raises Interrupted when `stop` gets set; tokens
        evaluated until then stay held.
        """
        self._forget_lost()
        # The last token is always evaluated: the reply begins with its logits.
        self.keep(min(self._num_common(prompt, runs), len(prompt) - 1))
        self._forget_lost()
        start = place = len(self.tokens)
        while place < len(prompt):
            try:
                rows, end = self._step(prompt, runs, place, stop)
            except BaseException:
                self._forget_lost()
                raise
            self.tokens.extend(prompt[place:end])
            self.runs |= {place: runs[place]} if place in runs else {}
            place = end
            on_progress(place - start, len(prompt) - start)
        assert rows is not None, "a prompt ends with a token"
        return rows

    def extend(self, tokens: Sequence[int], stop: StopSignal, num_rows: int) -> FloatRows:
        """One pass over `tokens`, after all that a rollback lost was read again; see `Target.evaluate`. Whatever it
        raises, `tokens` stay those that the target holds."""
        try:
            self._read_lost(stop)
            rows = self._evaluate(tokens, num_rows, stop)
        except BaseException:
            self._forget_lost()
            raise
        self.tokens.extend(tokens)
        return rows

    @property
    def states(self) -> StateRows | None:
        """The states of the last check's rows, where they were wanted: see `TellingTarget.states`."""
        return None if self._telling is None else self._telling.states

    def check(self, pending: int, draft: Draft, stop: StopSignal, with_states: bool = False) -> FloatRows:
        """One pass over the pending token and a draft: the logits after it and after each token of the draft. `settle`
        then says what is held of the draft. Raises as `extend` does."""
        if self._telling is not None:
            self._telling.tell_states(with_states)
        if not draft.parents:
            return self.extend([pending, *draft.tokens], stop, num_rows=1 + len(draft.tokens))
        try:
            self._read_lost(stop)
            rows = branching(self._target).evaluate_tree(pending, draft.tokens, draft.parents, stop)
        except BaseException:
            self._forget_lost()
            raise
        self.num_evaluated += 1 + len(draft.tokens)
        self.tokens.append(pending)
        return rows

    def settle(self, verdict: Verdict) -> bool:
        """Forgets the rejected tokens of the draft that was checked last. Returns False as `keep` does."""
        if not verdict.draft.parents:
            return self.keep(len(self.tokens) - len(verdict.draft.tokens) + verdict.num_accepted)
        branching(self._target).keep_branch(verdict.places)
        self.tokens += verdict.tokens[: verdict.num_accepted]
        return True

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Lets other tokens be read meanwhile, which do not count; afterwards the target holds the present ones again,
        where there is memory to save them. What another owner has read is saved, too, until that one comes back."""
        owner, copy, num_evaluated = self.owner, self._copied(), self.num_evaluated
        try:
            yield
        finally:
            self.num_evaluated = num_evaluated
            if owner != self.owner:
                self._left = self._copied()
            self.take_over(owner)
            if copy is not None:
                self._put_back(copy)

    def _copied(self) -> _Copy | None:
        """What is held now; None if that is nothing, or there is no memory for a copy."""
        saved = self._target.save()
        return None if saved is None else _Copy(self.owner, self.tokens.copy(), self.runs.copy(), saved)

    def _put_back(self, copy: _Copy) -> None:
        is_done = self._target.restore(copy.saved)
        self.tokens[:], self.runs = (copy.tokens, copy.runs) if is_done else ((), {})

    def save(self, start: int, end: int) -> SavedPart | None:
        """Saves the tokens at these places, which hold no pictures; see `KeepingTarget.save_part`."""
        return keeping(self._target).save_part(start, end)

    def restore(self, saved: SavedPart, tokens: Sequence[int]) -> bool:
        """Makes the target hold these tokens, of which it held the first ones and saved the others. False: it holds
        nothing."""
        is_done = keeping(self._target).restore_part(saved, len(tokens))
        self.tokens[:] = tokens if is_done else ()
        self._forget_runs()
        return is_done

    def keep(self, num_kept: int) -> bool:
        """Forgets all but the first `num_kept` tokens. Returns False where the target could not roll back, and has lost
        these, too."""
        del self.tokens[num_kept:]
        self._forget_runs()
        return self._target.roll_back(num_kept)

    def _read_lost(self, stop: StopSignal) -> None:
        """Reads again what a rollback lost."""
        while self._target.num_held < len(self.tokens):
            self._step(self.tokens, self.runs, self._target.num_held, stop)

    def _evaluate(self, tokens: Sequence[int], num_rows: int, stop: StopSignal) -> FloatRows:
        rows = self._target.evaluate(tokens, num_rows, stop)
        self.num_evaluated += len(tokens)
        return rows

    def _step(self, tokens: Sequence[int], runs: Runs, start: int, stop: StopSignal) -> tuple[FloatRows | None, int]:
        """One pass over what comes after the first `start` tokens, which are held: the logits after its last token, and
        its end."""
        run = runs.get(start)
        if run is not None:
            seeing(self._target).evaluate_picture(run, stop)
            self.num_evaluated += run.num_places
            return None, start + run.num_places
        end = min(start + self._target.limits.max_tokens, len(tokens), *(each for each in runs if each > start))
        return self._evaluate(tokens[start:end], 1, stop), end

    def _num_common(self, tokens: Sequence[int], runs: Runs) -> int:
        """The number of first tokens that are held, with the same pictures, each as a whole."""
        common = common_prefix_length(self.tokens, tokens)
        others = [place for place in self.runs.keys() | runs.keys() if self.runs.get(place) != runs.get(place)]
        common = min(common, *others) if others else common
        return next((start for start, run in runs.items() if start < common < start + run.num_places), common)

    def _forget_lost(self) -> None:
        del self.tokens[self._target.num_held :]
        self._forget_runs()

    def _forget_runs(self) -> None:
        if self.runs:
            self.runs = {start: run for start, run in self.runs.items() if start < len(self.tokens)}
