from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.speculation.numerics.likeliest import (
    divergence,
    divergence_of_likeliest,
    likeliest_logs,
    log_probabilities,
)
from engine.values.errors import TargetUnusable

ROWS = st.lists(st.floats(-30, 30, width=32), min_size=4, max_size=4)


def row(*probabilities: float) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.log(np.array(probabilities, np.float32)) + np.float32(3)  # logits have any offset


def test_divergence_is_the_sum_over_the_whole_vocabulary() -> None:
    p, q = (0.5, 0.25, 0.125, 0.125), (0.25, 0.25, 0.25, 0.25)
    expected = sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))
    assert divergence(row(*p), row(*q)) == pytest.approx(expected, abs=1e-6)
    assert divergence(row(*p), row(*p)) == 0


@given(ROWS, ROWS)
def test_what_is_kept_of_a_row_tells_no_more_than_all_of_it(one: list[float], other: list[float]) -> None:
    original, form = np.array(one, np.float32), np.array(other, np.float32)
    whole = divergence(original, form)
    assert divergence_of_likeliest(likeliest_logs(original, 4), form) == pytest.approx(whole, abs=1e-6)
    assert 0 <= divergence_of_likeliest(likeliest_logs(original, 2), form) <= whole + 1e-6


def test_all_but_the_likeliest_tokens_count_as_one() -> None:
    kept = likeliest_logs(row(0.1, 0.6, 0.2, 0.1), 2)
    assert kept.ids.tolist() == [1, 2]
    expected = 0.6 * math.log(0.6 / 0.4) + 0.2 * math.log(0.2 / 0.1) + 0.2 * math.log(0.2 / 0.5)
    assert divergence_of_likeliest(kept, row(0.3, 0.4, 0.1, 0.2)) == pytest.approx(expected, abs=1e-6)


def test_a_row_with_impossible_tokens_has_a_divergence_all_the_same() -> None:
    original = np.array([0.0, 0.0, -np.inf, -np.inf], np.float32)
    assert divergence(original, np.zeros(4, np.float32)) == pytest.approx(math.log(2))


def test_a_row_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(TargetUnusable):
        log_probabilities(np.array([0.0, np.nan], np.float32))
