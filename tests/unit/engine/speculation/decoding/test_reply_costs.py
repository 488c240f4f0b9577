"""The ratio to plain decoding where our own work takes as long as the passes, as beside a fast graphics card."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from engine.speculation.decoding.figures import DecodingFigures
from engine.speculation.decoding.reply_costs import ReplyCosts
from engine.speculation.numerics.draft import NO_DRAFT, Draft
from engine.speculation.numerics.draft_length import PassCosts

PASS_S = {1: 0.010, 2: 0.010, 4: 0.012}
PLAIN_OWN_S, DRAFT_OWN_S, STEP_OWN_S, STEP_S = 0.004, 0.006, 0.002, 0.003


def ratio(share_plain: float, num_steps: int, noise: float = 0.0) -> tuple[float, float]:
    """The ratio as it is said and as it is, of the last of some replies."""
    passes, dice = PassCosts(PASS_S), Random(1)
    costs, figures, seconds = ReplyCosts(passes), DecodingFigures(), 0.0
    for _ in range(4):
        costs.end_reply()
        figures, seconds = DecodingFigures(passes=Counter()), 0.0
        for place in range(100):
            is_plain = place < 100 * share_plain
            draft = NO_DRAFT if is_plain else Draft((1, 2, 3), num_steps=num_steps, drafter_s=num_steps * STEP_S)
            num_rows = len(draft.tokens) + 1
            own_s = PLAIN_OWN_S if is_plain else PLAIN_OWN_S + DRAFT_OWN_S + num_steps * STEP_OWN_S
            pass_s = PASS_S[num_rows] * dice.uniform(1 - noise, 1 + noise)
            costs.note(num_rows, pass_s)
            passes.note_own(draft, own_s)
            figures.passes[num_rows] += 1
            figures.num_steps += draft.num_steps
            figures.draft_s += draft.drafter_s
            figures.num_written += 1 if is_plain else 2
            seconds += PASS_S[num_rows] + own_s + draft.drafter_s
    return costs.ratio(figures), figures.num_written * (PASS_S[1] + PLAIN_OWN_S) / seconds


@pytest.mark.parametrize("share_plain", [0.05, 0.5, 1.0])
@pytest.mark.parametrize("num_steps", [0, 3])
def test_own_work_counts_against_drafts_and_for_plain_decoding(share_plain: float, num_steps: int) -> None:
    said, true = ratio(share_plain, num_steps)
    assert said == pytest.approx(true, rel=0.01)
    said, true = ratio(share_plain, num_steps, noise=0.2)
    assert said == pytest.approx(true, rel=0.04)


@pytest.mark.parametrize("num_steps", [0, 3])
def test_before_a_plain_round_was_seen_the_ratio_is_not_above_the_truth(num_steps: int) -> None:
    said, true = ratio(0.0, num_steps)
    assert 0.5 * true < said <= true


def test_plain_decoding_is_said_to_take_what_it_takes_of_ours() -> None:
    passes = PassCosts(PASS_S)
    costs = ReplyCosts(passes)
    for _ in range(30):
        costs.note(1, PASS_S[1])
        passes.note_own(NO_DRAFT, PLAIN_OWN_S)
    assert costs.plain[0] == pytest.approx(1 / (PASS_S[1] + PLAIN_OWN_S))
