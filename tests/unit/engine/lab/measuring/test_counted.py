"""Ratios to plain from counts, with known costs."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from engine.lab.measuring.report import pass_means, ratio_by_counts
from engine.speculation.decoding.figures import DecodingFigures


def figures(
    num_written: int, passes: dict[int, int], seconds: dict[int, float], draft_s: float = 0.0
) -> DecodingFigures:
    """`seconds`: rows -> of all such passes together."""
    return DecodingFigures(
        num_written=num_written, draft_s=draft_s, passes=Counter(passes), pass_s=defaultdict(float, seconds)
    )


def test_every_pass_takes_what_such_passes_do_on_average() -> None:
    # One-row passes take 1 s on average over all replies, whatever they took of a single one.
    plain = [figures(4, {1: 4}, {1: 2.0}), figures(4, {1: 4}, {1: 6.0})]
    drafting = [figures(4, {3: 2}, {3: 3.0}), figures(4, {3: 1, 1: 2}, {3: 3.0, 1: 2.0}, draft_s=1.0)]
    means = pass_means([*plain, *drafting])
    # Three rows take 2 s: 4 tokens in 4 s; and 4 tokens in 2 + 2 s and 1 s for drafting, against 4 s of plain.
    ratios = [ratio_by_counts(theirs, ours, means) for theirs, ours in zip(plain, drafting, strict=True)]
    assert ratios == pytest.approx([4 / 4, 4 / 5])


def test_the_machines_noise_makes_no_difference_to_plain_itself() -> None:
    first, again = figures(4, {1: 4}, {1: 2.0}), figures(4, {1: 4}, {1: 6.0})
    assert ratio_by_counts(first, again, pass_means([first, again])) == 1.0


def test_a_reply_that_ended_at_once_has_no_ratio() -> None:
    full, empty = figures(2, {1: 2}, {1: 2.0}), figures(0, {}, {})
    means = pass_means([full, empty])
    assert ratio_by_counts(full, empty, means) is None
    assert ratio_by_counts(empty, full, means) is None
