"""Counts and times of the rounds of a reply."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from engine.speculation.numerics.draft import Verdict
from engine.values.clock import now


@dataclass(slots=True)
class ProposerFigures:
    num_rounds: int = 0
    num_drafted: int = 0
    num_accepted: int = 0


@dataclass(slots=True)
class DecodingFigures:
    """Figures of the rounds after the prompt. Tokens are the target's, times are seconds of `engine.values.clock`."""

    num_rounds: int = 0
    num_written: int = 0
    num_drafted: int = 0  # tokens that were checked
    num_accepted: int = 0  # of these
    num_changes: int = 0  # passes over another number of rows than the one before
    num_steps: int = 0  # passes of a drafter
    draft_s: float = 0.0  # in the drafter's passes
    reading_s: float = 0.0  # of these, in passes over many tokens at once
    num_readings: int = 0  # such passes; they are steps, too
    num_read: int = 0  # tokens of the drafter in them
    translate_s: float = 0.0  # in the rest of proposing, and in observing
    target_s: float = 0.0  # in the target's passes and its rollback
    accept_s: float = 0.0  # distributions and acceptance
    passes: Counter[int] = field(default_factory=Counter)  # rows of a pass -> how many such passes
    pass_s: defaultdict[int, float] = field(default_factory=lambda: defaultdict(float))  # rows -> seconds in these
    # Place in a draft or on its branches, from 1 on -> how often it was reached and held a token.
    checked: Counter[int] = field(default_factory=Counter)
    accepted: Counter[int] = field(default_factory=Counter)  # place -> how often a token was accepted there
    by_proposer: dict[str, ProposerFigures] = field(default_factory=dict)  # by the key of its origin

    def count_draft(self, verdict: Verdict) -> None:
        draft, places, num_accepted = verdict.draft, verdict.places, verdict.num_accepted
        self.num_drafted += len(draft.tokens)
        self.num_accepted += num_accepted
        self.num_steps += draft.num_steps
        was_reached = bool(draft.children(places[-1] if places else -1))
        self.accepted.update(range(1, num_accepted + 1))
        self.checked.update(range(1, num_accepted + was_reached + 1))
        known: set[str] = set()  # recall may guess before a drafter and after it
        start = 0
        for proposer, length in draft.parts:
            if length:
                figures = self.by_proposer.setdefault(proposer, ProposerFigures())
                figures.num_rounds += proposer not in known
                known.add(proposer)
                figures.num_drafted += length
                figures.num_accepted += sum(start <= place < start + length for place in places)
            start += length


class Recorder:
    """Notes when each step of a round is done, and adds the round to the figures when it is complete."""

    def __init__(self) -> None:
        self.figures = DecodingFigures()
        self._times: list[float] = []  # when it began, was drafted, verified, accepted, committed
        self._num_rows = 0  # of the round before
        self._since = 0.0  # when the round before was committed, or the first began

    def start(self) -> None:
        """Starts timing rounds, or resumes after something else."""
        self._since = now()

    def begin(self) -> None:
        self._times = [now()]

    def step(self) -> None:
        self._times.append(now())

    @property
    def round_s(self) -> float:
        """The whole round, including bookkeeping: the seconds since the round before was committed."""
        return self._times[-1] - self._since

    @property
    def pass_s(self) -> float:
        """Of these, those of the target's pass and its rollback."""
        _, drafted, verified, accepted, committed = self._times
        return verified - drafted + committed - accepted

    def complete(self, verdict: Verdict) -> None:
        began, drafted, verified, accepted, committed = self._times
        self._since = committed
        figures, draft, num_rows = self.figures, verdict.draft, len(verdict.draft.tokens) + 1
        figures.num_rounds += 1
        figures.num_written += len(verdict.tokens)
        figures.num_changes += self._num_rows not in (0, num_rows)
        self._num_rows = num_rows
        figures.passes[num_rows] += 1
        figures.pass_s[num_rows] += verified - drafted
        if draft.tokens or draft.num_steps:
            figures.count_draft(verdict)
        figures.draft_s += draft.drafter_s
        figures.reading_s += draft.reading_s
        figures.num_readings += draft.reading_s > 0
        figures.num_read += draft.num_read
        figures.translate_s += drafted - began + now() - committed - draft.drafter_s
        figures.target_s += verified - drafted + committed - accepted
        figures.accept_s += accepted - verified
