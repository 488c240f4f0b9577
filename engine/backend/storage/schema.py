"""The tables, and what each of them holds.

A conversation is a tree of messages (`parent_id`); `head_message_id` names the leaf of its current branch. These
classes only describe: the repository reads plain rows and returns the records of `engine/values`.

Every class declares what its table holds. All code that empties tables (forgetting, replacing by a profile, in the
store and in its copies) or measures them reads this declaration, and incognito chats have the same tables in memory: a
new table is a class here and a migration, see `migrations/__init__.py`.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import ClassVar

from sqlalchemy import Enum, ForeignKey, Index, MetaData, Text, UniqueConstraint, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from engine.backend.storage import columns
from engine.backend.storage.columns import Calls, Heads, LongText
from engine.values.conversations import Role
from engine.values.replies import OriginRun, StopReason, TextKind, Thought
from engine.values.speed import Hindrance
from engine.values.tools import ToolResult


def _words(kind: type[StrEnum]) -> Enum:
    """Stored as the member's value. The fixed length allows new members without a migration."""
    return Enum(kind, native_enum=False, length=16, values_callable=lambda members: [each.value for each in members])


class Holds(StrEnum):
    """What the rows of a table belong to, which decides what removes them."""

    CHATS = "chats"  # removed with their conversation, by cascade
    ORDER = "order"  # folders, presets, prompts, allowed tools; removed when everything is forgotten
    LEARNED = "learned"  # removed by forgetting what was learned
    LIBRARY = "library"  # stays when everything is forgotten
    ERASURES = "erasures"  # removed when the files are erased


class Base(DeclarativeBase):
    """Every table's class declares as class arguments:

    table: its name.
    holds: what its rows belong to.
    in_profile: whether a profile carries its rows, and can be imported in place of those that are here.
    num_bytes: about how much room a row takes, in SQL; counted for the target's vocabulary that the row refers to.
    keeps_ids: an id is never used again, so that a stale one cannot address another row.
    in_key_order: rows lie in the tree of their key: half the size of a table with an index, and what belongs together
        lies together.
    """

    holds: ClassVar[Holds]
    in_profile: ClassVar[bool]
    num_bytes: ClassVar[str | None]

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_name)s",
            "uq": "uq_%(table_name)s_%(column_0_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {  # noqa: RUF012 (SQLAlchemy's own protocol)
        str: Text(),
        datetime: columns.UtcDateTime(),
        Path: columns.FilePath(),
        Role: _words(Role),
        StopReason: _words(StopReason),
        TextKind: _words(TextKind),
        Hindrance: _words(Hindrance),
        tuple[OriginRun, ...]: columns.OriginRuns(),
        tuple[Thought, ...]: columns.Thoughts(),
        Calls: columns.ToolCalls(),
        ToolResult: columns.ToolResults(),
        Heads: columns.MessageIds(),
    }

    def __init_subclass__(
        cls,
        *,
        table: str,
        holds: Holds,
        in_profile: bool = False,
        num_bytes: str | None = None,
        keeps_ids: bool = False,
        in_key_order: bool = False,
    ) -> None:
        cls.__tablename__ = table
        cls.holds, cls.in_profile, cls.num_bytes = holds, in_profile, num_bytes
        own = cls.__dict__.get("__table_args__", ())
        cls.__table_args__ = (*own, {"sqlite_autoincrement": keeps_ids, "sqlite_with_rowid": not in_key_order})
        super().__init_subclass__()


def rows_holding(*kinds: Holds) -> list[type[Base]]:
    """The classes of the tables that hold these, in an order in which the tables can be emptied."""
    rows: dict[str, type[Base]] = {mapper.class_.__tablename__: mapper.class_ for mapper in Base.registry.mappers}
    ordered = (rows[table.name] for table in reversed(Base.metadata.sorted_tables))
    return [row for row in ordered if row.holds in kinds]


_LESSON_BYTES = "length(tokens) + length(law_tokens) + length(law_logs) + length(system_prompt)"


class PresetRow(Base, table="presets", holds=Holds.ORDER, keeps_ids=True):
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    system_prompt: Mapped[str | None]  # None: a chat keeps its own
    sampling: Mapped[str | None]  # as in `ConversationRow`
    thinks: Mapped[bool | None]  # whether the model is to think before it answers
    target_name: Mapped[str] = mapped_column(server_default=text("''"))  # empty: whatever model is in use
    target_identity: Mapped[str] = mapped_column(server_default=text("''"))


