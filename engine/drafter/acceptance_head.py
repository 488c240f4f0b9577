"""How likely a drafter's guess stands: a logistic regression on its probability and on the state it was guessed from.

SpecDec++ and OmniDraft (arXiv 2405.19715, 2507.02659) train a network of several layers on many replies of others; one
user's replies are few, and a regression held small by a penalty guesses better from them (docs/decisions/0014).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

_LEAST = 1e-6  # probability


@dataclass(frozen=True, slots=True, eq=False)
class AcceptanceHead:
    of_state: torch.Tensor  # float32 [hidden]
    of_probability: torch.Tensor  # float32 [3]: of log q, of log(1 − q), and what is always added

    def chance(self, state: torch.Tensor, probability: float) -> float:
        """That the drafter's likeliest token stands, of that probability q; `state` [hidden] is what it came from."""
        certain = min(max(probability, _LEAST), 1 - _LEAST)
        likely, unlikely, always = self.of_probability.tolist()
        score = likely * math.log(certain) + unlikely * math.log1p(-certain) + always
        score += float(torch.dot(self.of_state, state))
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, score))))


def features(probabilities: torch.Tensor) -> torch.Tensor:
    """[guesses, 3], as `AcceptanceHead.of_probability` weighs them."""
    certain = probabilities.clamp(_LEAST, 1 - _LEAST)
    return torch.stack((certain.log(), torch.log1p(-certain), torch.ones_like(certain)), 1)
