"""Figures of quantizations: kept for a target, a build and a number of threads, and read as far as they make sense."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engine.backend.storage import Repository
from engine.values.quantizations import Distance, QuantizationFigures, TuneReport

TARGET, OTHER = "file:" + "7a" * 32, "file:" + "0b" * 32
BUILD = "llama-cpp-python 1.2.3 AVX2"
NOW = datetime(2026, 11, 23, 1, 2, 3, tzinfo=UTC)
ORIGINAL = QuantizationFigures("Q4_1", TARGET, 98_000_000, ((1, 0.008), (2, 0.012), (4, 0.016), (8, 0.032)))
NEAR = Distance(0.004, 0.001, 0.98, 384)
Q8 = QuantizationFigures("Q8_0", OTHER, 145_000_000, ((1, 0.004), (2, 0.006), (4, 0.016), (8, 0.016)), 0.01, NEAR)
Q4 = replace(Q8, quantization="Q4_0", identity="file:x", distance=Distance(0.22, 0.01, 0.81, 384, 64))
REPORT = TuneReport(BUILD, 2, NOW, ORIGINAL, (Q4, Q8))


def test_a_report_is_read_again_after_a_restart(
    repository: Repository, open_repository: Callable[[], Repository]
) -> None:
    assert repository.tune_reports(BUILD) == {}
    repository.save_tune_report(TARGET, REPORT)
    repository.close()
    reopened = open_repository()
    assert reopened.tune_reports(BUILD) == {TARGET: REPORT}
    assert reopened.tune_reports("another build") == {}


def test_other_quantizations_follow_the_target_when_it_is_measured_again(repository: Repository) -> None:
    repository.save_tune_report(TARGET, REPORT)
    twice = replace(ORIGINAL, passes=tuple((n, 2 * seconds) for n, seconds in ORIGINAL.passes))
    later = NOW + timedelta(days=1)
    repository.save_tune_report(TARGET, TuneReport(BUILD, 2, later, twice, ()))
    found = repository.tune_reports(BUILD)[TARGET]
    assert found.original == twice
    assert found.measured_at == later
    assert [each.quantization for each in found.quantizations] == ["Q4_0", "Q8_0"]
    assert dict(found.quantizations[1].passes) == pytest.approx({n: 2 * seconds for n, seconds in Q8.passes})


def test_the_number_of_threads_that_was_measured_last_counts(repository: Repository) -> None:
    repository.save_tune_report(TARGET, replace(REPORT, threads=4, measured_at=NOW + timedelta(hours=1)))
    repository.save_tune_report(TARGET, REPORT)
    assert repository.tune_reports(BUILD)[TARGET].threads == 4


@pytest.mark.parametrize(
    ("quantization", "change", "left"),
    [
        ("Q8_0", "'no json'", ["Q4_0"]),
        ("Q8_0", "x'00ff'", ["Q4_0"]),
        ("Q8_0", "replace(figures, '0.5', '-1')", ["Q4_0"]),
        ("Q8_0", "replace(figures, '[1,0.5]', '[3,0.5]')", ["Q4_0"]),
        ("", "replace(figures, '0.008', '1e300')", None),
    ],
)
def test_damaged_rows_are_left_out(
    repository: Repository, store: Path, quantization: str, change: str, left: list[str] | None
) -> None:
    repository.save_tune_report(TARGET, REPORT)
    with closing(sqlite3.connect(store)) as connection, connection:
        changed = connection.execute(f"UPDATE form_figures SET figures = {change} WHERE form = ?", (quantization,))
        assert changed.rowcount == 1
    found = repository.tune_reports(BUILD).get(TARGET)
    assert (found and [each.quantization for each in found.quantizations]) == left


def test_they_stay_when_everything_is_forgotten(repository: Repository) -> None:
    repository.save_tune_report(TARGET, REPORT)
    repository.forget_everything()
    assert repository.tune_reports(BUILD) == {TARGET: REPORT}
