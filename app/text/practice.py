"""Practice in plain words: what may be granted, how long that takes here, how far it has come, and what it brings."""

from __future__ import annotations

import math

from app.text.amounts import percent_words
from app.text.numbers import decimal
from app.text.translation import Words
from engine import LearningSettings
from engine.values.learned import PracticeState, expected_gain

Practice = Words("Practice")

GRANTS = (0, 100_000, 300_000, 1_000_000, 3_000_000)  # tokens that are offered
_HOUR_S = 3600
_MOST_HOURS = 48  # beyond, days are told
_MOST_DAYS = 60  # beyond, months are


def grant_words(num_tokens: int, settings: LearningSettings, state: PracticeState | None) -> str:
    """What the user may choose, with how long the rest of it takes where that is known."""
    if num_tokens == 0:
        return Practice.tr("no, only those of my chats")
    words = Practice.tr("until {number} token(s) are read", "", num_tokens)
    if state is None or state.tokens_per_s is None or num_tokens <= state.num_read:
        return words
    return f"{words} ({time_words(num_tokens - state.num_read, state.tokens_per_s, settings)})"


def time_words(num_tokens: int, tokens_per_s: float, settings: LearningSettings) -> str:
    """`about 9 days of idle time`."""
    idle_s = num_tokens / tokens_per_s * 60 / settings.self_distillation_minutes
    if settings.self_distils_at_night:
        return Practice.tr("about {number} night(s)", "", math.ceil(idle_s / _HOUR_S / settings.night_hours))
    hours = math.ceil(idle_s / _HOUR_S)
    if hours <= _MOST_HOURS:
        return Practice.tr("about {number} hour(s) of idle time", "", hours)
    days = round(hours / 24)
    if days <= _MOST_DAYS:
        return Practice.tr("about {number} day(s) of idle time", "", days)
    return Practice.tr("about {number} month(s) of idle time", "", round(days / 30))


def estimate_words(state: PracticeState | None) -> str:
    """What is to be known before anything is granted, and where the figures come from."""
    if state is None:
        return Practice.tr("Load a model with a drafter that can learn, to see how long that would take here.")
    if state.tokens_per_s is None:
        return Practice.tr("How long that takes here is known once the model has written a reply.")
    return Practice.tr(
        "Times are estimates for this computer ({speed} tokens a second) and these limits. A graphics card writes a "
        "million tokens in an evening, eight processor cores in weeks.",
        speed=decimal(state.tokens_per_s, 0 if state.tokens_per_s >= 10 else 1),
    )


def progress_words(settings: LearningSettings, state: PracticeState) -> str:
    """How much of what is granted was read, and the gain that is expected of all of it."""
    granted = settings.self_distillation_tokens
    if granted == 0:
        if state.num_read == 0:
            return ""
        return Practice.tr("The drafter has read {number} token(s) of this model in practice.", "", state.num_read)
    gain, error = expected_gain(max(granted, state.num_read))
    return Practice.tr(
        "The drafter has read {read} of {number} token(s) of this model. Expected of all of them: +{gain} ± {error} "
        "tokens per pass.",
        "",
        granted,
        read=min(state.num_read, granted),
        gain=decimal(100 * gain, 0),
        error=percent_words(error),
    )
