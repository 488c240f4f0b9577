"""The only way to the store: takes and returns plain records, one short transaction for each call."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Row, func, insert, select, update

from engine.backend.storage import branch, connections
from engine.backend.storage.erasing import Due, delete_all, delete_conversations
from engine.backend.storage.failures import as_store_errors
from engine.backend.storage.figures import FigureRepository
from engine.backend.storage.learned import LearnedRepository
from engine.backend.storage.order import OrderRepository, existing_folder
from engine.backend.storage.pictures import StoredPictures, add_pictures, read_pictures
from engine.backend.storage.presets import PresetRepository
from engine.backend.storage.purging import PurgeRepository
from engine.backend.storage.removal import Removed, put_back, remove
from engine.backend.storage.schema import ConversationRow, Holds, MessageRow, rows_holding
from engine.backend.storage.search import MOST_HITS, find_conversations
from engine.backend.storage.summaries import LATEST_TARGET, POSSIBLE_IDS, SUMMARIES, summary_of
from engine.backend.storage.targets import TargetRepository, forget_system_prompts
from engine.backend.storage.texts import encodable, fit_title, wanted_words
from engine.backend.storage.tools import ToolRepository
from engine.backend.storage.transactions import SHORT_PATIENCE_S
from engine.backend.storage.trees import KnownTrees, TreeWriter, read_tree
from engine.backend.storage.upgrade import upgrade
from engine.values.config import OwnSampling
from engine.values.conversations import Conversation, ConversationSummary, ConversationTree, Message, Role, SearchHit
from engine.values.errors import ConversationMissing
from engine.values.pictures import Picture
from engine.values.places import STORE
from engine.values.prompts import NAMES_PICTURE, pictures_in, title_of
from engine.values.remote import server_of
from engine.values.replies import ReplyStatistics, Thought
from engine.values.tools import ToolCall, ToolResult

FILE_NAME = STORE
_LONGEST_PROMPT = 500  # characters: of those that are asked again
_IDS = select(ConversationRow.id)


class Repository(
    OrderRepository,
    TargetRepository,
    FigureRepository,
    PresetRepository,
    LearnedRepository,
    ToolRepository,
    PurgeRepository,
):
    """Conversations and their messages, the order among them (`OrderRepository`), the library of targets
    (`TargetRepository`), what was measured of targets and drafters (`FigureRepository`), presets and prompts
    (`PresetRepository`), what is learned from chats (`LearnedRepository`), which tools are allowed (`ToolRepository`),
    and what goes for good (`PurgeRepository`).

    Any thread may call any method, and other processes may use the same store. Every method raises StoreUnusable when
    disk or file fails; what was committed before stays. A deleted conversation is hidden until it is restored or
    purged; methods that take an id raise ConversationMissing for one that is missing, and most for a deleted one.

    Incognito conversations are in a database in memory, which ends with the process: an id tells where its conversation
    is. They are listed, searched and opened like others; methods without a conversation's id leave them out.
    """

    @classmethod
    def open(cls, data_dir: Path) -> Repository:
        """Opens the store in this folder; makes both where they are missing and migrates an older store."""
        path = data_dir.absolute() / FILE_NAME
        with as_store_errors(path):
            connections.prepare_file(path)
            engine = connections.engine_for(path)
            try:
                upgrade(engine, path)
            except BaseException:
                engine.dispose()
                raise
        return cls(path, engine)

    def __init__(self, path: Path, engine: Engine) -> None:
        super().__init__(path, engine)
        # Messages to put back, with what left with them: by conversation, last removed last.
        self._removed: dict[int, list[tuple[int, Removed]]] = {}

    def list_conversations(self) -> tuple[ConversationSummary, ...]:
        """Those that are not deleted, last used first."""
        listed: list[ConversationSummary] = []
        for database in self._databases():
            with database.reading() as connection:
                rows = connection.execute(SUMMARIES.where(ConversationRow.deleted_at.is_(None)))
                listed += [summary_of(row) for row in rows]
        return tuple(sorted(listed, key=_last_use, reverse=True))

    def create_conversation(
        self,
        title: str,
        system_prompt: str,
        incognito: bool = False,
        sampling: OwnSampling | None = None,
        is_stopped: Callable[[], bool] = lambda: False,
        folder_id: int | None = None,
    ) -> ConversationSummary:
        """Nothing of an `incognito` one is ever written to the disk, and it is in no folder; nor is one whose folder is
        gone. Does not wait for another program that has locked the file once it `is_stopped`."""
        now = datetime.now(UTC)
        title = fit_title(title)
        new = insert(ConversationRow).values(
            title=title,
            system_prompt=encodable(system_prompt),
            created_at=now,
            updated_at=now,
            sampling=(sampling or OwnSampling()).to_json(),
        )
        with (self._in_memory() if incognito else self._file).writing(is_stopped=is_stopped) as connection:
            folder_id = None if incognito else existing_folder(connection, folder_id)
            number = connection.execute(new.values(folder_id=folder_id)).lastrowid
        return ConversationSummary(number, title, now, incognito, folder_id)

    def find_conversation(self, conversation_id: int) -> ConversationSummary:
        """The summary alone."""
        with self._reading(conversation_id) as connection:
            return summary_of(_find(connection, conversation_id))

    def open_conversation(self, conversation_id: int) -> Conversation:
        """The conversation with its current branch, root first."""
        with self._reading(conversation_id) as connection:
            found = _find(connection, conversation_id)
            return _opened(connection, found, found.head_message_id)

    def open_branch(self, conversation_id: int, message_id: int) -> Conversation:
        """The conversation with its messages from the root to this one, whatever its current branch is."""
        with self._reading(conversation_id) as connection:
            found = _find(connection, conversation_id)
            _check_message(connection, conversation_id, message_id)
            return _opened(connection, found, message_id)

    def show_branch(self, conversation_id: int, message_id: int) -> Conversation:
        """Makes the branch through this message the current one, down to the leaf that was left last, or else written
        last. Does not count as use."""
        with self._writing(conversation_id) as connection:
            found = _find(connection, conversation_id)
            _check_message(connection, conversation_id, message_id)
            left = branch.with_left(found.left_heads, found.head_message_id)
            head = branch.latest_of(left, branch.read_below(connection, message_id))
            _change(connection, conversation_id, head_message_id=head, left_heads=left)
            return _opened(connection, found, head)

    def find_siblings(self, message: Message) -> tuple[int, ...]:
        """The message's entry in `Conversation.siblings`; empty if it has none."""
        with self._reading(message.conversation_id) as connection:
            ids = branch.read_children(connection, message.conversation_id, message.parent_id)
            return ids if len(ids) > 1 else ()

    def change_conversation(
        self, conversation_id: int, system_prompt: str, sampling: OwnSampling
    ) -> ConversationSummary:
        """Does not count as use."""
        values: dict[str, Any] = {"system_prompt": encodable(system_prompt), "sampling": sampling.to_json()}
        with self._writing(conversation_id) as connection:
            return summary_of(_change(connection, conversation_id, **values))

    def save_draft(self, conversation_id: int, text: str, pictures: Collection[Picture] = ()) -> None:
        """Saves a prompt that is not sent yet with its conversation, also with a deleted one. Does not count as use.
        `pictures`: new ones that it names."""
        with self._writing(conversation_id) as connection:
            _change(connection, conversation_id, even_deleted=True, draft=encodable(text))
            add_pictures(connection, conversation_id, pictures)

    def find_pictures(self, conversation_id: int, digests: Collection[str]) -> dict[str, Picture]:
        """Pictures by digest, without those that the conversation does not hold and those that are damaged; works for a
        deleted conversation too."""
        if not digests:
            return {}
        with self._reading(conversation_id) as connection:
            return read_pictures(connection, conversation_id, digests)

    def conversations_with_prompt(self, text: str) -> tuple[int, ...]:
        """Those in which the user wrote exactly this prompt, without deleted and incognito ones."""
        said = (
            select(MessageRow.conversation_id)
            .join(ConversationRow, ConversationRow.id == MessageRow.conversation_id)
            .where(
                MessageRow.text == encodable(text),
                MessageRow.role == Role.USER,
                ConversationRow.deleted_at.is_(None),
            )
            .distinct()
        )
        with self._reading() as connection:
            return tuple(connection.execute(said).scalars())

    def latest_prompts(self, count: int) -> tuple[str, ...]:
        """What the user asked last, without what is long, said twice or about a picture, and without deleted and
        incognito chats."""
        latest = (
            select(MessageRow.text)
            .join(ConversationRow, ConversationRow.id == MessageRow.conversation_id)
            .where(
                MessageRow.role == Role.USER,
                ConversationRow.deleted_at.is_(None),
                func.length(MessageRow.text) <= _LONGEST_PROMPT,
                func.instr(MessageRow.text, NAMES_PICTURE) == 0,
            )
            .group_by(MessageRow.text)
            .order_by(func.max(MessageRow.id).desc())
            .limit(count)
        )
        with self._reading() as connection:
            return tuple(connection.execute(latest).scalars())

    def rename_conversation(self, conversation_id: int, title: str) -> ConversationSummary:
        """Does not count as use."""
        with self._writing(conversation_id) as connection:
            found = _change(connection, conversation_id, title=fit_title(title))
            return replace(summary_of(found), title=fit_title(title))

    def delete_message(self, conversation_id: int, message_id: int) -> Conversation | None:
        """Removes a message with what belongs to it, see `removal.py`, and with what was learned from that. A title
        that was made of it is made of the prompt that is then first. `restore_message` brings the text back, until
        this repository is closed. None, and nothing happens, if no message would be left."""
        with self._writing(conversation_id) as connection:
            found = _find(connection, conversation_id)
            _check_message(connection, conversation_id, message_id)
            removed = remove(connection, conversation_id, message_id)
            if removed is None:
                return None
            head = found.head_message_id
            if head in removed.ids:
                beside = branch.read_below(connection, removed.parent_id, conversation_id)
                head = branch.latest_of(found.left_heads, beside)
            left = branch.with_left(found.left_heads, found.head_message_id)
            title = found.title
            if title in map(_title_of, removed.prompts):
                title = _title_of(branch.read_branch(connection, head)[0].text)
            _change(connection, conversation_id, head_message_id=head, left_heads=left, title=title)
            opened = _opened(connection, _find(connection, conversation_id), head)
        removed = replace(removed, titles=(found.title, title))
        self._removed.setdefault(conversation_id, []).append((message_id, removed))
        return opened

    def restore_message(self, conversation_id: int, message_id: int) -> Conversation:
        """Puts back what `delete_message` removed, and shows it. What was removed last comes back first: what was
        removed before may have had its place there."""
        with self._writing(conversation_id) as connection:
            found = _find(connection, conversation_id)
            removed_here = self._removed.get(conversation_id, [])
            if not removed_here or removed_here[-1][0] != message_id:
                raise ConversationMissing("This message no longer exists.")
            _, removed = removed_here[-1]
            put_back(connection, removed)
            left = branch.with_left(found.left_heads, found.head_message_id)
            head = branch.latest_of(left, branch.read_below(connection, message_id))
            title = removed.titles[0] if found.title == removed.titles[1] else found.title
            _change(connection, conversation_id, head_message_id=head, left_heads=left, title=title)
            opened = _opened(connection, _find(connection, conversation_id), head)
        removed_here.pop()
        return opened

    def forget_conversation(self, conversation_id: int) -> ConversationSummary:
        """Removes one conversation for good, deleted or not. `finish_erasure` is to follow."""
        with self._writing(conversation_id) as connection:
            found = _find(connection, conversation_id, even_deleted=True)
            delete_conversations(connection, [conversation_id])
        self._removed.pop(conversation_id, None)
        return summary_of(found)

    def search(self, words: str, stopped: Callable[[], bool] = lambda: False) -> tuple[SearchHit, ...]:
        """Conversations with all these words, whatever the case of their letters, last used first; at most `MOST_HITS`.
        None without words. Ends early, with fewer, when it is stopped."""
        wanted = wanted_words(words)
        if not wanted:
            return ()
        hits: list[SearchHit] = []
        for database in self._databases():
            with database.reading() as connection:
                hits += find_conversations(connection, wanted, stopped)
        return tuple(sorted(hits, key=lambda hit: _last_use(hit.conversation), reverse=True)[:MOST_HITS])

    def read_tree(self, conversation_id: int) -> ConversationTree:
        """The conversation with all its branches."""
        with self._reading(conversation_id) as connection:
            _find(connection, conversation_id)
            tree = read_tree(connection, conversation_id)
        digests = pictures_in(each.text for each in tree.messages)
        return replace(tree, pictures=StoredPictures(partial(self.find_pictures, conversation_id), digests))

    def add_trees(self, trees: Iterable[ConversationTree], check: Callable[[], None] = lambda: None) -> list[bool]:
        """Adds all conversations that are not here yet, or none when it fails; returns which of them were added.
        `trees` are read twice. `check`, called before each is compared and written, may raise to have none added. In
        every tree parents come before their children, and the head is one of its messages."""
        with self._reading() as connection:
            known = KnownTrees(connection, check)
        is_new = []
        for tree in trees:
            check()
            is_new.append(known.add(tree))
        with self._writing() as connection:  # for a short time, because replies are saved meanwhile
            check()
            writer = TreeWriter(connection)
            for tree in compress(trees, is_new):
                check()
                writer.write(tree)
            writer.flush()
        return is_new

    def forget_everything(self) -> int:
        """Removes all conversations, incognito ones included, with folders, presets and prompts, all that was learned,
        and system prompts of targets for good. Returns how many conversations. Known targets stay. `finish_erasure` is
        to follow, which also removes everything else in the data folder that may hold a user's words, see
        `engine/values/places.py`."""
        num_forgotten = 0
        for database in self._databases():
            with database.writing() as connection:
                database.note_forgotten()
                num_forgotten += len(connection.execute(_IDS).all())
                delete_all(connection, rows_holding(Holds.CHATS, Holds.ORDER, Holds.LEARNED), Due.PAGES | Due.FOLDER)
                forget_system_prompts(connection)
        self._removed.clear()
        return num_forgotten

    def add_message(
        self,
        conversation_id: int,
        parent_id: int | None,
        role: Role,
        text: str,
        target_name: str | None = None,
        statistics: ReplyStatistics | None = None,
        target_identity: str | None = None,
        thoughts: tuple[Thought, ...] = (),
        pictures: Collection[Picture] = (),
        calls: tuple[ToolCall, ...] = (),
        result: ToolResult | None = None,
    ) -> Message:
        """Adds a leaf under `parent_id` (None: a root), where the current branch now ends; also to a deleted
        conversation, whose reply is still being written. A parent that is no message of it raises ConversationMissing.
        `pictures`: new ones that it names.
        """
        text = encodable(text)
        now = datetime.now(UTC)
        target_name = None if target_name is None else encodable(target_name)
        with self._writing(conversation_id, SHORT_PATIENCE_S) as connection:
            found = _find(connection, conversation_id, even_deleted=True)
            if parent_id is not None:
                _check_message(connection, conversation_id, parent_id)
            new = insert(MessageRow).values(
                conversation_id=conversation_id,
                parent_id=parent_id,
                role=role,
                text=text,
                created_at=now,
                target_name=target_name,
                target_identity=target_identity,
                thoughts=thoughts,
                calls=calls,
                result=result,
            )
            message_id = connection.execute(new).lastrowid
            if statistics is not None:
                branch.write_statistics(connection, message_id, statistics)
            left = found.left_heads
            if found.head_message_id != parent_id:
                left = branch.with_left(left, found.head_message_id)
            values: dict[str, Any] = {"head_message_id": message_id, "left_heads": left, "updated_at": now}
            if role is Role.USER:
                values["archived_at"] = None  # it is in use again
            _change(connection, conversation_id, even_deleted=True, **values)
            add_pictures(connection, conversation_id, pictures)
        told = target_name, statistics, thoughts, calls, result, server_of(target_identity)
        return Message(message_id, conversation_id, parent_id, role, text, now, *told)

    def rewrite_message(self, message: Message) -> Message:
        """Replaces the stored text, thoughts, calls and statistics of a reply that has grown."""
        message = replace(message, text=encodable(message.text))
        with self._writing(message.conversation_id, SHORT_PATIENCE_S) as connection:
            _check_message(connection, message.conversation_id, message.id)
            change = update(MessageRow).where(MessageRow.id == message.id)
            connection.execute(change.values(text=message.text, thoughts=message.thoughts, calls=message.calls))
            if message.statistics is not None:
                branch.write_statistics(connection, message.id, message.statistics)
            used = {"updated_at": datetime.now(UTC)}
            _change(connection, message.conversation_id, even_deleted=True, **used)
        return message


