"""How far the drafter is from a first result, in plain words and numbers, or what keeps it from one."""

from __future__ import annotations

from dataclasses import dataclass

from app.text.drafters import cannot_learn_words
from app.text.translation import Words
from engine import LearningSettings
from engine.values.learned import LearningProgress

Progress = Words("Progress")


@dataclass(frozen=True, slots=True)
class ProgressView:
    words: str
    hint: str = ""
    share: float | None = None  # of the way; None: there is none to go


def progress_view(
    progress: LearningProgress | None, settings: LearningSettings, has_drafter: bool, can_learn: bool, is_paused: bool
) -> ProgressView | None:
    """The progress of the loaded model; None once there is a result, which says more."""
    if not has_drafter:
        without = Progress.tr(
            "No drafter is in use with this model, so none learns. Earlier text is reused all the same."
        )
        return ProgressView(without, _which_can_learn())
    if not can_learn:
        return ProgressView(cannot_learn_words(), _which_can_learn())
    if progress is None:
        return None
    if not settings.enabled:
        return ProgressView(Progress.tr("Learning is switched off. The page “Learning” switches it on."))
    if is_paused:
        return ProgressView(Progress.tr("Learning is paused."))
    words = Progress.tr(
        "{done} of about {number} replies until a first result.", "", progress.num_replies, done=progress.num_scored
    )
    hint = Progress.tr("Several chats tell more than one long one; incognito chats do not count.")
    return ProgressView(words, f"{_what_helps(progress, settings)} {hint}", progress.num_scored / progress.num_replies)


def _which_can_learn() -> str:
    return Progress.tr(
        "The built-in drafter, the starter and other small models can learn; “Drafter…” in the menu offers them."
    )


def _what_helps(progress: LearningProgress, settings: LearningSettings) -> str:
    if progress.awaits_power:
        return Progress.tr("Learning goes on when the computer is plugged in.")
    if settings.self_distils:
        return Progress.tr(
            "Practice gives the drafter more to learn from: leave Slipstream open tonight and the computer plugged in."
        )
    return Progress.tr(
        "Practice would give the drafter more to learn from: tick “Practise while idle” under “Learning”."
    )
