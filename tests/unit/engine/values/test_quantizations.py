"""What is concluded from measurements of quantizations."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engine.values.quantizations import Distance, QuantizationAdvice, QuantizationFigures, TuneReport

NEAR, FAR = Distance(0.004, 0.001, 0.98, 500), Distance(0.05, 0.002, 0.92, 500)
BARELY_FAR = Distance(0.0095, 0.001, 0.97, 500)


def figures(quantization: str, distance: Distance | None, *ms: float, error: float = 0.0) -> QuantizationFigures:
    passes = tuple((n, each / 1000) for n, each in zip((1, 2, 4, 8), ms, strict=False))
    return QuantizationFigures(quantization, f"file:{quantization}", 1000, passes, error, distance)


def report(*quantizations: QuantizationFigures) -> TuneReport:
    return TuneReport(
        "build", 2, datetime(2026, 11, 23, tzinfo=UTC), figures("Q4_1", None, 7, 10, 14, 23), quantizations
    )


def test_the_speed_with_drafts_is_that_of_the_length_that_pays_best() -> None:
    quantization = figures("Q8_0", NEAR, 10, 15, 30, 60)
    assert quantization.plain_tokens_per_s == pytest.approx(100)
    assert quantization.drafting_tokens_per_s == pytest.approx(1.6 / 0.015)
    assert figures("Q8_0", NEAR, 10, 20, 40, 80).drafting_tokens_per_s == pytest.approx(100), "or none"


def test_a_quantization_that_is_near_is_preferred_to_a_faster_one_that_is_not() -> None:
    found = report(figures("Q4_0", FAR, 4.8, 6, 9, 15), figures("Q8_0", NEAR, 6.5, 9, 13, 20))
    assert found.advice.quantization == "Q8_0"
    assert found.advice.is_free
    assert [each.quantization for each in found.faster] == ["Q4_0", "Q8_0"]
    assert found.faster[0].speed == pytest.approx(7 / 4.8)


def test_a_faster_quantization_that_is_not_near_is_advised_and_not_free() -> None:
    assert not report(figures("Q4_0", FAR, 4.8, 6, 9, 15)).advice.is_free
    assert not report(figures("Q6_K", BARELY_FAR, 4.8, 6, 9, 15)).advice.is_free, "within the bound by luck, perhaps"


@pytest.mark.parametrize(
    "quantization",
    [
        figures("Q8_0", NEAR, 6.9, 9.9, 13.9, 22.9),  # by less than counts
        figures("Q8_0", NEAR, 6.7, 20, 40, 80),  # in plain writing alone, and slower with drafts
        figures("Q8_0", NEAR, 9.0, 9, 10, 12),  # with drafts alone, and slower without
        figures("Q8_0", NEAR, 6.5, 9, 13, 20, error=0.06),  # by no more than the noise
    ],
)
def test_a_quantization_that_is_not_clearly_faster_is_not_advised(quantization: QuantizationFigures) -> None:
    assert report(quantization).advice == QuantizationAdvice("", 1.0, 1.0, is_free=True)


def test_a_quantization_that_is_faster_with_drafts_and_as_fast_without_is_advised() -> None:
    assert report(figures("Q8_0", NEAR, 7, 9, 12, 16)).advice.quantization == "Q8_0"