def _title_of(prompt: str) -> str:
    return fit_title(title_of(prompt))


def _last_use(summary: ConversationSummary) -> tuple[datetime, int]:
    return summary.updated_at, summary.id


def _find(connection: Connection, conversation_id: int, *, even_deleted: bool = False) -> Row[Any]:
    """Its row of `ConversationRow`."""
    wanted = select(ConversationRow.__table__, LATEST_TARGET).where(ConversationRow.id == conversation_id)
    row = connection.execute(wanted).one_or_none() if conversation_id in POSSIBLE_IDS else None
    if row is None or (row.deleted_at is not None and not even_deleted):
        raise ConversationMissing("This chat no longer exists.")
    return row


def _opened(connection: Connection, found: Row[Any], head_message_id: int | None) -> Conversation:
    messages = branch.read_branch(connection, head_message_id)
    return Conversation(
        summary_of(found),
        found.system_prompt,
        messages,
        OwnSampling.from_json(found.sampling),
        found.draft,
        *branch.read_siblings_and_servers(connection, found.id, messages),
    )


def _check_message(connection: Connection, conversation_id: int, message_id: int) -> None:
    wanted = select(MessageRow.conversation_id).where(MessageRow.id == message_id)
    if message_id not in POSSIBLE_IDS or connection.execute(wanted).scalar_one_or_none() != conversation_id:
        raise ConversationMissing("This message no longer exists.")


def _change(connection: Connection, conversation_id: int, *, even_deleted: bool = False, **values: object) -> Row[Any]:
    """Returns the row as it was before."""
    found = _find(connection, conversation_id, even_deleted=even_deleted)
    connection.execute(update(ConversationRow).where(ConversationRow.id == conversation_id).values(**values))
    return found
