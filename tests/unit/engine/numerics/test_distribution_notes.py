"""What a target thought, noted while it writes."""

from __future__ import annotations

import numpy as np
import pytest

from engine.numerics.likeliest import DistributionNotes


def test_tokens_and_distributions_come_back_in_order_as_many_as_are_wanted() -> None:
    rows = np.random.default_rng(0).standard_normal((3, 5000)).astype(np.float32) * 3
    notes = DistributionNotes()
    for token, row in enumerate(rows):
        notes.note(token, row)
        row[:] = 0  # the next pass writes there
    reply = notes.first(2)
    assert reply is not None
    assert reply.tokens.tolist() == [0, 1]
    assert reply.top_tokens.shape == reply.top_logs.shape == (2, 16)
    rows = np.random.default_rng(0).standard_normal((3, 5000)).astype(np.float32) * 3
    for place in range(2):
        likeliest = np.argsort(-rows[place])[:16]
        assert reply.top_tokens[place].tolist() == likeliest.tolist()
        weights = np.exp(rows[place][likeliest])
        assert np.exp(reply.top_logs[place].astype(float)) == pytest.approx(weights / weights.sum(), abs=2e-3)


def test_what_cannot_be_at_all_has_no_share() -> None:
    notes = DistributionNotes()
    notes.note(3, np.array([-np.inf, 2.0, -np.inf, 2.0], np.float32))
    reply = notes.first(9)
    assert reply is not None
    assert np.exp(reply.top_logs[0].astype(float)).tolist() == pytest.approx([0.5, 0.5, 0.0, 0.0], abs=1e-3)


def test_nothing_written_is_nothing_to_learn_from() -> None:
    assert DistributionNotes().first(5) is None
