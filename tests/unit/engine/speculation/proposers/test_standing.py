"""How a proposer whose guesses take time is doing, and when it is worth asking."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.speculation.proposers.costly import Standing

RATE = 1.0  # tokens per second


def note(standing: Standing, gain: float) -> None:
    """An asking that takes a second."""
    standing.note(1.0 + gain, 1.0, [0.5, 0.5], RATE)


def rounds_of_rest(standing: Standing) -> int:
    rounds = 0
    while standing.is_resting:
        standing.pause()
        rounds += 1
    return rounds


def test_one_that_was_never_asked_is_tried() -> None:
    standing = Standing()
    assert not standing.is_resting
    assert not standing.is_known


def test_what_it_gains_is_what_it_brings_less_what_its_time_would() -> None:
    standing = Standing()
    for _ in range(200):
        standing.note(3.0, 0.5, [0.9, 0.9], RATE)
    assert standing.gain(RATE) == pytest.approx(2.5)
    assert standing.gain(2 * RATE) == pytest.approx(2.0)


def test_nothing_is_concluded_from_the_first_askings() -> None:
    standing = Standing()
    for _ in range(3):
        note(standing, gain=-1.0)
        assert not standing.is_resting
    note(standing, gain=-1.0)
    assert standing.is_resting


def test_one_that_does_not_pay_rests_ever_longer_but_is_always_tried_again() -> None:
    standing = Standing()
    for _ in range(4):
        note(standing, gain=-0.5)
    rests = []
    for _ in range(8):
        rests.append(rounds_of_rest(standing))
        note(standing, gain=-0.5)
    assert rests == [4, 8, 16, 32, 64, 64, 64, 64]


def test_one_that_pays_does_not_rest_for_one_bad_guess() -> None:
    standing = Standing()
    for _ in range(20):
        note(standing, gain=1.0)
    note(standing, gain=-1.0)
    assert not standing.is_resting


def test_while_tries_pay_they_go_on_until_it_pays_on_the_whole() -> None:
    standing = Standing()
    for _ in range(20):
        note(standing, gain=-0.5)
    while standing.is_resting:
        standing.pause()
    tries = 0
    while standing.gain(RATE) < 0.1:
        note(standing, gain=1.0)
        assert not standing.is_resting
        tries += 1
    assert tries < 12
    for _ in range(60):  # and after that it is given as much patience as at first
        if standing.is_resting:
            break
        note(standing, gain=-0.5)
    assert rounds_of_rest(standing) == 4


def test_a_round_without_asking_is_no_rest_where_there_is_none() -> None:
    standing = Standing()
    standing.pause()
    assert not standing.is_resting


@given(st.floats(0, 1))
def test_what_comes_after_the_first_token_is_expected_to_go_on_so(chance: float) -> None:
    standing = Standing()
    for _ in range(300):
        standing.note(1.0, 0.1, [0.01, chance], RATE)
    assert standing.next_chance(0.02) == pytest.approx(chance, abs=0.01)


def test_what_comes_after_a_sure_token_is_learned_apart_from_what_comes_after_a_doubtful_one() -> None:
    standing = Standing()
    for _ in range(300):
        standing.note(1.0, 0.1, [0.95, 0.9], RATE)
        standing.note(1.0, 0.1, [0.2, 0.3], RATE)
    assert standing.next_chance(0.99) == pytest.approx(0.9, abs=0.01)
    assert standing.next_chance(0.1) == pytest.approx(0.3, abs=0.01)
    assert standing.next_chance(0.6) == 0.5, "nothing is known of these"
