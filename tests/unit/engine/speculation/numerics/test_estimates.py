"""How likely guesses are accepted, and how fast plain decoding is, estimated from what is seen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.speculation.numerics.estimates import Baseline, Calibration, level_of
from engine.values.draft_policy import KnownChances


def test_before_anything_was_seen_the_chances_are_the_priors() -> None:
    calibration = Calibration([0.1, 0.5, 0.9])
    assert [calibration.chance(kind) for kind in range(3)] == pytest.approx([0.1, 0.5, 0.9])


@pytest.mark.parametrize("share", [0.05, 0.4, 0.95])
def test_the_chance_becomes_the_share_that_was_accepted(share: float) -> None:
    calibration = Calibration([0.5])
    random = np.random.default_rng(0)
    chances = []
    for _ in range(1500):
        chances.append(calibration.chance(0))
        calibration.note(0, bool(random.random() < share))
    assert np.mean(chances[500:]) == pytest.approx(share, abs=0.05)


def test_kinds_are_learned_side_by_side() -> None:
    calibration = Calibration([0.5, 0.5])
    for place in range(400):
        calibration.note(0, place % 10 != 0)
        calibration.note(1, place % 10 == 0)
    assert calibration.chance(0) == pytest.approx(0.9, abs=0.07)
    assert calibration.chance(1) == pytest.approx(0.1, abs=0.07)


def test_a_text_that_turns_hard_is_noticed_for_kinds_that_were_not_tried() -> None:
    calibration = Calibration([0.9, 0.6])
    for place in range(200):
        calibration.note(0, place % 10 != 0)
    for _ in range(12):
        calibration.note(0, accepted=False)
    assert calibration.chance(1) < 0.45


def test_what_does_not_tell_of_the_text_changes_its_own_kind_alone() -> None:
    calibration = Calibration([0.9, 0.6])
    for _ in range(20):
        calibration.note(0, accepted=False, leans=False)
    assert calibration.chance(0) < 0.4
    assert calibration.chance(1) == pytest.approx(0.6)


def test_the_lean_fades_when_the_text_is_as_usual_again() -> None:
    calibration = Calibration([0.6, 0.6])
    for _ in range(12):
        calibration.note(0, accepted=False)
    for place in range(200):
        calibration.note(0, place % 5 < 3)
    assert calibration.chance(1) == pytest.approx(0.6, abs=0.1)


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=200))
def test_no_chance_is_ever_certain(seen: list[tuple[int, bool]]) -> None:
    calibration = Calibration([0.0, 0.5, 1.0])
    for kind, stood in seen:
        calibration.note(kind, stood)
        assert all(0 < calibration.chance(kind) < 1 for kind in range(3))


def test_what_is_seen_is_worth_more_than_what_was_seen_long_ago() -> None:
    calibration = Calibration([0.5])
    for _ in range(1000):
        calibration.note(0, accepted=True)
    for _ in range(100):
        calibration.note(0, accepted=False)
    assert calibration.chance(0) < 0.3


def test_the_first_idea_gives_way_to_what_is_seen() -> None:
    baseline = Baseline(1.0)
    assert (baseline.seconds, baseline.num_seen, baseline.spread) == (1.0, 0, 0.0)
    for _ in range(100):
        baseline.note(0.5)
    assert baseline.seconds == pytest.approx(0.5, rel=0.01)
    assert baseline.num_seen == 100


def test_mean_spread_and_error_are_those_of_the_rounds() -> None:
    baseline = Baseline(0.04)
    random = np.random.default_rng(0)
    for seconds in random.normal(0.04, 0.004, 2000):
        baseline.note(float(seconds))
    assert baseline.seconds == pytest.approx(0.04, rel=0.05)
    assert baseline.spread == pytest.approx(0.1, rel=0.4)
    # The mean remembers some twenty rounds.
    assert baseline.error == pytest.approx(baseline.spread / np.sqrt(20), rel=0.05)


def test_one_hiccup_of_the_machine_changes_little() -> None:
    baseline = Baseline(1.0)
    for _ in range(50):
        baseline.note(1.0)
    baseline.note(1000.0)
    assert baseline.seconds < 1.15


def test_under_other_conditions_what_is_seen_next_counts_most() -> None:
    steady, moved = Baseline(1.0), Baseline(1.0)
    for _ in range(50):
        steady.note(1.0)
        moved.note(1.0)
    moved.move()
    for _ in range(3):
        steady.note(2.0)
        moved.note(2.0)
    assert moved.seconds == pytest.approx(2.0, rel=0.2)
    assert steady.seconds < 1.3
    assert moved.error > steady.error


def test_a_machine_that_became_slower_for_good_is_believed_in_the_end() -> None:
    baseline = Baseline(0.001)
    for _ in range(200):
        baseline.note(1.0)
    assert baseline.seconds == pytest.approx(1.0, rel=0.05)


def test_what_was_known_of_chances_is_taken_over_where_it_fits() -> None:
    earlier, today = Calibration([0.5, 0.2]), Calibration([0.5, 0.2])
    for _ in range(20):
        earlier.note(1, accepted=True)
    today.know(earlier.known[0])
    assert today.chance(1) == pytest.approx(earlier.known[0].accepted[1] / earlier.known[0].tried[1])
    assert today.chance(0) == pytest.approx(0.5)
    for wrong in (
        KnownChances((1.0, 1.0, 1.0), (8.0, 8.0, 8.0)),
        KnownChances((1.0, 9.0), (8.0, 8.0)),
        KnownChances((0.0, 0.0), (8.0, 0.0)),
    ):
        fresh = Calibration([0.5, 0.2])
        fresh.know(wrong)
        assert (fresh.chance(0), fresh.chance(1)) == pytest.approx((0.5, 0.2))
    today = Calibration([0.5, 0.2, 0.7])  # with a kind that was not there
    today.know(earlier.known[0])
    assert (today.chance(1), today.chance(2)) == pytest.approx((earlier.share(1), 0.7))
    today = Calibration([0.5, 0.2, 0.7], fewest_known=3)  # other kinds than those
    today.know(earlier.known[0])
    assert today.chance(1) == pytest.approx(0.2)


def test_each_level_of_temperature_has_chances_of_its_own() -> None:
    assert [level_of(temperature) for temperature in (0, 0.1, 0.5, 0.8, 1.0, 1.5)] == [0, 1, 1, 2, 2, 3]
    calibration = Calibration([0.5])
    for _ in range(40):
        calibration.note(0, accepted=True, leans=False)
    calibration.enter(2)
    assert calibration.chance(0) > 0.8, "what is known at another temperature is where it begins"
    for _ in range(40):
        calibration.note(0, accepted=False, leans=False)
    assert calibration.chance(0) < 0.3
    calibration.enter(0)
    assert calibration.chance(0) > 0.8
    later = Calibration([0.5])
    for level, known in calibration.known.items():
        later.know(known, level)
    assert later.chance(0) > 0.8
    later.enter(2)
    assert later.chance(0) < 0.3
