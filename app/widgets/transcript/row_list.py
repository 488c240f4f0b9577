"""The rows of the transcript, in order, and what they say together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.widgets.transcript.answers import Siblings
from app.widgets.transcript.growing_row import GrowingRow
from app.widgets.transcript.transcript_rows import NoteRow, PromptRow, ReplyRow
from engine.values.conversations import Message

MessageRow = PromptRow | ReplyRow


class RowList(list[MessageRow | NoteRow | GrowingRow]):
    """The shown rows, the growing reply among them, and whether another is under way."""

    def __init__(self) -> None:
        super().__init__()
        self.growing: GrowingRow | None = None
        self.is_busy = False  # a reply is under way, maybe in another chat

    @property
    def can_act(self) -> bool:
        """True if messages may be written again, edited or deleted."""
        return not self.is_busy and self.growing is None

    @property
    def messages(self) -> tuple[Message, ...]:
        """The finished ones, oldest first."""
        return tuple(message for row in self for message in messages_of(row))

    @property
    def siblings(self) -> Siblings:
        """Ids of all versions of the shown messages."""
        siblings: dict[int, Sequence[int]] = {}
        for row in map(_finished, self):
            if isinstance(row, ReplyRow):
                siblings |= row.siblings
            elif isinstance(row, PromptRow) and row.siblings:
                siblings[row.message.id] = row.siblings
        return siblings

    @property
    def revisions(self) -> Mapping[int, str]:
        """Texts of prompts that the user is editing, by their ids."""
        prompts = (row for row in self if isinstance(row, PromptRow))
        return {row.message.id: row.revision for row in prompts if row.revision is not None}

    def up_to(self, message_id: int) -> Sequence[MessageRow | NoteRow | GrowingRow] | None:
        """The rows up to this message, which may end within an answer; None if it is not there."""
        place = next((place for place, row in enumerate(self) if message_id in row.ids), None)
        if place is None:
            return None
        last = _finished(self[place])
        kept = last.up_to(message_id) if isinstance(last, ReplyRow) else last
        return [*self[:place], *([] if kept is None else [kept])]

    def holder_of(self, message_id: int) -> MessageRow | None:
        """The row of this message."""
        found = next((_finished(row) for row in self if message_id in row.ids), None)
        return None if isinstance(found, NoteRow) else found

    def prompt(self, message_id: int | None) -> PromptRow | None:
        found = (row for row in self if isinstance(row, PromptRow) and row.message.id == message_id)
        return next(found, None)

    def last_message(self) -> MessageRow | GrowingRow | None:
        """The last row that is not a note."""
        return next((row for row in reversed(self) if not isinstance(row, NoteRow)), None)

    def last_reply(self) -> ReplyRow | None:
        last = self.last_message()
        return last if isinstance(last, ReplyRow) else None

    def unfinished(self) -> ReplyRow | None:
        """The answer at the end, if it ends with calls or their results."""
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
    """The finished part of a row."""
    return row.before if isinstance(row, GrowingRow) else row
