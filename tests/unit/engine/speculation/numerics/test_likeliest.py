"""The quick way to the likeliest tokens against the slow plain one, and the notes that it takes of a reply."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.speculation.numerics.likeliest import (
    NUM_NOTED,
    DistributionNotes,
    RowScan,
    TokenLogs,
    divergence,
    divergence_of_likeliest,
    likeliest,
    likeliest_logs,
    log_probabilities,
)
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
