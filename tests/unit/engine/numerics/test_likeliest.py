"""The quick way to the likeliest tokens against the slow plain one."""

from __future__ import annotations

import numpy as np
import pytest

from engine.numerics.likeliest import likeliest


@pytest.mark.parametrize("size", [24, 300, 1_563, 1_600, 49_152])
def test_it_is_what_sorting_the_whole_row_gives(size: int) -> None:
    logits = np.random.default_rng(size).normal(scale=4, size=size).astype(np.float32)
    tokens, logs = likeliest(logits, 24)
    exact = logits.astype(np.float64)
    exact -= exact.max() + np.log(np.exp(exact - exact.max()).sum())
    assert tokens.tolist() == np.argsort(-exact, kind="stable")[:24].tolist()
    assert (tokens.dtype.name, logs.dtype.name) == ("int32", "float16")
    np.testing.assert_allclose(logs, exact[tokens], rtol=1e-3, atol=1e-5)


def test_of_equal_ones_the_lowest_come_first_as_argmax_has_it() -> None:
    logits = np.zeros(10_000, np.float32)
    logits[[77, 9_000]] = 3
    assert likeliest(logits, 5)[0].tolist() == [77, 9_000, 0, 1, 2]
    assert logits.argmax() == 77


def test_large_logits_do_not_overflow() -> None:
    logits = np.full(5_000, -np.inf, np.float32)
    logits[[3, 4]] = 30_000
    tokens, logs = likeliest(logits, 2)
    assert tokens.tolist() == [3, 4]
    np.testing.assert_allclose(logs, np.log(0.5), rtol=1e-3)
