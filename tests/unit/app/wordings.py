"""Sentences of the window as the app declares them: a test that compares with them holds when their words change."""

from __future__ import annotations

from app.text.speed import hindrance_words, outcome_words, told_why
from engine.values.speed import Hindrance, SpeedOutcome


def normal(hindrance: Hindrance = Hindrance.UNKNOWN) -> str:
    """The headline of a reply at normal speed, with the reason."""
    return told(SpeedOutcome.NORMAL, hindrance)


def told(outcome: SpeedOutcome, hindrance: Hindrance = Hindrance.UNKNOWN) -> str:
    """The headline of a reply without figures."""
    return told_why(outcome_words(outcome), hindrance_words(hindrance))
