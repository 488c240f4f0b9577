"""The only door to the store: takes and returns plain records, one short transaction for each call."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, Engine, delete, insert, select, update

from engine.errors import ConversationMissing
from engine.records import (
    Conversation,
    ConversationSummary,
    Message,
    ReplyStatistics,
    Role,
    TargetRecord,
)
from engine.storage import connections, erasure, whole
from engine.storage.backup import backups, forget_conversations, forget_everything
from engine.storage.branch import read_branch
from engine.storage.failures import told_in_words
from engine.storage.incognito import IncognitoConversations
from engine.storage.learned import LearnedRepository
from engine.storage.schema import ConversationRow, MessageRow, ReplyStatisticsRow, TargetRow
from engine.storage.upgrade import upgrade
from engine.storage.wording import encodable, fit_title, one_line, unique

FILE_NAME = "slipstream.sqlite3"
_IDS = range(1, 2**63)  # what SQLite can give
_SUMMARIES = select(ConversationRow.id, ConversationRow.title, ConversationRow.updated_at)
_TARGETS = select(TargetRow.name, TargetRow.path, TargetRow.size_bytes, TargetRow.last_used_at)


class Repository(LearnedRepository):
    """Conversations and their messages, the known targets, and what is learned from chats (`LearnedRepository`).

    Any thread may call any method, and other processes may use the same store. Every method raises StoreUnusable when
    disk or file fails; what was committed before stays. A conversation that is deleted is hidden until it is restored
    or purged; methods that take an id raise ConversationMissing for one that is not in the store.
    """

    def __init__(self, path: Path, engine: Engine) -> None:
        """Use `open`. `path` is named in errors."""
        super().__init__(path, engine)
        self._incognito = IncognitoConversations()

    @classmethod
    def open(cls, data_dir: Path) -> Repository:
        """Opens the store in this folder; makes both where they are missing and migrates an older store."""
        path = data_dir.absolute() / FILE_NAME
        with told_in_words(path):
            connections.prepare_file(path)
            engine = connections.engine_for(path)
            try:
                upgrade(engine, path)
            except BaseException:
                engine.dispose()
                raise
        return cls(path, engine)

    def list_conversations(self) -> tuple[ConversationSummary, ...]:
        """Those that are not deleted, last used first."""
        listed = _SUMMARIES.where(ConversationRow.deleted_at.is_(None)).order_by(
            ConversationRow.updated_at.desc(), ConversationRow.id.desc()
        )
        with self._reading() as connection:
            kept = [ConversationSummary(*row) for row in connection.execute(listed)]
        return tuple(sorted(kept + self._incognito.list_conversations(), key=_last_use, reverse=True))

    def create_conversation(self, title: str, system_prompt: str, incognito: bool = False) -> ConversationSummary:
        """With `incognito`, nothing of it is ever written to the disk; all else works with it as with others."""
        if incognito:
            return self._incognito.create_conversation(title, system_prompt)
        now = datetime.now(UTC)
        title = fit_title(title)
        new = insert(ConversationRow).values(
            title=title, system_prompt=encodable(system_prompt), created_at=now, updated_at=now
        )
        with self._writing() as connection:
            return ConversationSummary(connection.execute(new).lastrowid, title, now)

    def find_conversation(self, conversation_id: int) -> ConversationSummary:
        """The summary alone. A deleted conversation counts as missing."""
        if conversation_id in self._incognito:
            return self._incognito.open_conversation(conversation_id).summary
        with self._reading() as connection:
            return _find(connection, conversation_id).summary

    def open_conversation(self, conversation_id: int) -> Conversation:
        """The conversation with its current branch, root first. A deleted one counts as missing."""
        if conversation_id in self._incognito:
            return self._incognito.open_conversation(conversation_id)
        with self._reading() as connection:
            found = _find(connection, conversation_id)
            return Conversation(found.summary, found.system_prompt, read_branch(connection, found.head_message_id))

    def rename_conversation(self, conversation_id: int, title: str) -> ConversationSummary:
        """Does not count as use. A deleted conversation counts as missing."""
        if conversation_id in self._incognito:
            return self._incognito.rename_conversation(conversation_id, title)
        with self._writing() as connection:
            found = _find(connection, conversation_id)
            _change(connection, conversation_id, title=fit_title(title))
            return replace(found.summary, title=fit_title(title))

    def delete_conversation(self, conversation_id: int) -> ConversationSummary:
        """Hides the conversation; `restore_conversation` takes this back until `purge_deleted`."""
        if conversation_id in self._incognito:
            return self._incognito.delete_conversation(conversation_id)
        with self._writing() as connection:
            found = _find(connection, conversation_id, even_deleted=True)
            _change(connection, conversation_id, deleted_at=found.deleted_at or datetime.now(UTC))
            return found.summary

    def restore_conversation(self, conversation_id: int) -> ConversationSummary:
        if conversation_id in self._incognito:
            return self._incognito.restore_conversation(conversation_id)
        with self._writing() as connection:
            found = _find(connection, conversation_id, even_deleted=True)
            _change(connection, conversation_id, deleted_at=None)
            return found.summary

    def purge_deleted(self) -> int:
        """Removes deleted conversations for good and tells how many; none of their text remains in the files.

        If this is cut short, or another process is reading meanwhile, the next call removes the rest of the text.
        N-grams belong to no conversation and stay, see `load_ngrams`.
        """
        hidden = ConversationRow.deleted_at.is_not(None)
        with self._writing() as connection:
            ids = connection.execute(select(ConversationRow.id).where(hidden)).scalars().all()
            if ids:
                for backup in backups(self._path):
                    with told_in_words(backup):
                        forget_conversations(backup, ids)
                connection.execute(delete(ConversationRow).where(hidden))
                erasure.announce(connection)
        self._finish_erasure()
        return len(ids)

    def forget_everything(self) -> int:
        """Removes all conversations, those held in memory included, and all that was learned for good, from the files
        as `purge_deleted` does. Tells how many conversations. Known targets stay."""
        num_held = self._incognito.forget_all()
        with self._writing() as connection:
            for backup in backups(self._path):
                with told_in_words(backup):
                    forget_everything(backup)
            num_kept = connection.execute(delete(ConversationRow)).rowcount
            whole.delete_all(connection)
            erasure.announce(connection)
        self._finish_erasure()
        return num_held + num_kept

    def add_message(
        self,
        conversation_id: int,
        parent_id: int | None,
        role: Role,
        text: str,
        target_name: str | None = None,
        statistics: ReplyStatistics | None = None,
    ) -> Message:
        """Adds a leaf under `parent_id` (None: a root), where the current branch now ends.

        A deleted conversation still takes the reply that was being written. A parent that is not a message of this
        conversation raises ConversationMissing too.
        """
        text = encodable(text)
        if conversation_id in self._incognito:
            return self._incognito.add_message(conversation_id, parent_id, role, text, target_name, statistics)
        now = datetime.now(UTC)
        target_name = None if target_name is None else encodable(target_name)
        with self._writing() as connection:
            _find(connection, conversation_id, even_deleted=True)
            if parent_id is not None:
                _check_message(connection, conversation_id, parent_id)
            new = insert(MessageRow).values(
                conversation_id=conversation_id,
                parent_id=parent_id,
                role=role,
                text=text,
                created_at=now,
                target_name=target_name,
            )
            message_id = connection.execute(new).lastrowid
            if statistics is not None:
                columns = {field.name: getattr(statistics, field.name) for field in fields(statistics)}
                connection.execute(insert(ReplyStatisticsRow).values(message_id=message_id, **columns))
            _change(connection, conversation_id, head_message_id=message_id, updated_at=now)
        return Message(message_id, conversation_id, parent_id, role, text, now, target_name, statistics)

    def remember_target(self, name: str, path: Path, size_bytes: int) -> TargetRecord:
        """Notes that this file was used now. A name that another file has is made unique: "name (2)"."""
        path = path.absolute()
        with self._writing() as connection:
            others = select(TargetRow.name).where(TargetRow.path != path)
            name = unique(one_line(name) or path.stem, set(connection.execute(others).scalars()))
            record = TargetRecord(name, path, size_bytes, datetime.now(UTC))
            known = connection.execute(update(TargetRow).where(TargetRow.path == path).values(**asdict(record)))
            if not known.rowcount:
                connection.execute(insert(TargetRow).values(**asdict(record)))
        return record

    def list_targets(self) -> tuple[TargetRecord, ...]:
        """Last used first."""
        with self._reading() as connection:
            rows = connection.execute(_TARGETS.order_by(TargetRow.last_used_at.desc(), TargetRow.id.desc()))
            return tuple(TargetRecord(*row) for row in rows)

    def find_target(self, name: str) -> TargetRecord | None:
        with self._reading() as connection:
            row = connection.execute(_TARGETS.where(TargetRow.name == encodable(name))).one_or_none()
            return None if row is None else TargetRecord(*row)


def _last_use(summary: ConversationSummary) -> tuple[datetime, int]:
    return summary.updated_at, summary.id


@dataclass(frozen=True, slots=True)
class _Found:
    summary: ConversationSummary
    system_prompt: str
    head_message_id: int | None
    deleted_at: datetime | None


def _find(connection: Connection, conversation_id: int, *, even_deleted: bool = False) -> _Found:
    more = (ConversationRow.system_prompt, ConversationRow.head_message_id, ConversationRow.deleted_at)
    wanted = _SUMMARIES.add_columns(*more).where(ConversationRow.id == conversation_id)
    row = connection.execute(wanted).one_or_none() if conversation_id in _IDS else None
    if row is None or (row.deleted_at is not None and not even_deleted):
        raise ConversationMissing("This conversation is no longer in the store.")
    return _Found(ConversationSummary(*row[:3]), *row[3:])


def _check_message(connection: Connection, conversation_id: int, message_id: int) -> None:
    wanted = select(MessageRow.conversation_id).where(MessageRow.id == message_id)
    if message_id not in _IDS or connection.execute(wanted).scalar_one_or_none() != conversation_id:
        raise ConversationMissing("This message is no longer in the store.")


def _change(connection: Connection, conversation_id: int, **values: object) -> None:
    connection.execute(update(ConversationRow).where(ConversationRow.id == conversation_id).values(**values))
