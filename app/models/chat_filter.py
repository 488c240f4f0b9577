"""Which chats the sidebar shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from engine.messages.conversations import ConversationSummary


@dataclass(frozen=True, slots=True)
class ChatFilter:
    """All that is set must be so."""

    target_name: str = ""  # wrote the latest reply; empty: whoever did
    num_days: int | None = None  # used in the last days, today included
    first_day: date | None = None  # used then or later
    last_day: date | None = None  # used then or earlier
    is_archived: bool = False  # those in the archive, instead of the others

    @property
    def is_on(self) -> bool:
        """Whether anything but the archive is left out."""
        return self != ChatFilter()

    def taking(self, today: date, anywhere: bool = False) -> Callable[[ConversationSummary], bool]:
        """Says of a chat whether it is shown; `anywhere`: in the archive and out of it."""
        first, last = self.first_day, self.last_day
        if self.num_days is not None:
            first = today - timedelta(days=self.num_days - 1)
        begin = float("-inf") if first is None else begin_of(first)
        end = float("inf") if last is None else begin_of(last + timedelta(days=1))
        target_name, is_archived = self.target_name, self.is_archived
        is_any_time = first is None and last is None

        def takes(summary: ConversationSummary) -> bool:
            return (
                (anywhere or summary.is_archived == is_archived)
                and (not target_name or summary.target_name == target_name)
                and (is_any_time or begin <= summary.updated_at.timestamp() < end)
            )

        return takes


def begin_of(day: date) -> float:
    """As seconds since 1970, here."""
    return datetime.combine(day, time.min).timestamp()
