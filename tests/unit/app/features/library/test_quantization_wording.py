from __future__ import annotations

from dataclasses import replace

import pytest

from app.features.library.quantization_wording import (
    QuantizationRow,
    advice_words,
    cells,
    checking,
    done_share,
    figures_of,
    needs_words,
    quantization_rows,
    speed_here,
    used_words,
    when_measured,
)
from engine.values.quantizations import Distance, TuneProgress, TuneStep
from tests.unit.app.library_samples import QWEN
from tests.unit.app.quantization_samples import IQ4, OFFERS, ORIGINAL, Q4_0, Q8, REPORT, STARTER_REPORT

FAST_Q8 = replace(Q8, passes=tuple((number, seconds / 2) for number, seconds in ORIGINAL.passes))


def test_passes_are_told_as_multiples_of_one_token() -> None:
    assert speed_here(ORIGINAL) == "9.43 tok/s without speed-up"
    assert checking(ORIGINAL) == "4 tokens at once take 1.6 times as long as one, 8 take 3.0 times"
    assert checking(replace(ORIGINAL, passes=ORIGINAL.passes[:3])) == "4 tokens at once take 1.6 times as long as one"
    assert checking(replace(ORIGINAL, passes=ORIGINAL.passes[:1])) == ""
    assert when_measured(REPORT) == "Measured on 4 March 2026, with 4 threads."


@pytest.mark.parametrize(
    ("equal", "kl", "nearness"),
    [
        (0.98, 0.004, "its words are practically the same (98\u00a0%)."),
        (0.92, 0.046, "its words differ a little: 92\u00a0% are the same."),
        (0.81, 0.17, "its words differ clearly: 81\u00a0% are the same."),
    ],
)
def test_advice_says_what_is_gained_and_how_far_the_words_are(equal: float, kl: float, nearness: str) -> None:
    quantization = replace(Q4_0, distance=Distance(kl, 0.001, equal, 380))
    words = advice_words(replace(REPORT, quantizations=(quantization, Q8)))
    assert words == f"Q4_0 would write 1.32 times as fast, with speed-up 1.32 times; {nearness}"


def test_a_quantization_that_says_the_same_comes_first_and_the_fastest_of_all_after_it() -> None:
    near = replace(FAST_Q8, passes=tuple((number, seconds / 1.1) for number, seconds in ORIGINAL.passes))
    words = advice_words(replace(REPORT, quantizations=(near, Q4_0)))
    assert words.startswith("Q8_0 would write 1.10 times as fast, with speed-up 1.10 times; its words are practically")
    assert "Q4_0 would write 1.32 times" in words


def test_gains_that_come_with_guesses_only_are_told_so() -> None:
    flat = replace(
        Q4_0, passes=tuple((number, 0.106 * share) for number, share in ((1, 1), (2, 1.1), (4, 1.2), (8, 2)))
    )
    assert advice_words(replace(REPORT, quantizations=(flat,))).startswith(
        "Q4_0 would write 1.37 times as fast with speed-up;"
    )
    steep = replace(Q4_0, passes=tuple((n, 0.106 * t) for n, t in ((1, 0.8), (2, 1.4), (4, 2.4), (8, 4.0))))
    words = advice_words(
        replace(REPORT, original=replace(ORIGINAL, passes=ORIGINAL.passes[:1]), quantizations=(steep,))
    )
    assert words.startswith("Q4_0 would write 1.25 times as fast")


def test_where_nothing_is_faster_or_measured_that_is_told_or_nothing() -> None:
    assert advice_words(replace(REPORT, quantizations=(IQ4, Q8))).startswith(
        "No other quantization that was measured is clearly"
    )
    assert advice_words(replace(REPORT, quantizations=())) == ""
    assert advice_words(STARTER_REPORT, used="Q8_0") == ""


def test_speeds_of_a_busy_computer_are_told_to_be_uncertain() -> None:
    busy = replace(Q4_0, pass_error=0.07)
    assert advice_words(replace(REPORT, quantizations=(busy,))).endswith(
        "are uncertain; measure again when it is idle."
    )
    assert "uncertain" not in advice_words(REPORT)


def test_the_starters_quantization_is_told_with_its_gain() -> None:
    assert used_words("", "Q4_1", None) == "The starter model uses its original quantization, Q4_1."
    assert used_words("Q8_0", "", None) == "The starter model uses Q8_0."
    assert used_words("Q8_0", "Q4_1", STARTER_REPORT).startswith(
        "The starter model uses Q8_0: 1.24 times as fast as its original quantization, Q4_1"
    )
    assert figures_of("Q8_0", STARTER_REPORT) == STARTER_REPORT.quantizations[0]
    assert figures_of("", STARTER_REPORT) == STARTER_REPORT.original
    assert figures_of("", None) is None


def test_rows_join_what_is_offered_with_what_was_measured_and_what_is_here() -> None:
    own = QuantizationRow("Q4_K_M", QWEN.size_bytes, ORIGINAL, is_original=True)
    rows = quantization_rows(own, OFFERS, REPORT, [OFFERS[2].path], used="Q8_0")
    assert rows[0] is own
    assert [row.quantization for row in rows if row.figures] == ["Q4_K_M", "Q8_0", "IQ4_NL", "Q4_0"]
    assert [row.quantization for row in rows if row.here] == ["Q6_K"]
    assert [row.quantization for row in rows if row.can_be_ticked] == ["Q8_0", "Q6_K", "Q5_K_M", "IQ4_NL", "Q4_0"]
    assert cells(rows[2], REPORT)[0] == "Q8_0 (in use)"
    assert cells(QuantizationRow("", 0, is_original=True), None)[:2] == ("As it is", "–")
    there = replace(OFFERS[0], problem="qwen2.5-7b-F16.gguf is there already.")
    assert quantization_rows(own, (there,), None, [there.path])[1].can_be_ticked, (
        "what is there can be measured all the same"
    )
    assert not quantization_rows(own, (there,), None, [])[1].can_be_ticked


def test_slow_quantizations_take_longer() -> None:
    own = QuantizationRow("Q4_K_M", QWEN.size_bytes, is_original=True)
    rows = {row.quantization: row for row in quantization_rows(own, OFFERS, None, ())}
    assert needs_words((rows["Q4_0"],), own, None).startswith(
        "Measuring 1 quantization takes about 5 min if the computer is idle"
    )
    assert "up to 4.5 GB of disk space" in needs_words((rows["IQ4_NL"], rows["Q4_0"]), own, None)
    assert "about 33 min" in needs_words((rows["IQ4_NL"],), own, None)


def test_progress_goes_through_all_steps_of_all_quantizations() -> None:
    quantizations = ("Q8_0", "Q4_0")
    order = (TuneStep.MAKING, TuneStep.TIMING, TuneStep.WRITING, TuneStep.COMPARING)
    steps = [
        TuneProgress(quantization, step, progress)
        for quantization in quantizations
        for step in order
        for progress in (0.0, 0.5, 1.0)
    ]
    shares = [done_share(step, quantizations) for step in steps]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert done_share(TuneProgress("Q8_0", TuneStep.TIMING, 1.0), ()) == pytest.approx(0.8)
