"""Lets a drafter learn between the replies of a measurement, as the app does while nobody waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from engine.drafter.adapter import Adapter
from engine.learning.learner import Learner, Trial
from engine.messages.conversations import ChatTurn
from engine.messages.learned import VerifiedReply
from engine.proposers.interface import SlowProposer

KEPT, PUBLISHED, RETURNED = "kept", "published", "returned"


class Drafting(Protocol):
    """What `engine.proposers.drafting.Drafting` is to a measurement."""

    @property
    def proposer(self) -> SlowProposer: ...
    def make_learner(self) -> Learner: ...
    def use(self, adapter: Adapter | None) -> None: ...


class Schooling:
    def __init__(self, drafting: Drafting) -> None:
        """Nothing is learned yet."""
        self._drafting = drafting
        self._learner = drafting.make_learner()
        self._num_replies = 0
        self.trials: list[tuple[int, Trial, str]] = []  # after how many replies; what was found; what came of it

    def teach(self, turns: Sequence[ChatTurn], reply: VerifiedReply | None) -> None:
        """One more reply; all that is to be learned of it is learned here and now."""
        self._num_replies += 1
        if reply is None:
            return
        self._learner.take(self._num_replies, turns, reply)
        while self._learner.has_work:
            trial = self._learner.work(_go_on)
            if trial is None:
                continue
            if trial.adapter is not None:
                self._drafting.use(trial.adapter)
            outcome = KEPT if trial.adapter is None else RETURNED if trial.is_return else PUBLISHED
            self.trials.append((self._num_replies, replace(trial, adapter=None), outcome))


def _go_on() -> None: ...
