from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engine.backend.library.suggestions import quantization_speeds
from engine.values.quantizations import QuantizationFigures, TuneReport
from engine.values.targets import HubFile


def report(size_bytes: int, **ms: float) -> TuneReport:
    first, *others = (
        QuantizationFigures(quantization, f"file:{quantization}", size_bytes, ((1, each / 1000),))
        for quantization, each in ms.items()
    )
    return TuneReport("build", 2, datetime.now(UTC), first, tuple(others))


def files(size_bytes: int, *quantizations: str) -> list[HubFile]:
    return [HubFile("a/b", f"{quantization}.gguf", size_bytes, quantization) for quantization in quantizations]


SMALL, LARGE = report(100_000_000, Q4_1=7.0, Q8_0=7.5, Q4_0=5.0), report(2_000_000_000, Q4_K_M=50, Q4_0=60, Q6_K=100)


def test_nothing_is_said_where_nothing_was_measured() -> None:
    assert quantization_speeds([], files(1, "Q4_0", "Q8_0")) == ()
    assert quantization_speeds([report(1, Q4_0=1.0)], files(1, "Q4_0", "Q8_0")) == ()


def test_the_measured_quantizations_of_a_repository_are_ranked() -> None:
    found = quantization_speeds([SMALL], files(100_000_000, "Q8_0", "Q4_0", "Q5_K_M"))
    assert [each.quantization for each in found] == ["Q4_0", "Q8_0"]
    assert [each.speed for each in found] == pytest.approx([1.0, 5.0 / 7.5])


def test_the_model_that_is_nearest_in_size_counts() -> None:
    assert [
        each.quantization
        for each in quantization_speeds([SMALL, LARGE], files(4_000_000_000, "Q4_0", "Q4_K_M", "Q8_0"))
    ] == [
        "Q4_K_M",
        "Q4_0",
    ]
    assert [each.quantization for each in quantization_speeds([SMALL, LARGE], files(60_000_000, "Q4_0", "Q8_0"))] == [
        "Q4_0",
        "Q8_0",
    ]


def test_a_model_that_was_measured_in_one_of_the_quantizations_alone_ranks_nothing() -> None:
    assert quantization_speeds([LARGE], files(1, "Q4_0", "Q8_0")) == ()
    assert [
        each.quantization for each in quantization_speeds([SMALL, LARGE], files(4_000_000_000, "Q4_0", "Q8_0"))
    ] == ["Q4_0", "Q8_0"]
