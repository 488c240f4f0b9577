"""The order among conversations: their folders, pins and archive."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from engine.backend.storage.erasing import Due, note
from engine.backend.storage.schema import ConversationRow, FolderRow, PresetRow
from engine.backend.storage.summaries import POSSIBLE_IDS, SUMMARIES, summary_of
from engine.backend.storage.texts import encodable
from engine.backend.storage.transactions import Database, Transactions, is_incognito
from engine.values.conversations import ConversationSummary
from engine.values.errors import ConversationMissing, NotPossible, SettingInvalid
from engine.values.order import FOLDER_NAME_LENGTH, Folder, TargetChoice
from engine.values.sentences import template

MOST_FOLDERS = 1_000
_AT_ONCE = 500  # conversations named in one statement
_NO_INCOGNITO = template("An incognito chat exists only in memory, so it cannot be moved into a folder or archived.")
_NO_FOLDER = template("This folder no longer exists.")


class OrderRepository(Transactions):
    """Each method is one transaction, and takes conversations as a whole: if one of them is missing or deleted, it
    raises ConversationMissing and changes nothing. None of it counts as use."""

    def list_folders(self) -> tuple[Folder, ...]:
        """Sorted by name."""
        with self._reading() as connection:
            folders = [_folder(row) for row in connection.execute(select(FolderRow.__table__))]
        return tuple(sorted(folders, key=lambda folder: (folder.name.casefold(), folder.name)))

    def create_folder(
        self,
        name: str,
        system_prompt: str | None = None,
        preset_id: int | None = None,
        target: TargetChoice | None = None,
        conversation_ids: Collection[int] = (),
    ) -> tuple[Folder, tuple[ConversationSummary, ...]]:
        """Puts these conversations into it. Raises SettingInvalid for a name that cannot be used, and NotPossible."""
        _refuse_incognito(conversation_ids)
        with self._writing() as connection:
            names = _names(connection)
            _check_room(names)
            fit = _checked_name(name, names)
            values = _values(connection, Folder(0, fit, system_prompt, preset_id, target))
            number = connection.execute(insert(FolderRow).values(**values)).lastrowid
            moved = _change_all(connection, conversation_ids, folder_id=number)
            return _find_folder(connection, number), moved

    def change_folder(self, folder: Folder) -> Folder:
        """Raises SettingInvalid for a name that cannot be used, and NotPossible if it is gone."""
        with self._writing() as connection:
            _find_folder(connection, folder.id)
            names = {each: number for each, number in _names(connection).items() if number != folder.id}
            values = _values(connection, folder) | {"name": _checked_name(folder.name, names)}
            connection.execute(update(FolderRow).where(FolderRow.id == folder.id).values(**values))
            return _find_folder(connection, folder.id)

    def delete_folder(
        self, folder_id: int, with_conversations: bool = False
    ) -> tuple[Folder, tuple[ConversationSummary, ...]]:
        """Returns it with the conversations that were in it, as they were: these stay, or are hidden
        `with_conversations`, as `delete_conversations` does. Raises NotPossible if it is gone."""
        with self._writing() as connection:
            folder = _find_folder(connection, folder_id)
            inside = ConversationRow.folder_id == folder_id
            rows = connection.execute(SUMMARIES.where(inside, ConversationRow.deleted_at.is_(None))).all()
            if with_conversations:
                gone = update(ConversationRow).where(inside, ConversationRow.deleted_at.is_(None))
                connection.execute(gone.values(deleted_at=datetime.now(UTC)))
            connection.execute(update(ConversationRow).where(inside).values(folder_id=None))
            connection.execute(delete(FolderRow).where(FolderRow.id == folder_id))
            note(connection, Due.PAGES)
            return folder, tuple(map(summary_of, rows))

    def restore_folder(self, folder: Folder, conversation_ids: Collection[int]) -> tuple[ConversationSummary, ...]:
        """Brings back a folder that was deleted, and into it what was in it, deleted or not. Raises SettingInvalid if
        another one has its name now, and NotPossible."""
        with self._writing() as connection:
            names = _names(connection)
            _check_room(names)
            _checked_name(folder.name, names)
            connection.execute(insert(FolderRow).values(id=folder.id, **_values(connection, folder)))
            there = {"folder_id": folder.id, "deleted_at": None}
            return _change_all(connection, conversation_ids, even_deleted=True, **there)

    def move_conversations(
        self, conversation_ids: Collection[int], folder_id: int | None
    ) -> tuple[ConversationSummary, ...]:
        """None: out of their folders. Raises NotPossible if the folder is gone, or for incognito ones."""
        _refuse_incognito(conversation_ids)
        with self._writing() as connection:
            if folder_id is not None:
                _find_folder(connection, folder_id)
            return _change_all(connection, conversation_ids, folder_id=folder_id)

    def pin_conversations(self, conversation_ids: Collection[int], is_pinned: bool) -> tuple[ConversationSummary, ...]:
        pinned_at = datetime.now(UTC) if is_pinned else None
        return self._change_everywhere(conversation_ids, pinned_at=pinned_at)

    def archive_conversations(
        self, conversation_ids: Collection[int], is_archived: bool
    ) -> tuple[ConversationSummary, ...]:
        """Raises NotPossible for incognito ones."""
        _refuse_incognito(conversation_ids)
        with self._writing() as connection:
            archived_at = datetime.now(UTC) if is_archived else None
            return _change_all(connection, conversation_ids, archived_at=archived_at)

    def return_conversations(self, earlier: Iterable[ConversationSummary]) -> tuple[ConversationSummary, ...]:
        """Back to the folder, pin and archive that these have; out of all folders where theirs is gone."""
        alike: dict[tuple[bool, int | None, bool, bool], list[int]] = defaultdict(list)
        for each in earlier:
            alike[is_incognito(each.id), each.folder_id, each.is_pinned, each.is_archived].append(each.id)
        now = datetime.now(UTC)
        returned: list[ConversationSummary] = []
        for incognito in sorted({key[0] for key in alike}):
            with (self._in_memory() if incognito else self._file).writing() as connection:
                folders = set(_names(connection).values())
                for (where, folder_id, is_pinned, is_archived), ids in alike.items():
                    if where == incognito:
                        returned += _change_all(
                            connection,
                            ids,
                            folder_id=folder_id if folder_id in folders else None,
                            pinned_at=now if is_pinned else None,
                            archived_at=now if is_archived else None,
                        )
        return tuple(returned)

    def delete_conversations(self, conversation_ids: Collection[int]) -> tuple[ConversationSummary, ...]:
        """Hides them, and those that are hidden stay so. Until `purge_deleted`, `restore_conversations` brings them
        back."""
        deleted: list[ConversationSummary] = []
        for ids, database in self._by_database(conversation_ids):
            with database.writing() as connection:
                deleted += _find_all(connection, ids, even_deleted=True)
                for some in _in_parts(ids):
                    shown = ConversationRow.id.in_(some), ConversationRow.deleted_at.is_(None)
                    hide = update(ConversationRow).where(*shown).values(deleted_at=datetime.now(UTC))
                    connection.execute(hide)
        return tuple(deleted)

    def restore_conversations(self, conversation_ids: Collection[int]) -> tuple[ConversationSummary, ...]:
        return self._change_everywhere(conversation_ids, even_deleted=True, deleted_at=None)

    def _change_everywhere(
        self, conversation_ids: Collection[int], *, even_deleted: bool = False, **values: object
    ) -> tuple[ConversationSummary, ...]:
        changed: list[ConversationSummary] = []
        for ids, database in self._by_database(conversation_ids):
            with database.writing() as connection:
                changed += _change_all(connection, ids, even_deleted=even_deleted, **values)
        return tuple(changed)

    def _by_database(self, conversation_ids: Collection[int]) -> Iterator[tuple[list[int], Database]]:
        """Incognito ones last, which are in a transaction of their own."""
        for incognito in (False, True):
            ids = [number for number in conversation_ids if is_incognito(number) == incognito]
            if ids:
                yield ids, self._in_memory() if incognito else self._file


class FoldersByName:
    """Where imported conversations go: folders that are here, or made when one is first named."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._numbers = {name.casefold(): number for name, number in _names(connection).items()}

    def number_of(self, name: str) -> int | None:
        """None for a name that cannot be used, and where there are too many folders already."""
        name = _fit(name)[:FOLDER_NAME_LENGTH].strip()
        key = name.casefold()
        if not name or (key not in self._numbers and len(self._numbers) >= MOST_FOLDERS):
            return None
        if key not in self._numbers:
            self._numbers[key] = self._connection.execute(insert(FolderRow).values(name=name)).lastrowid
        return self._numbers[key]


