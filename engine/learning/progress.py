"""How far a training is, as a plain value for whoever watches. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    step: int
    epoch: float
    seconds: float
    loss: float
    agreement: float | None  # greedy next-token agreement on replies held back, when it was measured
