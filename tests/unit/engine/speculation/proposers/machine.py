"""Rounds with a policy, in the seconds of a made-up machine; guesses stand as often as they say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from engine.speculation.numerics.draft import Draft, Verdict
from engine.speculation.numerics.draft_length import FixedCosts
from engine.speculation.numerics.sampling import RandomDice
from engine.speculation.proposers.costly import Always
from engine.speculation.proposers.draft_policy import DraftPolicy
from engine.speculation.proposers.interface import Context
from engine.values.config import SamplingSettings
from engine.values.conversations import ChatTurn, Role
from tests.fakes.proposers import FakeRecall, FakeSlow

TURNS = (ChatTurn(Role.USER, "Hi"),)
GENTLE = {1: 1.0, 2: 1.05, 4: 1.15, 8: 1.5, 16: 2.5}
STEEP = {1: 1.0, 16: 16.0}
STEP_S = 0.1


def context(num_held: int = 100) -> Context:
    return Context(TURNS, [0] * num_held, 1, 2, SamplingSettings(temperature=0), RandomDice(0))


class Machine:
    """`surplus_s`: what a pass takes more that has not as many rows as the last; `true_chance`: that a guess stands,
    whatever was said of it."""

    def __init__(
        self,
        recall: FakeRecall | None = None,
        slow: FakeSlow | None = None,
        costs: Mapping[int, float] = GENTLE,
        step_s: float | None = None,
        always: Always | None = None,
        surplus_s: float = 0.0,
        true_chance: float | None = None,
    ) -> None:
        self._recall = recall
        self.costs = FixedCosts(costs, surplus_s)
        proposers = [each for each in (recall, slow) if each is not None]
        self.policy = DraftPolicy(self.costs, proposers, step_s, always)
        self._surplus_s = surplus_s
        self.true_chance = true_chance
        self._last_rows = 1
        self._num_tokens, self._seconds = 0, 0.0
        self._step_s = 0.0 if slow is None else slow.step_s
        self._random = np.random.default_rng(0)

    @property
    def speed(self) -> float:
        """Tokens per second of all rounds."""
        return self._num_tokens / self._seconds

    def play(self, rounds: int) -> list[Draft]:
        return [self._round() for _ in range(rounds)]

    def _round(self) -> Draft:
        draft = self.policy.propose(context(), 99)
        chances = draft.chances if self.true_chance is None else (self.true_chance,) * len(draft.tokens)
        fell = [self._random.random() >= chance for chance in chances]
        num_accepted = fell.index(True) if True in fell else len(fell)
        num_rows = len(draft.tokens) + 1
        written = (*draft.tokens[:num_accepted], 99)
        if not draft.tokens and self._recall is not None and self._recall.tokens:  # right as often as when checked
            chance = self._recall.chances[0] if self.true_chance is None else self.true_chance
            written = self._recall.tokens[:1] if self._random.random() < chance else (99,)
        pass_s = self.costs.of(num_rows) + (self._surplus_s if num_rows != self._last_rows else 0.0)
        self._last_rows = num_rows
        self._num_tokens += num_accepted + 1
        self._seconds += pass_s + self._step_s * draft.num_steps
        self.policy.observe(Verdict(draft, num_accepted, written), pass_s + draft.drafter_s, pass_s)
        return draft


def recalling(*chances: float) -> FakeRecall:
    return FakeRecall(range(100, 100 + len(chances)), chances)


def num_drafted(drafts: Sequence[Draft]) -> int:
    """Rounds with a draft."""
    return sum(1 for draft in drafts if draft.tokens)
