"""How likely each token was, against the sums over the whole vocabulary."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.speculation.numerics.likeliest import RowScan, TokenLogs

PIECES = tuple(bytes([65 + token]) for token in range(6))


@given(st.lists(st.floats(-50, 50, width=32), min_size=6, max_size=6), st.integers(0, 5), st.integers(0, 6))
def test_logarithms_are_those_of_the_softmax(logits: list[float], token: int, num_beside: int) -> None:
    row = np.array(logits, np.float32)
    logs = TokenLogs(num_beside, PIECES)
    logs.note(token, RowScan(row))
    expected = row.astype(np.float64) - np.logaddexp.reduce(row.astype(np.float64))
    found = logs.of(0)
    assert found is not None
    assert found.piece == PIECES[token]
    assert found.log == pytest.approx(expected[token], abs=1e-4)
    assert [log for _, log in found.beside] == pytest.approx(sorted(expected, reverse=True)[:num_beside], abs=1e-4)
    assert all(log == pytest.approx(expected[PIECES.index(piece)], abs=1e-4) for piece, log in found.beside)


def test_what_the_target_did_not_choose_has_none() -> None:
    logs = TokenLogs(1, PIECES)
    logs.skip(2)
    logs.note(0, RowScan(np.zeros(6, np.float32)))
    assert logs.of(1) is None
    assert logs.of(2) is not None
    assert logs.of(3) is None
