"""Histories to show."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

from engine.values.history import AdapterNote, History, LearningDay, Portion, Tally
from engine.values.replies import ProposerCounts, TextKind

TODAY = datetime.now().astimezone().date()


def tally(ratio: float = 1.5, num_replies: int = 2, seconds: float = 60.0, compared: bool = True) -> Tally:
    """Replies of 100 tokens, all alike but for two per cent of their ratio."""
    return Tally(
        num_replies=num_replies,
        num_tokens=100 * num_replies,
        num_timed=100 * num_replies,
        seconds=seconds,
        num_rounds=60 * num_replies,
        num_in_rounds=100 * num_replies,
        num_drafted=80 * num_replies,
        num_accepted=40 * num_replies,
        parted_s=seconds,
        draft_s=0.1 * seconds,
        check_s=0.85 * seconds,
        proposers=(
            ProposerCounts("drafter", 50 * num_replies, 60 * num_replies, 30 * num_replies),
            ProposerCounts("recall", 10 * num_replies, 20 * num_replies, 10 * num_replies),
        ),
        saved_s=(ratio - 1) * seconds if compared else 0.0,
        ratios=tuple(ratio * (0.98 + 0.04 * (number % 2)) for number in range(num_replies if compared else 0)),
    )


def portion(
    day: date,
    number: int = 1,
    target: str = "Tiny",
    kind: TextKind = TextKind.PROSE,
    figures: Tally | None = None,
) -> Portion:
    noon = datetime.combine(day, time(12), UTC)
    return Portion(number, noon, day, target, kind, tally() if figures is None else figures)


def ago(num_days: int) -> date:
    return TODAY - timedelta(days=num_days)


def note(number: int = 1, day: date | None = None, targets: tuple[str, ...] = ("Tiny",)) -> AdapterNote:
    noon = datetime.combine(day or ago(3), time(12), UTC)
    return AdapterNote(number, noon, 0.9, 1.15, 40, is_published=True, target_names=targets)


def history() -> History:
    """Four days, two targets, two kinds."""
    portions = (
        portion(ago(30), 1, figures=tally(1.1)),
        portion(ago(3), 2, kind=TextKind.CODE, figures=tally(1.8)),
        portion(ago(2), 3, "Big", figures=tally(0.9)),
        portion(ago(0), 4, figures=tally(1.5)),
    )
    return History(
        days=portions,
        chats=portions,
        adapters=(note(),),
        learning=(LearningDay(ago(30), 90.0),),
        num_ngrams=1200,
        num_recall_texts=3,
        num_recall_tokens=4567,
    )
