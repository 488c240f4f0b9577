"""Conclusions from counts of passes: ratios without the machine's noise, and what guesses as good as these could
bring."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from engine.speculation.decoding.figures import DecodingFigures
from engine.speculation.numerics.draft_length import MAX_LENGTH, PassCosts

PassMeans = Mapping[int, float]  # rows of a pass -> seconds that such passes took on average in a run


def pass_means(run: Iterable[DecodingFigures]) -> PassMeans:
    """The mean seconds of passes, over all replies of a run, whatever their modes."""
    passes: Counter[int] = Counter()
    seconds: Counter[int] = Counter()
    for figures in run:
        passes.update(figures.passes)
        seconds.update(figures.pass_s)
    return {num_rows: seconds[num_rows] / count for num_rows, count in passes.items() if count}


def ratio_by_counts(plain: DecodingFigures, ours: DecodingFigures, means: PassMeans) -> float | None:
    """Plain's seconds per token over the mode's, if every pass took what such passes take on average: the machine's
    noise on single replies is left out, what drafting cost and gained is not. None if nothing can be compared."""
    our_s, plain_s = _s_per_token(ours, means), _s_per_token(plain, means)
    return plain_s / our_s if our_s and plain_s else None


def _s_per_token(figures: DecodingFigures, means: PassMeans) -> float | None:
    target_s = sum(means[num_rows] * count for num_rows, count in figures.passes.items() if count)
    return (target_s + figures.draft_s) / figures.num_written if figures.num_written else None


_FEWEST_PASSES = 20  # of a number of rows, for their mean to say something


@dataclass(frozen=True, slots=True)
class Attainable:
    acceptance: float  # a: share of the drafted tokens that stood, of those that were reached
    pass_costs: dict[int, float]  # V(n): of a pass over n rows, as a multiple of plain's one-row pass; what was seen
    ratio: float  # max over k of (1 + a + … + a^k) / V(k + 1), so 1 where not drafting is best
    covered: float  # the same, if the rounds without a draft (there was nothing to guess from) bring what plain ones do
    # max over k of (1 + a + … + a^k) / (V(k + 1) + k · step), and 1 if not drafting is best. If no steps were taken,
    # with the rounds without a draft as in `covered`: free guesses are not always there.
    allowed: float


def attainable(
    plain: Sequence[DecodingFigures],
    drafting: Sequence[DecodingFigures],
    step: float = 0.0,
    pass_costs: Mapping[int, float] | None = None,
) -> Attainable | None:
    """What guesses as good as these could bring at best: free ones, and ones that cost `step` of a one-row pass each.
    `pass_costs`: V(n) as measured apart from the rounds, for passes that these had too few of. None if no draft was
    checked, or plain had no pass."""
    accepted, single = acceptance(drafting), mean_s(plain, 1)
    if accepted is None or not single:
        return None
    costs = {1: 1.0}
    for num_rows in range(2, MAX_LENGTH + 2):
        if sum(figures.passes[num_rows] for figures in drafting) >= _FEWEST_PASSES:
            costs[num_rows] = mean_s(drafting, num_rows) / single
    ratio = best_ratio(accepted, costs)
    allowed = best_ratio(accepted, {**(pass_costs or {}), **costs}, step)
    covered = covered_ratio(ratio, drafting)
    return Attainable(accepted, costs, ratio, covered, allowed if step else covered_ratio(allowed, drafting))


def acceptance(drafting: Sequence[DecodingFigures]) -> float | None:
    """The share of the drafted tokens that stood, of those that were reached; None where nothing was drafted."""
    checked = sum(sum(figures.checked.values()) for figures in drafting)
    return sum(sum(figures.accepted.values()) for figures in drafting) / checked if checked else None


def best_ratio(acceptance: float, costs: Mapping[int, float], step: float = 0.0) -> float:
    """The best ratio over the lengths of drafts whose passes are known; at least 1, which is not to draft."""
    filled = PassCosts(costs)
    tokens, ratio = 0.0, 1.0
    for length in range(max(costs)):
        tokens += acceptance**length
        ratio = max(ratio, tokens / (filled.of(length + 1) + length * step))
    return ratio


def covered_ratio(ratio: float, drafting: Sequence[DecodingFigures]) -> float:
    """The ratio, if it holds in the rounds with a draft and those without one bring what plain ones do."""
    undrafted = sum(figures.passes[1] for figures in drafting)
    written = sum(figures.num_written for figures in drafting)
    return written / ((written - undrafted) / ratio + undrafted)


def mean_s(all_figures: Sequence[DecodingFigures], num_rows: int) -> float:
    """Seconds of a pass over `num_rows`; 0 if there was none."""
    count = sum(figures.passes[num_rows] for figures in all_figures)
    return sum(figures.pass_s[num_rows] for figures in all_figures) / count if count else 0.0