class LibraryPromptRow(Base, table="prompts", holds=Holds.ORDER, keeps_ids=True):
    """A prompt of the user's library."""

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    text: Mapped[str]


class FolderRow(Base, table="folders", holds=Holds.ORDER, keeps_ids=True):
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    # What chats that begin in it begin with.
    system_prompt: Mapped[str | None]
    preset_id: Mapped[int | None] = mapped_column(ForeignKey("presets.id", ondelete="SET NULL"))
    target_name: Mapped[str] = mapped_column(server_default=text("''"))  # empty: whatever model is in use
    target_identity: Mapped[str] = mapped_column(server_default=text("''"))


class ConversationRow(Base, table="conversations", holds=Holds.CHATS, keeps_ids=True):
    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str]
    system_prompt: Mapped[str]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime] = mapped_column(index=True)
    deleted_at: Mapped[datetime | None]  # hidden since then, waiting for restore or purge
    head_message_id: Mapped[int | None]  # no foreign key: it would close a circle between the two tables
    sampling: Mapped[str | None]  # what the user set for this conversation, as JSON
    draft: Mapped[str] = mapped_column(server_default=text("''"))  # a prompt that is not sent yet
    left_heads: Mapped[Heads] = mapped_column(server_default=text("'[]'"))  # leaves of branches, see branch.py
    folder_id: Mapped[int | None] = mapped_column(index=True)  # no foreign key: SQLite adds none to a table that exists
    pinned_at: Mapped[datetime | None]
    archived_at: Mapped[datetime | None]


class MessageRow(Base, table="messages", holds=Holds.CHATS, keeps_ids=True):
    id: Mapped[int] = mapped_column(primary_key=True)
    conversation_id: Mapped[int] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"), index=True)
    # No cascade here: along a long branch it would exceed SQLite's depth of 1,000 triggers.
    parent_id: Mapped[int | None] = mapped_column(ForeignKey("messages.id"), index=True)
    role: Mapped[Role]
    text: Mapped[str] = mapped_column(LongText)
    created_at: Mapped[datetime]
    target_name: Mapped[str | None]
    target_identity: Mapped[str | None]  # None: not known, as in replies from before and in imported chats
    thoughts: Mapped[tuple[Thought, ...]] = mapped_column(server_default="[]")
    calls: Mapped[Calls] = mapped_column(server_default="[]")
    result: Mapped[ToolResult | None]  # of a message of `Role.TOOL`


class ReplyStatisticsRow(Base, table="reply_statistics", holds=Holds.CHATS):
    """One column for each field of `ReplyStatistics` but `proposers`, under the same name."""

    message_id: Mapped[int] = mapped_column(ForeignKey("messages.id", ondelete="CASCADE"), primary_key=True)
    prompt_tokens: Mapped[int]
    evaluated_tokens: Mapped[int]
    reply_tokens: Mapped[int]
    prompt_s: Mapped[float]
    reply_s: Mapped[float]
    stop_reason: Mapped[StopReason]
    context_used: Mapped[int]
    context_size: Mapped[int]
    left_out_messages: Mapped[int]
    # The defaults are for replies that are older than these columns.
    num_rounds: Mapped[int] = mapped_column(server_default=text("0"))
    num_drafted: Mapped[int] = mapped_column(server_default=text("0"))
    num_accepted: Mapped[int] = mapped_column(server_default=text("0"))
    plain_tokens_per_s: Mapped[float] = mapped_column(server_default=text("0"))
    plain_error: Mapped[float] = mapped_column(server_default=text("0"))
    draft_s: Mapped[float] = mapped_column(server_default=text("0"))
    check_s: Mapped[float] = mapped_column(server_default=text("0"))
    kind: Mapped[TextKind] = mapped_column(server_default=text("'prose'"))
    origins: Mapped[tuple[OriginRun, ...]] = mapped_column(server_default=text("'[]'"))
    ratio: Mapped[float] = mapped_column(server_default=text("0"))
    repeats: Mapped[bool] = mapped_column(server_default=text("0"))
    seed: Mapped[str] = mapped_column(server_default=text("''"))
    hindrance: Mapped[Hindrance] = mapped_column(server_default=text("''"))


