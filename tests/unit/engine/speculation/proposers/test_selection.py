"""Who is chosen to draft, at given costs of passes and steps and with given records."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from engine.speculation.numerics.draft_length import USUAL_LENGTH, FixedCosts
from engine.speculation.proposers.selection import Applicant, Pair, Selection, expected_speedup, seen_again
from engine.values.drafters import DrafterChoice, DrafterRecord, DrafterRunner, DrafterSource, Guesses

FLAT = FixedCosts({1: 0.1, 16: 0.1})
STEEP = FixedCosts({1: 0.1, 16: 1.6})
TARGET_BYTES = 4_000_000_000

chances = st.floats(0, 1)
seconds = st.floats(0.001, 10)


def source(key: str, size_bytes: int = 0, runner: DrafterRunner = DrafterRunner.LLAMA_CPP) -> DrafterSource:
    return DrafterSource(key, key.capitalize(), runner, Path("nowhere"), size_bytes)


def small(key: str, pair: Pair = Pair.SMALL, size_bytes: int = 0) -> Applicant:
    return Applicant(source(key, size_bytes), pair, 1_000)


def selection(
    *applicants: Applicant,
    steps: dict[str, float],
    passes: FixedCosts = FLAT,
    records: tuple[DrafterRecord, ...] = (),
) -> Selection:
    known = {record.key: record for record in records}
    return Selection(passes, TARGET_BYTES, applicants, known, lambda source: steps.get(source.key))


def chosen(choice: DrafterChoice) -> str:
    return choice.chosen.key if choice.chosen is not None else ""


def seen(key: str, first: float, following: float, num: float = 2000) -> DrafterRecord:
    return DrafterRecord(key, Guesses(num, first * num, num, following * num))


# What a drafter is expected to bring


@given(st.lists(seconds, min_size=16, max_size=16), chances, chances, st.floats(0, 10))
def test_the_expected_speedup_is_that_of_all_outcomes_at_the_best_length(
    costs: list[float], first: float, following: float, step_s: float
) -> None:
    passes = FixedCosts(dict(enumerate(costs, 1)))
    speeds = []
    for length in range(1, USUAL_LENGTH + 1):
        tokens = 0.0
        for num_right in range(length + 1):  # then one is wrong, or there are no more
            chance = first * following ** (num_right - 1) if num_right else 1.0
            if num_right < length:
                chance *= 1 - (following if num_right else first)
            tokens += chance * (num_right + 1)
        speeds.append(tokens / (passes.of(length + 1) + length * step_s))
    assert expected_speedup(passes, first, following, step_s) == pytest.approx(max(speeds) * min(costs))


@given(chances, chances, chances, st.floats(0, 1), st.floats(0, 1))
def test_better_guesses_and_quicker_steps_never_bring_less(
    first: float, better: float, following: float, step_s: float, more_s: float
) -> None:
    assume(better >= first)
    slower = expected_speedup(STEEP, first, following, step_s + more_s)
    assert expected_speedup(STEEP, better, following, step_s) >= slower - 1e-12


# What is known of guesses and steps


@pytest.mark.parametrize("pair", Pair)
def test_of_a_drafter_that_was_never_seen_the_usual_is_expected(pair: Pair) -> None:
    (prospect,) = selection(small("a", pair), steps={"a": 0.001}).choose().prospects
    assert (prospect.chance_first, prospect.chance_next) == pytest.approx(pair.value)
    assert prospect.num_seen == 0
    assert prospect.speedup == pytest.approx(expected_speedup(FLAT, *pair.value, 0.001))


def test_what_was_seen_outweighs_the_usual_after_a_while() -> None:
    steps = {"a": 0.001}
    few = selection(small("a"), steps=steps, records=(seen("a", 0.0, 0.0, 6),)).choose().prospects[0]
    many = selection(small("a"), steps=steps, records=(seen("a", 0.9, 0.2),)).choose().prospects[0]
    usual_first, usual_next = Pair.SMALL.value
    assert 0.85 * usual_first < few.chance_first < usual_first
    assert 0.85 * usual_next < few.chance_next < usual_next
    assert few.num_seen == 12
    assert many.chance_first == pytest.approx(0.9, abs=0.02)
    assert many.chance_next == pytest.approx(0.2, abs=0.02)


def test_given_steps_come_before_measured_ones_and_measured_before_estimated_ones() -> None:
    applicant, record = small("a", size_bytes=TARGET_BYTES // 10), DrafterRecord("a", step_s=0.02)
    given_, measured, estimated = (
        selection(applicant, steps=steps, records=records).choose().prospects[0]
        for steps, records in (({"a": 0.05}, (record,)), ({}, (record,)), ({}, ()))
    )
    assert (given_.step_s, given_.is_measured) == (0.05, True)
    assert (measured.step_s, measured.is_measured) == (0.02, True)
    assert not estimated.is_measured
    assert FLAT.of(1) / 10 < estimated.step_s < FLAT.of(1) / 5, "it reads a tenth of the bytes, a bit more slowly"


def test_a_step_in_torch_is_no_quicker_beside_a_graphics_card_and_slower_on_a_busy_machine() -> None:
    applicant = Applicant(source("t", 140_000_000, DrafterRunner.TORCH), Pair.DISTILLED, 1_000)
    quick, quicker, busy = (
        Selection(FixedCosts({1: pass_s}), TARGET_BYTES, [applicant], {}).choose().prospects[0].step_s
        for pass_s in (0.02, 0.002, 2.0)
    )
    assert quick == quicker == pytest.approx(0.0112)
    assert busy > 5 * quick


@given(st.floats(1, 50), st.lists(st.floats(1, 4), min_size=15, max_size=15))
def test_nobody_is_loaded_for_a_target_of_the_drafters_size_because_the_machine_is_busy(
    slower: float, growth: list[float]
) -> None:
    """The starter and the built-in drafter, passes as measured beside other programs."""
    costs = [0.01 * slower, *(0.0135 * slower * more for more in sorted(growth))]
    applicant = Applicant(source("t", 31_000_000, DrafterRunner.TORCH), Pair.SMALL, 1_000)
    passes = FixedCosts(dict(enumerate(costs, 1)))
    assert Selection(passes, 90_000_000, [applicant], {}).choose().chosen is None


def test_records_grow_and_a_step_that_was_not_measured_leaves_the_one_before() -> None:
    record = seen_again(DrafterRecord("a", Guesses(10, 5, 4, 2), 0.01), Guesses(1, 1, 1, 0), 0.0)
    assert record == DrafterRecord("a", Guesses(11, 6, 5, 2), 0.01)
    assert seen_again(record, Guesses(), 0.02).step_s == 0.02


# The choice


def test_the_one_that_writes_most_tokens_per_second_is_chosen_and_the_others_are_listed_after_it() -> None:
    steps = {"quick": 0.001, "good": 0.01, "slow": 0.03}
    choice = selection(small("slow"), small("quick", Pair.DISTILLED), small("good", Pair.FAMILY), steps=steps).choose()
    assert [each.source.key for each in choice.prospects] == ["good", "quick", "slow"]
    assert [each.speedup for each in choice.prospects] == sorted((p.speedup for p in choice.prospects), reverse=True)
    assert chosen(choice) == "good"
    assert not choice.is_fixed
    assert choice.why.startswith("With Good, this model should write ")
    assert choice.why.endswith("66% of its first guesses are right, and a guess takes 10.0 ms.")


def test_what_is_seen_moves_the_choice() -> None:
    found = selection(small("a"), small("b"), steps={"a": 0.01, "b": 0.012})
    assert chosen(found.choose()) == "a"
    found.note(seen("a", 0.2, 0.2))
    assert chosen(found.choose()) == "b"
    found.note(seen("b", 0.1, 0.1))
    assert chosen(found.choose()) == "a"


@given(first=st.floats(0.2, 0.95), other=st.floats(0.2, 0.95))
def test_a_drafter_in_use_stays_unless_another_is_clearly_better(first: float, other: float) -> None:
    records = (seen("mine", first, 0.5, 1e9), seen("other", other, 0.5, 1e9))
    found = selection(small("mine"), small("other"), steps={"mine": 0.01, "other": 0.01}, records=records)
    gain = expected_speedup(FLAT, other, 0.5, 0.01) / expected_speedup(FLAT, first, 0.5, 0.01)
    assume(not 1.065 < gain < 1.075)
    assert chosen(found.choose("mine")) == ("other" if gain > 1.07 else "mine")


def test_one_that_is_hardly_worth_it_is_not_loaded_but_kept() -> None:
    passes = FixedCosts({1: 0.1, 2: 0.11, 16: 16.0})
    step_s = 0.1 * 1.3 / 1.02 - 0.11
    found = selection(small("a"), steps={"a": step_s}, passes=passes, records=(seen("a", 0.3, 0.3, 1e9),))
    assert found.choose().prospects[0].speedup == pytest.approx(1.02, abs=1e-3)
    assert chosen(found.choose()) == ""
    assert chosen(found.choose("a")) == "a"
    found.note(seen("a", 0.25, 0.25, 1e9))
    assert chosen(found.choose("a")) == "", "below plain decoding it goes"


def test_nobody_drafts_where_nothing_pays() -> None:
    choice = selection(small("a", Pair.DISTILLED), small("b"), steps={"a": 0.01, "b": 0.02}, passes=STEEP).choose()
    assert choice.chosen is None
    assert len(choice.prospects) == 2
    assert choice.why.startswith(
        "No drafter pays for this model on this computer, so none is loaded. With the best one, "
    )
    assert choice.label == "no drafter"


def test_where_eight_of_ten_right_guesses_would_not_pay_nobody_drafts_however_well_it_went() -> None:
    step_s = 0.09  # a pass takes 0.1 s, so that guesses that are always right pay just
    found = selection(small("a"), steps={"a": step_s}, records=(seen("a", 1.0, 1.0, 1e9),))
    assert found.choose().prospects[0].speedup > 1.05
    assert expected_speedup(FLAT, 0.8, 0.8, step_s) < 1
    assert chosen(found.choose()) == chosen(found.choose("a")) == ""


def test_those_that_are_ruled_out_are_not_considered_any_more() -> None:
    found = selection(small("a"), small("b"), steps={"a": 0.01, "b": 0.02})
    found.rule_out("a")
    choice = found.choose("a")
    assert chosen(choice) == "b"
    assert [each.source.key for each in choice.prospects] == ["b"]
    found.rule_out("b")
    assert found.choose() == DrafterChoice(None, "There is no drafter for this model.")


@given(
    st.lists(st.tuples(chances, chances, st.floats(0.0001, 1)), min_size=1, max_size=5),
    st.lists(seconds, min_size=16, max_size=16),
)
def test_whoever_is_chosen_is_expected_to_be_quicker_than_plain_decoding_and_than_all_others(
    drafters: list[tuple[float, float, float]], costs: list[float]
) -> None:
    keys = [str(number) for number in range(len(drafters))]
    records = tuple(seen(key, first, later) for key, (first, later, _) in zip(keys, drafters, strict=True))
    steps = {key: step_s for key, (_, _, step_s) in zip(keys, drafters, strict=True)}
    passes = FixedCosts(dict(enumerate(costs, 1)))
    choice = selection(*map(small, keys), steps=steps, passes=passes, records=records).choose()
    best = max(choice.prospects, key=lambda each: each.speedup)
    if choice.chosen is None:
        assert best.speedup < 1.05 or expected_speedup(passes, 0.8, 0.8, best.step_s) <= 1
    else:
        assert choice.chosen == best.source
        assert best.speedup >= 1.05


def test_a_step_that_was_slow_at_an_earlier_start_does_not_keep_a_drafter_away_for_ever() -> None:
    """As where another program kept the machine busy then: only a loaded drafter is measured again."""
    applicant = small("a", Pair.FAMILY, TARGET_BYTES // 10)
    slow = DrafterRecord("a", Guesses(), 2.0)
    kept = Selection(FLAT, TARGET_BYTES, [applicant], {"a": slow})
    assert chosen(kept.choose()) == "a"
    assert kept.choose().prospects[0].is_measured
    kept.note(slow)  # now it was measured
    assert chosen(kept.choose("a")) == ""
