"""What drafting could have brought at best: with the acceptance and the pass costs of the same run, drafting free."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.decoding.figures import DecodingFigures
from engine.numerics.draft_length import MAX_LENGTH, PassCosts

_FEWEST_PASSES = 20  # of a number of rows, for their mean to say something


@dataclass(frozen=True, slots=True)
class Attainable:
    acceptance: float  # a: share of the drafted tokens that stood, of those that were reached
    pass_costs: dict[int, float]  # V(n): of a pass over n rows, as a multiple of plain's one-row pass; what was seen
    ratio: float  # max over k of (1 + a + … + a^k) / V(k + 1), so 1 where not drafting is best
    covered: float  # the same, if the rounds without a draft (there was nothing to guess from) bring what plain ones do


def attainable(plain: Sequence[DecodingFigures], drafting: Sequence[DecodingFigures]) -> Attainable | None:
    """None where no draft was checked, or plain had no pass."""
    checked = sum(sum(figures.checked.values()) for figures in drafting)
    stood = sum(sum(figures.stood.values()) for figures in drafting)
    single = _mean_s(plain, 1)
    if not checked or not single:
        return None
    costs = {1: 1.0}
    for num_rows in range(2, MAX_LENGTH + 2):
        if sum(figures.passes[num_rows] for figures in drafting) >= _FEWEST_PASSES:
            costs[num_rows] = _mean_s(drafting, num_rows) / single
    acceptance = stood / checked
    filled = PassCosts(costs)
    tokens, ratio = 0.0, 0.0
    for length in range(max(costs)):  # of longer passes nothing is known
        tokens += acceptance**length
        ratio = max(ratio, tokens / filled.of(length + 1))
    undrafted = sum(figures.passes[1] for figures in drafting)
    written = sum(figures.num_written for figures in drafting)
    return Attainable(acceptance, costs, ratio, written / ((written - undrafted) / ratio + undrafted))


def _mean_s(all_figures: Sequence[DecodingFigures], num_rows: int) -> float:
    count = sum(figures.passes[num_rows] for figures in all_figures)
    return sum(figures.pass_s[num_rows] for figures in all_figures) / count if count else 0.0
