"""What is expected of models here: enumerated, monotone, and never more than passes allow."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.backend.library.outlook import MeasuredPasses, expect, sound, starter_step
from engine.speculation.numerics.draft_length import PassCosts
from engine.speculation.proposers.selection import Pair
from engine.values.outlook import Outlook

STARTER, LARGE = 98_362_432, 5_198_911_904
FLAT = {1: 0.007, 2: 0.0072, 4: 0.0075, 8: 0.008, 16: 0.0095}  # as on a graphics card
TWO_CORES = {1: 0.0073, 2: 0.0124, 4: 0.0217, 8: 0.0373, 16: 0.0606}  # V(2) of 1.7, as a processor with two cores has
STEEP = {1: 0.007, 2: 0.014, 4: 0.028, 8: 0.056, 16: 0.112}  # every row costs a pass of its own
STEP_S = 0.009


@st.composite
def _costs(draw: st.DrawFn) -> dict[int, float]:
    """Also such as only a machine measures that does something else meanwhile."""
    seconds = [draw(st.floats(1e-4, 1.0))]
    for factor in draw(st.lists(st.floats(0.5, 4.0), min_size=4, max_size=4)):
        seconds.append(seconds[-1] * factor)
    return dict(zip((1, 2, 4, 8, 16), seconds, strict=True))


costs = _costs()
sizes = st.integers(50_000_000, 50_000_000_000)
pairs = st.sampled_from(Pair)


def expected(
    seconds: dict[int, float], read_bytes: int = LARGE, step_s: float = STEP_S, pair: Pair = Pair.SMALL
) -> Outlook:
    found = expect("model", read_bytes, [MeasuredPasses(STARTER, seconds)], step_s, pair)
    assert found is not None
    return found


def test_nothing_is_expected_where_nothing_was_measured() -> None:
    assert expect("model", LARGE, [], STEP_S, Pair.SMALL) is None
    assert starter_step(STARTER, []) == 0


def test_what_was_measured_is_what_is_expected() -> None:
    outlook = expected(FLAT, STARTER)
    assert outlook.plain.middle == pytest.approx(1 / 0.007)
    assert starter_step(STARTER, [MeasuredPasses(STARTER, FLAT)]) == pytest.approx(0.007 + 0.0012)


@pytest.mark.parametrize(
    ("seconds", "new_text", "copies"),
    [
        (FLAT, 2.0, 4.0),  # 0.54 and 0.68 of guesses: 1 + 0.54 / (1 - 0.68) tokens a pass at the very most
        (TWO_CORES, 1.0, 1.3),
        (STEEP, 1.0, 1.0),
    ],
    ids=["flat", "two cores", "steep"],
)
def test_where_rows_are_cheap_much_is_expected_and_where_they_are_dear_little(
    seconds: dict[int, float], new_text: float, copies: float
) -> None:
    outlook = expected(seconds)
    assert outlook.new_text.middle == pytest.approx(new_text, rel=0.15)
    assert outlook.copies.middle == pytest.approx(copies, rel=0.15)


def test_a_drafter_that_does_not_pay_promises_nothing() -> None:
    """With V(2) of 1.7, a guess that is right in half of all cases loses."""
    outlook = expected(TWO_CORES)
    assert outlook.new_text.middle == 1
    assert outlook.new_text.low < 1, "looking whether it pays costs a little"


def test_the_nearest_in_size_counts() -> None:
    measured = [MeasuredPasses(STARTER, STEEP), MeasuredPasses(LARGE * 2, {1: 0.4, 2: 0.41, 8: 0.45})]
    outlook = expect("model", LARGE, measured, STEP_S, Pair.SMALL)
    assert outlook is not None
    assert outlook.plain.middle == pytest.approx(1 / 0.2, rel=0.05)
    assert outlook.copies.middle > 3


def test_what_a_pass_cannot_have_cost_is_not_believed() -> None:
    assert sound({1: 1.0, 2: 3.0, 4: 2.5, 8: 9.0, 16: 8.0}) == {1: 1.0, 2: 2.0, 4: 2.5, 8: 8.0, 16: 8.0}
    assert sound({1: 2.0, 2: 1.0}) == {1: 1.0, 2: 1.0}, "a single token is never dearer than two"


@given(costs, sizes, pairs, st.floats(0.0005, 1.0))
def test_a_range_contains_its_middle(seconds: dict[int, float], size: int, pair: Pair, step_s: float) -> None:
    outlook = expected(seconds, size, step_s, pair)
    for span in (outlook.plain, outlook.new_text, outlook.copies):
        assert 0 < span.low <= span.middle <= span.high
        assert math.isfinite(span.high)


@given(costs, sizes, pairs, st.floats(0.0005, 1.0))
def test_no_more_is_promised_than_passes_allow(seconds: dict[int, float], size: int, pair: Pair, step_s: float) -> None:
    """Not even if every guess was right and cost nothing."""
    outlook = expected(seconds, size, step_s, pair)
    passes = PassCosts(sound(seconds))
    most = max(num * passes.of(1) / passes.of(num) for num in range(1, 17))
    for span in (outlook.new_text, outlook.copies):
        assert span.high <= most * (1 + 1e-9)


@given(costs, sizes, pairs, st.floats(0.0005, 1.0), st.floats(1.0, 4.0))
def test_a_faster_machine_writes_faster(
    seconds: dict[int, float], size: int, pair: Pair, step_s: float, times: float
) -> None:
    """In proportion, where passes and steps take as many times less."""
    slow = expected(seconds, size, step_s, pair)
    fast = expected({num: each / times for num, each in seconds.items()}, size, step_s / times, pair)
    assert fast.plain.middle == pytest.approx(slow.plain.middle * times)
    for one, other in zip(_figures(slow)[3:], _figures(fast)[3:], strict=True):
        assert other == pytest.approx(one, rel=1e-6)


@given(costs, sizes, pairs, st.floats(0.0005, 1.0), st.floats(1.0, 4.0))
def test_dearer_rows_and_steps_never_raise_what_is_expected(
    seconds: dict[int, float], size: int, pair: Pair, step_s: float, times: float
) -> None:
    cheap = expected(seconds, size, step_s, pair)
    dear = {num: each * (1 if num == 1 else times) for num, each in sound(seconds).items()}
    for outlook in (expected(dear, size, step_s, pair), expected(seconds, size, step_s * times, pair)):
        for one, other in zip(_figures(cheap), _figures(outlook), strict=True):
            assert other <= one * (1 + 1e-9)


@given(costs, sizes, st.floats(1.0, 20.0))
def test_a_larger_model_is_slower(seconds: dict[int, float], size: int, times: float) -> None:
    small, large = expected(seconds, size), expected(seconds, int(size * times))
    assert large.plain.middle <= small.plain.middle * (1 + 1e-9)


def _figures(outlook: Outlook) -> list[float]:
    spans = outlook.plain, outlook.new_text, outlook.copies
    return [figure for span in spans for figure in (span.low, span.middle, span.high)]
