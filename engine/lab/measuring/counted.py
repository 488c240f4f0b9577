"""Ratios to plain from counts: every pass is taken to last as long as passes over as many rows did on average in the
same run. What the machine's noise does to single prompts is out of them, what drafting cost and brought is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from engine.decoding.figures import DecodingFigures


def ratios_by_counts(plain: Sequence[DecodingFigures], drafting: Sequence[DecodingFigures]) -> list[float]:
    """For each prompt, plain's seconds per token over the mode's; both sequences are in the order of the prompts."""
    passes: Counter[int] = Counter()
    seconds: Counter[int] = Counter()
    for figures in (*plain, *drafting):
        passes.update(figures.passes)
        seconds.update(figures.pass_s)
    means = {num_rows: seconds[num_rows] / count for num_rows, count in passes.items() if count}
    return [
        _s_per_token(theirs, means) / _s_per_token(ours, means)
        for theirs, ours in zip(plain, drafting, strict=True)
        if theirs.num_written and ours.num_written
    ]


def _s_per_token(figures: DecodingFigures, means: dict[int, float]) -> float:
    target_s = sum(means[num_rows] * count for num_rows, count in figures.passes.items() if count)
    return (target_s + figures.draft_s) / figures.num_written