class ReplyProposerRow(Base, table="reply_proposers", holds=Holds.CHATS, in_key_order=True):
    """One of a reply's `proposers`: a column for each field of `ProposerCounts`, under the same name."""

    message_id: Mapped[int] = mapped_column(ForeignKey("messages.id", ondelete="CASCADE"), primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    num_rounds: Mapped[int]
    num_drafted: Mapped[int]
    num_accepted: Mapped[int]


class PictureRow(Base, table="pictures", holds=Holds.CHATS):
    """One column for each field of `Picture`. Prompts of the conversation, or its draft, name it by its digest."""

    conversation_id: Mapped[int] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"), primary_key=True)
    digest: Mapped[str] = mapped_column(primary_key=True)
    width: Mapped[int]
    height: Mapped[int]
    data: Mapped[bytes]


class ChatToolRow(Base, table="chat_tools", holds=Holds.CHATS):
    """A tool that is called in this conversation without being asked for, as long as it is the same."""

    conversation_id: Mapped[int] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"), primary_key=True)
    server: Mapped[str] = mapped_column(primary_key=True)
    tool: Mapped[str] = mapped_column(primary_key=True)
    definition: Mapped[str]  # as JSON, see `ToolDefinition`


class AllowedToolRow(Base, table="allowed_tools", holds=Holds.ORDER):
    """A tool that is called in every conversation without being asked for: `AllowedTool`."""

    server: Mapped[str] = mapped_column(primary_key=True)
    tool: Mapped[str] = mapped_column(primary_key=True)
    definition: Mapped[str]  # as JSON, see `ToolDefinition`


class TargetRow(Base, table="targets", holds=Holds.LIBRARY):
    """What a target is, and what the user set for it. It stays when its last file changes, as that may come back."""

    id: Mapped[int] = mapped_column(primary_key=True)
    identity: Mapped[str | None] = mapped_column(unique=True)  # None: its file was not read since identities exist
    last_used_at: Mapped[datetime | None]  # None: never
    options: Mapped[str] = mapped_column(server_default=text("''"))  # what the user set for it, as JSON
    vocabulary: Mapped[str] = mapped_column(server_default=text("''"))  # its fingerprint; empty: never loaded


class TargetFileRow(Base, table="target_files", holds=Holds.LIBRARY):
    """Where a target is found. Copies of a file share their target."""

    id: Mapped[int] = mapped_column(primary_key=True)
    target_id: Mapped[int] = mapped_column(ForeignKey("targets.id", ondelete="CASCADE"), index=True)
    name: Mapped[str] = mapped_column(unique=True)
    path: Mapped[Path] = mapped_column(unique=True)
    size_bytes: Mapped[int]
    details: Mapped[str] = mapped_column(server_default=text("''"))  # what its header says, as JSON
    loaded_stamp: Mapped[str] = mapped_column(server_default=text("''"))  # as it was when last loaded; empty: never


class LearningDayRow(Base, table="learning_days", holds=Holds.LEARNED, in_key_order=True):
    """How long the drafter learned on a day."""

    day: Mapped[str] = mapped_column(primary_key=True)  # as in 2026-01-31, in local time
    seconds: Mapped[float]


class VocabularyPairRow(Base, table="vocabulary_pairs", holds=Holds.LEARNED, in_profile=True):
    """A target's vocabulary and a drafter's, by their fingerprints, which are too long to repeat in every n-gram."""

    __table_args__ = (UniqueConstraint("target_fingerprint", "drafter_fingerprint"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    target_fingerprint: Mapped[str]
    drafter_fingerprint: Mapped[str]


# SQLite packs the numbers of an n-gram, which are small, into about twelve bytes.
class NgramRow(
    Base, table="ngrams", holds=Holds.LEARNED, in_profile=True, num_bytes="length(string) + 12", in_key_order=True
):
    """One column for each field of `NgramRecord`, under the same name."""

    pair_id: Mapped[int] = mapped_column(ForeignKey("vocabulary_pairs.id", ondelete="CASCADE"), primary_key=True)
    string: Mapped[bytes] = mapped_column(primary_key=True)  # little-endian int32, see ngrams.py
    token: Mapped[int]
    count: Mapped[int]
    doubts: Mapped[int]
    last_use: Mapped[int]


class VocabularyRow(Base, table="vocabularies", holds=Holds.LEARNED):
    """A target's vocabulary, by its fingerprint."""

    id: Mapped[int] = mapped_column(primary_key=True)
    fingerprint: Mapped[str] = mapped_column(unique=True)
    num_exercises: Mapped[int] = mapped_column(server_default=text("0"))  # shipped ones that its target is through with


class RecallRow(Base, table="recall", holds=Holds.LEARNED, num_bytes="length(tokens)", in_key_order=True):
    """A message in the tokens of one vocabulary."""

    vocabulary_id: Mapped[int] = mapped_column(ForeignKey("vocabularies.id", ondelete="CASCADE"), primary_key=True)
    message_id: Mapped[int] = mapped_column(ForeignKey("messages.id", ondelete="CASCADE"), primary_key=True, index=True)
    tokens: Mapped[bytes]  # little-endian int32, see recall.py


class ImportedRecallRow(
    Base, table="imported_recall", holds=Holds.LEARNED, in_profile=True, num_bytes="length(tokens)", keeps_ids=True
):
    """A text that a profile brought, in the tokens of one vocabulary. Its message is in another store."""

    id: Mapped[int] = mapped_column(primary_key=True)
    vocabulary_id: Mapped[int] = mapped_column(ForeignKey("vocabularies.id", ondelete="CASCADE"), index=True)
    tokens: Mapped[bytes]  # little-endian int32, see recall.py


class ImportedNameRow(
    Base, table="imported_names", holds=Holds.LEARNED, in_profile=True, num_bytes="length(name)", in_key_order=True
):
    """What a profile calls a target with this vocabulary."""

    vocabulary_id: Mapped[int] = mapped_column(ForeignKey("vocabularies.id", ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True)


class LessonRow(Base, table="lessons", holds=Holds.LEARNED, num_bytes=_LESSON_BYTES, in_key_order=True):
    """A reply in the tokens of one vocabulary, with the target's distribution before each token. The turns that it
    answers are in `messages`."""

    vocabulary_id: Mapped[int] = mapped_column(ForeignKey("vocabularies.id", ondelete="CASCADE"), primary_key=True)
    message_id: Mapped[int] = mapped_column(ForeignKey("messages.id", ondelete="CASCADE"), primary_key=True, index=True)
    width: Mapped[int]  # tokens of each distribution
    tokens: Mapped[bytes]  # little-endian int32, see lessons.py
    law_tokens: Mapped[bytes]  # little-endian int32, row by row
    law_logs: Mapped[bytes]  # little-endian float16, row by row
    # The one the reply was given; its conversation may have another one by now. Empty: none.
    system_prompt: Mapped[str] = mapped_column(server_default=text("''"))
    temperature: Mapped[float] = mapped_column(server_default=text("0"))


class SelfDistilledRow(Base, table="practice", holds=Holds.LEARNED, num_bytes=_LESSON_BYTES, keeps_ids=True):
    """A reply that the target wrote to be learned from: to a stored prompt again, or to a shipped one, which may have
    changed since. It is never shown. The columns are those of `LessonRow`."""

    id: Mapped[int] = mapped_column(primary_key=True)
    vocabulary_id: Mapped[int] = mapped_column(ForeignKey("vocabularies.id", ondelete="CASCADE"), index=True)
    message_id: Mapped[int | None] = mapped_column(ForeignKey("messages.id", ondelete="CASCADE"), index=True)
    prompt: Mapped[str | None]  # the shipped one; None: it is a message
    created_at: Mapped[datetime]
    width: Mapped[int]
    tokens: Mapped[bytes]
    law_tokens: Mapped[bytes]
    law_logs: Mapped[bytes]
    system_prompt: Mapped[str]
    temperature: Mapped[float] = mapped_column(server_default=text("0"))


class SelfDistilledReadRow(Base, table="practice_read", holds=Holds.LEARNED, num_bytes="80", in_key_order=True):
    """How much of its target's self-distilled replies a drafter has read, those included that are no longer stored."""

    vocabulary_id: Mapped[int] = mapped_column(ForeignKey("vocabularies.id", ondelete="CASCADE"), primary_key=True)
    drafter_fingerprint: Mapped[str] = mapped_column(primary_key=True)
    until: Mapped[int]  # the last reply
    num_tokens: Mapped[int]  # the target's


class ScoreRow(Base, table="scores", holds=Holds.LEARNED, num_bytes="96", in_key_order=True):
    """A reply that was scored before a drafter learned from it, in rounds as the judge counts them."""

    vocabulary_id: Mapped[int] = mapped_column(ForeignKey("vocabularies.id", ondelete="CASCADE"), primary_key=True)
    drafter_fingerprint: Mapped[str] = mapped_column(primary_key=True)
    message_id: Mapped[int] = mapped_column(ForeignKey("messages.id", ondelete="CASCADE"), primary_key=True, index=True)
    num_tokens: Mapped[int]  # the drafter's
    rounds_before: Mapped[float]  # with the original drafter
    rounds_after: Mapped[float]  # with what was in use


class AdapterRow(
    Base, table="adapters", holds=Holds.LEARNED, in_profile=True, num_bytes="length(weights)", keeps_ids=True
):
    """One column for each field of `AdapterRecord`; `id` is its number, `ordinal` counts the adapters of one target."""

    __table_args__ = (Index(None, "target_fingerprint", "drafter_fingerprint"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    target_fingerprint: Mapped[str]
    drafter_fingerprint: Mapped[str]
    created_at: Mapped[datetime]
    accepted_before: Mapped[float]
    accepted_after: Mapped[float]
    num_replies: Mapped[int]
    num_learned: Mapped[int]
    is_published: Mapped[bool]
    weights: Mapped[bytes]
    ordinal: Mapped[int] = mapped_column(server_default=text("0"))
    error: Mapped[float] = mapped_column(server_default=text("0"))
    num_chats: Mapped[int] = mapped_column(server_default=text("0"))
    num_tokens: Mapped[int] = mapped_column(server_default=text("0"))


class CandidateRow(Base, table="candidates", holds=Holds.LEARNED, num_bytes="length(weights)", in_key_order=True):
    """One column for each field of `CandidateRecord`, under the same name."""

    target_fingerprint: Mapped[str] = mapped_column(primary_key=True)
    drafter_fingerprint: Mapped[str] = mapped_column(primary_key=True)
    adapter: Mapped[int | None]
    scored_until: Mapped[int]
    learned_until: Mapped[int]
    num_learned: Mapped[int]
    capital: Mapped[str]  # as JSON, see adapters.py
    weights: Mapped[bytes]


class DrafterFiguresRow(Base, table="drafter_figures", holds=Holds.LEARNED, in_key_order=True):
    """One column for each number of a `DrafterRecord`, under the same name."""

    target_identity: Mapped[str] = mapped_column(primary_key=True)
    drafter_key: Mapped[str] = mapped_column(primary_key=True)
    num_first: Mapped[float]
    first_right: Mapped[float]
    num_next: Mapped[float]
    next_right: Mapped[float]
    step_s: Mapped[float]


class QuantizationFiguresRow(Base, table="form_figures", holds=Holds.LIBRARY, in_key_order=True):
    """What was measured of a target, or of another quantization of it, with one build of llama.cpp."""

    target_identity: Mapped[str] = mapped_column(primary_key=True)
    build: Mapped[str] = mapped_column(primary_key=True)  # as `Runtime.key`
    threads: Mapped[int] = mapped_column(primary_key=True)
    form: Mapped[str] = mapped_column(primary_key=True)  # empty: the target itself
    measured_at: Mapped[datetime]
    figures: Mapped[str]  # as JSON, see figures.py


class PaceRow(Base, table="known_pace", holds=Holds.LEARNED, in_key_order=True):
    """What the draft policy knows of a target with one build of llama.cpp."""

    target_identity: Mapped[str] = mapped_column(primary_key=True)
    build: Mapped[str] = mapped_column(primary_key=True)  # as `Runtime.key`
    threads: Mapped[int] = mapped_column(primary_key=True)
    pace: Mapped[str]  # as JSON, see figures.py


class ErasureRow(Base, table="erasures", holds=Holds.ERASURES, keeps_ids=True):
    """A deleted row whose text must be erased from the copies that migrations made. The time distinguishes it from a
    row of another store with the same id."""

    id: Mapped[int] = mapped_column(primary_key=True)
    holder: Mapped[str]  # the table
    row_id: Mapped[int]
    created_at: Mapped[str]  # as that table has it
