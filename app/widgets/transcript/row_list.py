"""The rows of the transcript, in order, and what they say together."""

from __future__ import annotations

from collections.abc import Sequence

from app.widgets.transcript.answers import Siblings
from app.widgets.transcript.growing_row import GrowingRow
from app.widgets.transcript.transcript_rows import NoteRow, PromptRow, ReplyRow
from engine.values.conversations import Message

MessageRow = PromptRow | ReplyRow


class RowList(list[MessageRow | NoteRow | GrowingRow]):
    @property
    def messages(self) -> tuple[Message, ...]:
        """The finished ones, oldest first."""
        return tuple(message for row in self for message in messages_of(row))

    @property
    def siblings(self) -> Siblings:
        siblings: dict[int, Sequence[int]] = {}
        for row in map(_finished, self):
            if isinstance(row, ReplyRow):
                siblings |= row.siblings
            elif isinstance(row, PromptRow) and row.siblings:
                siblings[row.message.id] = row.siblings
        return siblings

    def up_to(self, message_id: int) -> RowList | None:
        """The rows without what follows this message, also in its answer; None if it is not there."""
        place = next((place for place, row in enumerate(self) if message_id in row.ids), None)
        if place is None:
            return None
        last = _finished(self[place])
        kept = last.up_to(message_id) if isinstance(last, ReplyRow) else last
        return RowList([*self[:place], *([] if kept is None else [kept])])

    def holder_of(self, message_id: int) -> MessageRow | None:
        """What has this message."""
        found = next((_finished(row) for row in self if message_id in row.ids), None)
        return None if isinstance(found, NoteRow) else found

    def prompt(self, message_id: int | None) -> PromptRow | None:
        found = (row for row in self if isinstance(row, PromptRow) and row.message.id == message_id)
        return next(found, None)

    def last_message(self) -> MessageRow | GrowingRow | None:
        """The row at the end, below which there are only notes."""
        return next((row for row in reversed(self) if not isinstance(row, NoteRow)), None)

    def last_reply(self) -> ReplyRow | None:
        last = self.last_message()
        return last if isinstance(last, ReplyRow) else None

    def unfinished(self) -> ReplyRow | None:
        """The answer at the end, where that ends with calls or their results."""
        row = self.last_reply()
        return row if row is not None and row.is_unfinished else None

    def put_in_place(self, row: ReplyRow | GrowingRow, other: ReplyRow | GrowingRow) -> None:
        self[self.index(row)] = other


def messages_of(row: MessageRow | NoteRow | GrowingRow) -> tuple[Message, ...]:
    finished = _finished(row)
    if isinstance(finished, ReplyRow):
        return finished.messages
    return (finished.message,) if isinstance(finished, PromptRow) else ()


def _finished(row: MessageRow | NoteRow | GrowingRow) -> MessageRow | NoteRow | None:
    """What is finished of it."""
    return row.before if isinstance(row, GrowingRow) else row
