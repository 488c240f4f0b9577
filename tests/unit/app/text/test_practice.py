from __future__ import annotations

import pytest

from app.text.practice import estimate_words, grant_words, progress_words, time_words
from engine import LearningSettings
from engine.values.learned import PracticeState, expected_gain


@pytest.mark.parametrize(
    ("num_tokens", "speed", "settings", "words"),
    [
        (1000, 100.0, LearningSettings(self_distillation_minutes=60), "about 1 hour of idle time"),
        (1_000_000, 1000.0, LearningSettings(self_distillation_minutes=30), "about 1 hour of idle time"),
        (1_000_000, 25.0, LearningSettings(self_distillation_minutes=30), "about 23 hours of idle time"),
        (1_000_000, 25.0, LearningSettings(), "about 9 days of idle time"),
        (3_000_000, 5.0, LearningSettings(), "about 5 months of idle time"),
        (1_000_000, 25.0, LearningSettings(self_distillation_minutes=30, self_distils_at_night=True), "about 3 nights"),
    ],
)
def test_time_is_that_of_the_limits(num_tokens: int, speed: float, settings: LearningSettings, words: str) -> None:
    assert time_words(num_tokens, speed, settings) == words


def test_what_may_be_granted_says_how_long_the_rest_of_it_takes() -> None:
    settings = LearningSettings()
    assert grant_words(0, settings, PracticeState(0, 25.0)) == "no, only those of my chats"
    assert grant_words(1_000_000, settings, None) == "until 1,000,000 tokens are read"
    assert grant_words(1_000_000, settings, PracticeState(0, None)) == "until 1,000,000 tokens are read"
    left = grant_words(1_000_000, settings, PracticeState(500_000, 25.0))
    assert left == "until 1,000,000 tokens are read (about 5 days of idle time)"
    assert grant_words(1_000_000, settings, PracticeState(1_000_000, 25.0)) == "until 1,000,000 tokens are read"


def test_an_estimate_says_so() -> None:
    assert "Load a model" in estimate_words(None)
    assert "once the model has written a reply" in estimate_words(PracticeState(0, None))
    assert "estimates for this computer (2.5 tokens a second)" in estimate_words(PracticeState(0, 2.5))
    assert "(431 tokens a second)" in estimate_words(PracticeState(0, 431.2))


def test_progress_has_numbers_and_an_expectation_with_its_error() -> None:
    granted = LearningSettings(self_distillation_tokens=1_000_000)
    assert progress_words(LearningSettings(), PracticeState(0, 25.0)) == ""
    assert progress_words(LearningSettings(), PracticeState(7000, 25.0)) == (
        "The drafter has read 7,000 tokens of this model in practice."
    )
    assert progress_words(granted, PracticeState(312_000, 25.0)) == (
        "The drafter has read 312,000 of 1,000,000 tokens of this model. Expected of all of them: "
        "+10 ± 3\u00a0% tokens per pass."
    )
    over = progress_words(granted, PracticeState(1_003_000, 25.0))
    assert "1,000,000 of 1,000,000" in over, "replies that were being written"


def test_the_expected_gain_is_what_was_measured_and_climbs_with_the_logarithm() -> None:
    assert expected_gain(15_000) == pytest.approx((0.035, 0.01))
    assert expected_gain(1_000_000) == pytest.approx((0.1, 0.03))
    assert expected_gain(0) == (0, 0)
    gains = [expected_gain(10**power)[0] for power in range(9)]
    assert gains == sorted(gains)
    assert gains[0] == 0
    assert gains[8] - gains[7] == pytest.approx(gains[7] - gains[6]), "a straight line"
    errors = [expected_gain(10**power)[1] for power in range(9)]
    assert min(errors) >= 0.007
