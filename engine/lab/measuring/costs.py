"""What passes would cost of a model that cannot be run here: seconds from counts."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from engine.errors import SettingInvalid

PASS_S = 0.03  # of one pass over one row, as of an 8B model on a good machine; ratios do not depend on it


@dataclass(frozen=True, slots=True)
class SimulatedCosts:
    """Costs as multiples of one pass of the target over one row."""

    step: float = 0.075  # of one pass of the drafter
    passes: tuple[float, ...] = (1.0,)  # of a pass over 1, 2, … rows; the last one stands for all longer ones

    def __post_init__(self) -> None:
        if not (math.isfinite(self.step) and self.step >= 0):
            raise SettingInvalid(f"The drafter's cost is {self.step:g}; choose 0 or more.")
        if not self.passes or not all(math.isfinite(cost) and cost > 0 for cost in self.passes):
            raise SettingInvalid("A pass cost is not above 0; write costs like 1,1.05,1.2.")

    @classmethod
    def parse(cls, step: float, passes: str) -> SimulatedCosts:
        """From numbers with commas between them. Raises SettingInvalid."""
        try:
            costs = tuple(float(cost) for cost in passes.split(","))
        except ValueError as error:
            raise SettingInvalid(f"“{passes}” is no list of pass costs; write them like 1,1.05,1.2.") from error
        return cls(step, costs)

    def pass_s(self, num_rows: int) -> float:
        return PASS_S * self.passes[min(num_rows, len(self.passes)) - 1]

    def target_s(self, passes: Counter[int]) -> float:
        """`passes`: rows of a pass -> how many such passes."""
        return sum(self.pass_s(num_rows) * count for num_rows, count in passes.items())

    def draft_s(self, num_steps: int) -> float:
        return PASS_S * self.step * num_steps
