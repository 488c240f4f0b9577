"""Ratios to plain from counts, with known costs."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from engine.decoding.figures import DecodingFigures
from engine.lab.measuring.report import ratios_by_counts


def figures(
    num_written: int, passes: dict[int, int], seconds: dict[int, float], draft_s: float = 0.0
) -> DecodingFigures:
    """`seconds`: rows -> of all such passes together."""
    return DecodingFigures(
        num_written=num_written, draft_s=draft_s, passes=Counter(passes), pass_s=defaultdict(float, seconds)
    )


def test_every_pass_takes_what_such_passes_do_on_average() -> None:
    # One-row passes take 1 s on average over both prompts and modes, whatever they took of a single prompt.
    plain = [figures(4, {1: 4}, {1: 2.0}), figures(4, {1: 4}, {1: 6.0})]
    drafting = [figures(4, {3: 2}, {3: 3.0}), figures(4, {3: 1, 1: 2}, {3: 3.0, 1: 2.0}, draft_s=1.0)]
    # Three rows take 2 s: 4 tokens in 4 s; and 4 tokens in 2 + 2 s and 1 s for drafting, against 4 s of plain.
    assert ratios_by_counts(plain, drafting) == pytest.approx([4 / 4, 4 / 5])


def test_the_machines_noise_makes_no_difference_to_plain_itself() -> None:
    plain = [figures(4, {1: 4}, {1: 2.0}), figures(4, {1: 4}, {1: 6.0})]
    assert ratios_by_counts(plain, plain) == [1.0, 1.0]


def test_a_reply_that_ended_at_once_has_no_ratio() -> None:
    full, empty = figures(2, {1: 2}, {1: 2.0}), figures(0, {}, {})
    assert ratios_by_counts([full, empty, full], [empty, full, full]) == [1.0]
    assert ratios_by_counts([], []) == []
