from __future__ import annotations

from datetime import datetime

import pytest

from app.text.amounts import count_words, day_words, duration_words, size_words, span_words, time_left_words


@pytest.mark.parametrize(
    ("num_bytes", "words"),
    [
        (0, "0 bytes"),
        (812, "812 bytes"),
        (144_000_000, "144 MB"),
        (4_683_000_000, "4.7 GB"),
        (42_520_000_000, "42.5 GB"),
        (999_960_000, "1.0 GB"),
        (1.2e12, "1.2 TB"),
    ],
)
def test_sizes(num_bytes: float, words: str) -> None:
    assert size_words(num_bytes) == words


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0"), (321, "321"), (1_234_567, "1.2M"), (134_515_008, "135M"), (7_620_000_000, "7.6B"), (70.6e9, "70.6B")],
)
def test_counts(count: float, words: str) -> None:
    assert count_words(count) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (12, "less than a minute left"),
        (200, "about 3 min left"),
        (4800, "about 1 h 20 min left"),
        (7199, "about 2 h 0 min left"),
        (1e6, "more than a day left"),
    ],
)
def test_times(seconds: float, words: str) -> None:
    assert time_left_words(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(12, "less than a minute"), (200, "about 3 min"), (3590, "about 1 h 0 min"), (1e5, "about 27 h 47 min")],
)
def test_durations(seconds: float, words: str) -> None:
    assert duration_words(seconds) == words


def test_days() -> None:
    assert day_words(datetime(2026, 3, 4, 5, 6)) == "4 March 2026"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.21, "0.2 seconds"),
        (1.2, "1 second"),
        (59.4, "59 seconds"),
        (61, "1 minute"),
        (3600, "1 hour"),
        (3900, "1 h 5 min"),
        (40_000, "11 hours"),
    ],
)
def test_durations_are_as_long_as_they_are_sure(seconds: float, words: str) -> None:
    assert span_words(seconds) == words
