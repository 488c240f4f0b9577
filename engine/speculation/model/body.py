"""A target whose words come from one model and whose time comes from another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.speculation.model.interface import (
    FloatRows,
    StateRows,
    Target,
    TargetFeature,
    TargetLimits,
    branching,
    telling,
)
from engine.values.clock import hidden
from engine.values.stop_signal import StopSignal


class BodyTarget:
    """Implements `model.interface.Target`: `inner` computes the logits, in no time by `engine.values.clock`, while
    `body` evaluates as many tokens at the same places with as many rows of logits, and takes its usual time."""

    def __init__(self, inner: Target, body: Target) -> None:
        """Owns both from here on."""
        self.inner = inner
        self._body = body
        self.vocabulary = inner.vocabulary
        self.description = replace(
            inner.description, size_bytes=body.description.size_bytes, threads=body.description.threads
        )
        self.features = inner.features & (body.features | {TargetFeature.STATES})  # which are the inner one's
        self.features -= {TargetFeature.KEEPS, TargetFeature.LEADS}
        ours, its = inner.limits, body.limits
        self.limits = TargetLimits(
            min(ours.context_size, its.context_size),
            min(ours.max_tokens, its.max_tokens),
            min(ours.max_rows, its.max_rows),
            min(ours.max_rollback, its.max_rollback),
            min(ours.max_branches, its.max_branches),
        )

    @property
    def num_held(self) -> int:
        return self._body.num_held

    def tokenize(self, text: str) -> list[int]:
        return self.inner.tokenize(text)

    def evaluate(self, tokens: Sequence[int], num_rows: int, stop: StopSignal) -> FloatRows:
        num_tokens = len(self._body.vocabulary)  # which of them a token is makes no difference to its time
        try:
            self._body.evaluate([token % num_tokens for token in tokens], num_rows, stop)
            with hidden():
                return self.inner.evaluate(tokens, num_rows, stop)
        except BaseException:
            self.roll_back(min(self.inner.num_held, self._body.num_held))
            raise

    def evaluate_tree(self, token: int, draft: Sequence[int], parents: Sequence[int], stop: StopSignal) -> FloatRows:
        inner, body = branching(self.inner), branching(self._body)
        num_tokens = len(self._body.vocabulary)
        try:
            body.evaluate_tree(token % num_tokens, [each % num_tokens for each in draft], parents, stop)
            with hidden():
                return inner.evaluate_tree(token, draft, parents, stop)
        except BaseException:
            self.roll_back(min(self.inner.num_held, self._body.num_held))
            raise

    def keep_branch(self, places: Sequence[int]) -> None:
        branching(self._body).keep_branch(places)
        with hidden():
            branching(self.inner).keep_branch(places)

    def tell_states(self, wanted: bool) -> None:
        telling(self.inner).tell_states(wanted)

    @property
    def states(self) -> StateRows | None:
        return telling(self.inner).states

    def roll_back(self, num_kept: int) -> bool:
        both = self._body.roll_back(num_kept)
        with hidden():
            both &= self.inner.roll_back(num_kept)
            if not both:  # neither holds what the other has lost
                self._body.roll_back(0)
                self.inner.roll_back(0)
        return both

    def save(self) -> None:
        """A measurement returns to nothing."""

    def restore(self, saved: object) -> bool:  # noqa: ARG002
        raise AssertionError("nothing was saved")

    def close(self) -> None:
        self.inner.close()
        self._body.close()
