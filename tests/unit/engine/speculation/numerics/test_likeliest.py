"""The quick way to the likeliest tokens against the slow plain one, and the notes that it takes of a reply."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.speculation.numerics.likeliest import NUM_NOTED, DistributionNotes, RowScan, likeliest
from engine.speculation.numerics.sampling import distribution_of
from engine.values.config import SamplingSettings
from engine.values.errors import TargetUnusable


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


@given(
    size=st.integers(1, 700),
    count=st.integers(1, 20),
    num_different=st.integers(1, 30),
    masked=st.sampled_from([0.0, 0.5, 0.99]),
    seed=st.integers(0, 1000),
)
def test_a_scan_finds_the_same_as_sorting_whatever_is_asked_first(
    size: int, count: int, num_different: int, masked: float, seed: int
) -> None:
    random = np.random.default_rng(seed)
    logits = random.integers(0, num_different, size).astype(np.float32)  # many are equal
    logits[random.random(size) < masked] = -np.inf
    logits[random.integers(size)] = 40
    order = np.argsort(-logits, kind="stable")
    for at_least in (0, 16):
        for asked in ((count,), (1, count), (count, 1)):
            scan = RowScan(logits, at_least)
            for number in asked:
                ids, values = scan.largest(number)
                assert ids.tolist() == order[:number].tolist()
                assert values.tolist() == logits[ids].tolist()
            assert scan.best()[0] == order[0]


@pytest.mark.parametrize("place", [7, 9_990])
def test_no_number_is_refused_wherever_it_stands(place: int) -> None:
    logits = np.ones(10_000, np.float32)
    logits[place] = np.nan
    for scan in (RowScan(logits), RowScan(logits, 16)):
        with pytest.raises(TargetUnusable):
            scan.best()
        with pytest.raises(TargetUnusable):
            scan.largest(5)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_what_two_want_to_know_of_a_row_is_read_once(temperature: float) -> None:
    row = np.random.default_rng(0).standard_normal(5000).astype(np.float32)
    expected = np.argsort(-row)[:NUM_NOTED]
    scan, notes = RowScan(row, NUM_NOTED), DistributionNotes()
    distribution = distribution_of(scan, SamplingSettings(temperature=temperature), ())
    row[:] = 0
    notes.note(3, scan)
    reply = notes.first(1)
    assert reply is not None
    assert reply.top_tokens[0].tolist() == expected.tolist()
    assert distribution.ids[0] == expected[0]


def test_large_logits_do_not_overflow() -> None:
    logits = np.full(5_000, -np.inf, np.float32)
    logits[[3, 4]] = 30_000
    tokens, logs = likeliest(logits, 2)
    assert tokens.tolist() == [3, 4]
    np.testing.assert_allclose(logs, np.log(0.5), rtol=1e-3)


def test_tokens_and_distributions_come_back_in_order_as_many_as_are_wanted() -> None:
    rows = np.random.default_rng(0).standard_normal((3, 5000)).astype(np.float32) * 3
    notes = DistributionNotes()
    for token, row in enumerate(rows):
        notes.note(token, RowScan(row))
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
    notes.note(3, RowScan(np.array([-np.inf, 2.0, -np.inf, 2.0], np.float32)))
    reply = notes.first(9)
    assert reply is not None
    assert np.exp(reply.top_logs[0].astype(float)).tolist() == pytest.approx([0.5, 0.5, 0.0, 0.0], abs=1e-3)


def test_nothing_written_is_nothing_to_learn_from() -> None:
    assert DistributionNotes().first(5) is None
