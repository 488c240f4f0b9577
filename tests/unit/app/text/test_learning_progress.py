from __future__ import annotations

from dataclasses import replace

import pytest

from app.text.learning_progress import ProgressView, progress_view
from engine import LearningSettings
from engine.values.learned import LearningProgress

LEARNS = LearningSettings()
BEGUN = LearningProgress(12, 24)


def view(
    progress: LearningProgress | None = BEGUN,
    settings: LearningSettings = LEARNS,
    has_drafter: bool = True,
    can_learn: bool = True,
    is_paused: bool = False,
) -> ProgressView:
    shown = progress_view(progress, settings, has_drafter, can_learn, is_paused)
    assert shown is not None
    return shown


def test_progress_is_told_from_the_first_reply_on_with_what_helps() -> None:
    assert view().words == "12 of about 36 replies until a first result."
    assert view().share == pytest.approx(1 / 3)
    assert view(LearningProgress(0, 36)).words == "0 of about 36 replies until a first result."
    assert view(LearningProgress(0, 0)).share == 0
    assert "leave Slipstream open tonight and the computer plugged in" in view().hint
    assert "Several chats tell more than one long one; incognito chats do not count." in view().hint
    assert "tick “Practise while idle”" in view(settings=replace(LEARNS, self_distils=False)).hint
    assert view(replace(BEGUN, awaits_power=True)).hint.startswith("Learning goes on when the computer is plugged in.")


def test_what_keeps_a_drafter_from_learning_is_told_instead() -> None:
    off = view(settings=replace(LEARNS, enabled=False))
    assert off.words.startswith("Learning is switched off.")
    assert view(is_paused=True).words == "Learning is paused."
    nobody, untaught = view(None, has_drafter=False), view(None, can_learn=False)
    assert nobody.words.startswith("No drafter is in use with this model")
    assert untaught.words.startswith("The drafter in use cannot learn from your chats")
    for each in (nobody, untaught):
        assert each.hint.startswith("The built-in drafter, the starter and other small models can learn")
    assert {each.share for each in (off, nobody, untaught)} == {None}


def test_a_result_says_more_than_progress() -> None:
    assert progress_view(None, LEARNS, has_drafter=True, can_learn=True, is_paused=False) is None
