"""What somebody has learned, made up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from app.text.learned import ModelInUse
from engine.values.learned import (
    AdapterSummary,
    Benefit,
    ComparedReply,
    LearnedSummary,
    PairBenefit,
    RecallSize,
    ScoredReplies,
    TargetStatistics,
)
from engine.values.replies import TextKind

WHEN = datetime(2026, 3, 3, 12, tzinfo=UTC)
IN_USE = ("v0", "d")  # the pair that is loaded
TINY = ModelInUse("Tiny", "v0", IN_USE)
NOTHING = LearnedSummary({}, {}, {}, {}, {}, ())


def adapters(num: int, used: int | None, first: int = 1) -> tuple[AdapterSummary, ...]:
    """Newest first; `used` is the number of the one in use."""
    return tuple(
        AdapterSummary(
            number,
            WHEN + timedelta(days=number),
            0.98,
            1 + number / 10,
            24,
            40 * number,
            number == used,
            ordinal=number - first + 1,
        )
        for number in reversed(range(first, first + num))
    )


def learned(num_models: int = 1, num_adapters: int = 2, used: int | None = 2) -> LearnedSummary:
    vocabularies = [f"v{place}" for place in range(num_models)]
    return LearnedSummary(
        ngrams={(each, "t"): 1234 for each in vocabularies},
        adapters={(each, "d"): adapters(num_adapters, used) for each in vocabularies if num_adapters},
        recall={each: RecallSize(300, 64_000, num_chats=41) for each in vocabularies},
        lessons=dict.fromkeys(vocabularies, 212),
        target_names={each: (f"Model {each}",) for each in vocabularies},
        statistics=(TargetStatistics("Tiny", 3, 400, 5.0, 1.5, 1.4),),
        num_bytes=dict.fromkeys(vocabularies, 24_300_000),
        since=dict.fromkeys(vocabularies, WHEN),
        used_here=frozenset(vocabularies),
    )


def benefit(gain: float = 0.12, error: float | None = 0.02, num_replies: int = 183) -> PairBenefit:
    """Of prose mostly, and of too few chats with code."""
    recent = Benefit(2.0, 2 * (1 + gain), error, min(50, num_replies))
    kinds = {TextKind.PROSE: Benefit(1.8, 1.89, error, num_replies - 9), TextKind.CODE: Benefit(2.5, 2.9, None, 9)}
    return PairBenefit(Benefit(2.0, 2.1, error, num_replies), recent, kinds)


def compared(num: int) -> tuple[ComparedReply, ...]:
    """Of a chat each, latest first."""
    return tuple(
        ComparedReply(f"Chat {chat}", WHEN, ScoredReplies(chat, 1, 100, 50.0, 40.0)) for chat in range(num, 0, -1)
    )
