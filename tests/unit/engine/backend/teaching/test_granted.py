"""Self-distillation on shipped prompts, as far as the user grants it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.backend.storage import Repository
from engine.backend.teaching import learning_service, self_distillation
from engine.backend.teaching.exercises import shipped_prompts
from engine.speculation.numerics.draft_length import FixedCosts
from engine.values.config import LearningSettings
from engine.values.learned import Lesson, SelfDistilledRead
from tests.unit.engine.backend.teaching.test_self_distillation import PATIENCE_S, VOCABULARY, Home

PAIR = (VOCABULARY.fingerprint, "drafter")
GRANTED = LearningSettings(share=1.0, self_distillation_minutes=60, self_distillation_tokens=3000)
MOST_OVER = 8 * 384  # replies that are being written when the last token that is granted is


@pytest.fixture
def home(repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    monkeypatch.setattr(learning_service, "_LOOK_AGAIN_S", 0.02)
    home = Home(repository, tmp_path)
    home.start()
    yield home
    home.close()


def lessons(home: Home) -> tuple[Lesson, ...]:
    return home.repository.load_self_distilled(VOCABULARY.fingerprint, 10_000)


def read(home: Home) -> SelfDistilledRead:
    return home.repository.self_distilled_read(*PAIR)


def prompts(home: Home) -> list[str]:
    return [lesson.turns[-1].text for lesson in lessons(home)]


def is_through(home: Home) -> bool:
    with home.learning._changed:
        return home.learning._changed.wait_for(lambda: home.learning._self_distillation._is_through, PATIENCE_S)


def test_shipped_prompts_are_answered_after_the_users_own_until_the_drafter_has_read_what_is_granted(
    home: Home,
) -> None:
    home.say("Hi there")
    home.learning.change(GRANTED)
    home.wait()
    assert is_through(home)
    found = prompts(home)
    shipped = [prompt.text for prompt in shipped_prompts()]
    assert found[:4] == ["Hi there"] * 4
    assert set(found[4:]) <= set(shipped[: len(found)])
    assert len(set(found[4:])) == len(found) - 4 > 8, "each once"
    assert 3000 <= read(home).num_tokens < 3000 + MOST_OVER
    assert read(home).num_unread == 0
    before = home.repository.count_exercises(VOCABULARY.fingerprint)
    home.wait()
    assert not home.learning._may_self_distil

    home.learning.change(LearningSettings(share=1.0, self_distillation_minutes=60, self_distillation_tokens=9000))
    home.wait()
    assert is_through(home)
    assert 9000 <= read(home).num_tokens < 9000 + MOST_OVER
    assert not set(prompts(home)[len(found) :]) & set(shipped[:before]), "it goes on where it was"
    home.repository.erase_self_distilled()
    assert read(home).num_tokens >= 9000


def test_nothing_is_granted_at_first(home: Home) -> None:
    home.wait()
    assert not home.learning._may_self_distil, "the target has written no reply yet"
    home.say("Hi there")
    home.wait()
    assert is_through(home)
    assert prompts(home) == ["Hi there"] * 4
    assert home.repository.count_exercises(VOCABULARY.fingerprint) == 0


def test_the_drafter_is_never_far_behind(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(self_distillation, "_MOST_UNREAD", 500)
    unread: list[int] = []
    home.on_pass = lambda: unread.append(read(home).num_unread)
    home.say("Hi there")
    home.learning.change(GRANTED)
    home.wait()
    assert is_through(home)
    assert len(home.opened) > 2
    assert max(unread) < 500 + MOST_OVER
    assert read(home).num_tokens >= 3000


def test_it_waits_for_the_night_and_ends_with_it(home: Home) -> None:
    home.say("Hi there")
    home.learning.change(LearningSettings(share=1.0, self_distillation_tokens=10**6, self_distils_at_night=True))
    num_passes = iter(range(10**6))

    def on_pass() -> None:
        if next(num_passes) == 300:
            home.hour = 7
            home.now_s += 2

    home.on_pass = on_pass
    home.wait()
    assert not home.learning._may_self_distil
    home.hour = 6
    home.wait()
    assert home.hears(False)
    assert home.hour == 7
    assert sum(opened.num_passes for opened in home.opened) <= 302
    home.wait()
    assert not home.learning._may_self_distil


@pytest.mark.parametrize(
    ("begins", "ends", "hours"), [(22, 7, {22, 23, 0, 1, 2, 3, 4, 5, 6}), (9, 11, {9, 10}), (5, 5, set(range(24)))]
)
def test_a_night_may_pass_midnight(begins: int, ends: int, hours: set[int]) -> None:
    settings = LearningSettings(self_distils_at_night=True, night_begins=begins, night_ends=ends)
    assert {hour for hour in range(24) if settings.may_self_distil_at(hour)} == hours
    assert settings.night_hours == len(hours)
    assert all(LearningSettings(night_begins=begins, night_ends=ends).may_self_distil_at(hour) for hour in range(24))
    assert not LearningSettings(self_distils=False).may_self_distil_at(begins)


def test_its_speed_is_that_of_passes_until_it_was_measured(home: Home) -> None:
    assert home.learning.self_distilled_per_s is None
    home.say("Hi there")
    at_hand = home.learning._self_distillation.at_hand
    assert at_hand is not None
    costs = FixedCosts({1: 0.5, 4: 0.5, 5: 1.0, 16: 2.0})
    home.learning.self_distil_with(self_distillation.TargetAtHand(at_hand.target, at_hand.sampling, lambda: costs))
    assert home.learning.self_distilled_per_s == pytest.approx(8)

    def on_pass() -> None:
        home.now_s += 0.25

    home.on_pass = on_pass
    home.learning.change(GRANTED)
    home.wait()
    assert is_through(home)
    seconds = sum(opened.num_passes for opened in home.opened) * 0.25
    assert home.learning.self_distilled_per_s == pytest.approx(read(home).num_tokens / seconds)