def folder_name(connection: Connection, folder_id: int | None) -> str:
    """Empty where there is none."""
    wanted = select(FolderRow.name).where(FolderRow.id == folder_id)
    return "" if folder_id is None else connection.execute(wanted).scalar_one_or_none() or ""


def existing_folder(connection: Connection, folder_id: int | None) -> int | None:
    """None if it is gone."""
    if folder_id is None:
        return None
    return connection.execute(select(FolderRow.id).where(FolderRow.id == folder_id)).scalar_one_or_none()


def _refuse_incognito(conversation_ids: Iterable[int]) -> None:
    if any(map(is_incognito, conversation_ids)):
        raise NotPossible(_NO_INCOGNITO)


def _names(connection: Connection) -> dict[str, int]:
    """The names of all folders, with their ids."""
    return {row.name: row.id for row in connection.execute(select(FolderRow.name, FolderRow.id))}


def _check_room(names: Collection[str]) -> None:
    if len(names) >= MOST_FOLDERS:
        raise NotPossible("There are {most:,} folders already; delete one first.", most=MOST_FOLDERS)


def _fit(name: str) -> str:
    return " ".join(encodable(name).split())


def _checked_name(name: str, taken: Iterable[str]) -> str:
    name = _fit(name)
    if not name:
        raise SettingInvalid("A folder needs a name.")
    if len(name) > FOLDER_NAME_LENGTH:
        raise SettingInvalid("A folder name may have at most {most} characters.", most=FOLDER_NAME_LENGTH)
    if name.casefold() in {each.casefold() for each in taken}:
        raise SettingInvalid("There is already a folder “{name}”; choose another name.", name=name)
    return name


def _values(connection: Connection, folder: Folder) -> dict[str, object]:
    """The columns of a folder; a preset that is gone is left out."""
    preset = select(PresetRow.id).where(PresetRow.id == folder.preset_id)
    prompt = folder.system_prompt
    return {
        "name": folder.name,
        "system_prompt": None if prompt is None else encodable(prompt),
        "preset_id": connection.execute(preset).scalar_one_or_none(),
        "target_name": encodable(folder.target.name) if folder.target else "",
        "target_identity": encodable(folder.target.identity) if folder.target else "",
    }


def _find_folder(connection: Connection, folder_id: int) -> Folder:
    row = connection.execute(select(FolderRow.__table__).where(FolderRow.id == folder_id)).one_or_none()
    if row is None:
        raise NotPossible(_NO_FOLDER)
    return _folder(row)


def _folder(row: Row[Any]) -> Folder:
    target = TargetChoice(row.target_name, row.target_identity) if row.target_name else None
    return Folder(row.id, row.name, row.system_prompt, row.preset_id, target)


def _change_all(
    connection: Connection, conversation_ids: Collection[int], *, even_deleted: bool = False, **values: object
) -> tuple[ConversationSummary, ...]:
    """Returns them as they are then."""
    _find_all(connection, conversation_ids, even_deleted=even_deleted)
    for some in _in_parts(conversation_ids):
        connection.execute(update(ConversationRow).where(ConversationRow.id.in_(some)).values(**values))
    return _find_all(connection, conversation_ids)


def _find_all(
    connection: Connection, conversation_ids: Collection[int], *, even_deleted: bool = False
) -> tuple[ConversationSummary, ...]:
    """Summaries in the order of the ids."""
    found = {}
    for some in _in_parts(conversation_ids):
        wanted = SUMMARIES.where(ConversationRow.id.in_(some))
        if not even_deleted:
            wanted = wanted.where(ConversationRow.deleted_at.is_(None))
        found.update({row.id: summary_of(row) for row in connection.execute(wanted)})
    if len(found) < len(set(conversation_ids)):
        if len(set(conversation_ids)) == 1:
            raise ConversationMissing("This chat no longer exists.")
        raise ConversationMissing("Some of these chats no longer exist.")
    return tuple(found[number] for number in dict.fromkeys(conversation_ids))


def _in_parts(conversation_ids: Iterable[int]) -> Iterator[list[int]]:
    """Leaves out ids that no conversation can have."""
    possible = iter([number for number in conversation_ids if number in POSSIBLE_IDS])
    while some := list(islice(possible, _AT_ONCE)):
        yield some
