"""The rows of the sidebar."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from PySide6.QtCore import QAbstractListModel, QObject, Qt, Signal

from app.models.conversation_rows import ChatEntry, ChatFilter, Entry, FolderEntry, arranged
from app.models.rows import ROOT, Index
from app.text.numbers import whole
from app.text.translation import QT_TRANSLATE_NOOP, translate
from app.text.unseen import in_tip, one_line
from engine.values.conversations import ConversationSummary
from engine.values.order import Folder

_Key = tuple[str, int]
_OF_FOLDERS = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsEditable  # what is selected is always chats
_OF_CHATS = _OF_FOLDERS | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsDragEnabled

_UNTITLED = QT_TRANSLATE_NOOP("ConversationsModel", "New chat")  # as the store has it


def title_words(title: str) -> str:
    """The title, or words for a chat without one."""
    return translate("ConversationsModel", title) if title == _UNTITLED else title


class ConversationsModel(QAbstractListModel):
    """Pinned chats, folders, which can be open, and the other chats, last used first; or those that a filter takes.
    Rows are computed once for each change, so that what is drawn is only looked up."""

    IdRole = Qt.ItemDataRole.UserRole + 1  # of a conversation; None for a folder
    GroupRole = Qt.ItemDataRole.UserRole + 2  # the heading above this row; empty where there is none
    IncognitoRole = Qt.ItemDataRole.UserRole + 3
    WrittenRole = Qt.ItemDataRole.UserRole + 4  # whether a reply is being written in it

    renamed = Signal(int, str)  # the user has given the conversation with this id another title
    folder_renamed = Signal(int, str)  # the same of a folder, whose row still has the old name
    opened_changed = Signal()  # other folders are open

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.filter = ChatFilter()
        self.folders: tuple[Folder, ...] = ()
        self.opened: frozenset[int] = frozenset()  # folders
        self._written: int | None = None  # the conversation in which a reply is being written
        self._closed: frozenset[int] = frozenset()  # while a filter is on; all others are open then
        self._summaries: dict[int, ConversationSummary] = {}  # last used first
        self._entries: list[Entry] = []
        self._rows: dict[_Key, int] = {}

    # What there is

    @property
    def summaries(self) -> Collection[ConversationSummary]:
        """All conversations, shown or not, last used first."""
        return self._summaries.values()

    def find(self, conversation_id: int) -> ConversationSummary | None:
        return self._summaries.get(conversation_id)

    def find_folder(self, folder_id: int | None) -> Folder | None:
        return next((folder for folder in self.folders if folder.id == folder_id), None)

    def inside(self, folder_id: int) -> tuple[ConversationSummary, ...]:
        return tuple(each for each in self._summaries.values() if each.folder_id == folder_id)

    def taking(self, anywhere: bool = False) -> Callable[[ConversationSummary], bool]:
        """The filter as a predicate; `anywhere`: the archive included."""
        return self.filter.taking(_today(), anywhere)

    def target_names(self) -> tuple[str, ...]:
        """Models of the latest replies, most chats first."""
        counted = Counter(each.target_name for each in self._summaries.values() if each.target_name)
        return tuple(name for name, _ in counted.most_common())

    def row_of(self, conversation_id: int) -> int | None:
        """The row; None if it is not shown."""
        return self._rows.get(("chat", conversation_id))

    def row_of_folder(self, folder_id: int) -> int | None:
        return self._rows.get(("folder", folder_id))

    def entry(self, row: int) -> Entry:
        return self._entries[row]

    def summary(self, row: int) -> ConversationSummary:
        entry = self._entries[row]
        assert isinstance(entry, ChatEntry)
        return entry.summary

    # What changes

    def set_all(self, summaries: Iterable[ConversationSummary]) -> None:
        self._take(summaries)

    def set_folders(self, folders: Sequence[Folder]) -> None:
        self.folders = tuple(folders)
        self._set_opened(self.opened & {folder.id for folder in folders})
        self._show()

    def upsert(self, *summaries: ConversationSummary) -> None:
        """Adds or changes conversations and moves them to their places."""
        self._take((self._summaries | {each.id: each for each in summaries}).values())

    def remove(self, *conversation_ids: int) -> None:
        gone = set(conversation_ids)
        self._take(each for each in self._summaries.values() if each.id not in gone)

    def set_filter(self, chosen: ChatFilter) -> None:
        """Filters the list; a filter opens all folders that hold a match."""
        self.filter, self._closed = chosen, frozenset()
        self._show()

    def set_written(self, conversation_id: int | None) -> None:
        """Marks the conversation in which a reply is being written."""
        before, self._written = self._written, conversation_id
        for changed in (before, conversation_id):
            row = None if changed is None else self.row_of(changed)
            if row is not None and before != conversation_id:
                self.dataChanged.emit(self.index(row), self.index(row))

    def set_open(self, folder_id: int, is_open: bool) -> None:
        if self.filter.is_on:
            self._closed = self._closed - {folder_id} if is_open else self._closed | {folder_id}
        else:
            self._set_opened(self.opened | {folder_id} if is_open else self.opened - {folder_id})
        self._show()

    def restore_opened(self, folder_ids: Iterable[int]) -> None:
        """Opens the folders that were open at the last start; they may be gone."""
        self.opened = frozenset(folder_ids)
        self._show()

    def reveal(self, conversation_id: int) -> None:
        """Opens the folder of a conversation, if the filter shows it."""
        summary = self._summaries.get(conversation_id)
        if summary is not None and summary.folder_id is not None and self.row_of(conversation_id) is None:
            self.set_open(summary.folder_id, True)

    def _take(self, summaries: Iterable[ConversationSummary]) -> None:
        ordered = sorted(summaries, key=_used_at, reverse=True)
        self._summaries = {each.id: each for each in ordered}
        self._show()

    def _set_opened(self, opened: frozenset[int]) -> None:
        if opened != self.opened:
            self.opened = opened
            self.opened_changed.emit()

    def _is_open(self, folder_id: int) -> bool:
        return folder_id not in self._closed if self.filter.is_on else folder_id in self.opened

    def _show(self) -> None:
        entries = arranged(
            filter(self.taking(), self._summaries.values()),
            self.folders,
            self._is_open,
            _today(),
            shows_empty=not self.filter.is_on,
        )
        self._replace(entries, {entry.key: row for row, entry in enumerate(entries)})

    def _replace(self, entries: list[Entry], rows: dict[_Key, int]) -> None:
        """Reports a single change precisely, so that views keep their place, and several as a reset."""
        before, after = list(self._rows), list(rows)
        begin, end = _changed_part(before, after)
        old, new = before[begin : len(before) - end], after[begin : len(after) - end]
        stay = (*after[:begin], *after[len(after) - end :])
        if not old and not new:
            self._set(entries, rows)
        elif any(self._entries[self._rows[key]].words != entries[rows[key]].words for key in stay):  # two changes
            self._reset(entries, rows)
        elif not old:
            self.beginInsertRows(ROOT, begin, begin + len(new) - 1)
            self._set(entries, rows)
            self.endInsertRows()
        elif not new:
            self.beginRemoveRows(ROOT, begin, begin + len(old) - 1)
            self._set(entries, rows)
            self.endRemoveRows()
        elif len(old) > 1 and old[1:] + old[:1] == new:  # the first has become the last
            self.beginMoveRows(ROOT, begin, begin, ROOT, begin + len(old))
            self._set(entries, rows)
            self.endMoveRows()
        elif len(old) > 1 and old[-1:] + old[:-1] == new:
            last = begin + len(old) - 1
            self.beginMoveRows(ROOT, last, last, ROOT, begin)
            self._set(entries, rows)
            self.endMoveRows()
        else:
            self._reset(entries, rows)
        if entries:  # headings and what rows say may have changed
            self.dataChanged.emit(self.index(0), self.index(len(entries) - 1))

    def _reset(self, entries: list[Entry], rows: dict[_Key, int]) -> None:
        self.beginResetModel()
        self._set(entries, rows)
        self.endResetModel()

    def _set(self, entries: list[Entry], rows: dict[_Key, int]) -> None:
        self._entries, self._rows = entries, rows

    # Qt's own

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self._entries)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        entry = self._entries[index.row()]
        if role == self.GroupRole:
            return entry.heading
        return self._of_folder(entry, role) if isinstance(entry, FolderEntry) else self._of_chat(entry, role)

    def _of_folder(self, entry: FolderEntry, role: int) -> Any:
        match role:
            case Qt.ItemDataRole.DisplayRole | Qt.ItemDataRole.EditRole:
                return entry.folder.name
            case Qt.ItemDataRole.ToolTipRole:
                return in_tip(entry.folder.name)
            case Qt.ItemDataRole.AccessibleTextRole:
                number = entry.num_chats
                words = self.tr("Folder {name}, {number} chat(s), closed", "", number)
                if entry.is_open:
                    words = self.tr("Folder {name}, {number} chat(s), open", "", number)
                return words.format(name=one_line(entry.folder.name), number=whole(number))
        return None

    def _of_chat(self, entry: ChatEntry, role: int) -> Any:
        summary = entry.summary
        match role:
            case Qt.ItemDataRole.DisplayRole | Qt.ItemDataRole.EditRole:
                return title_words(summary.title)
            case Qt.ItemDataRole.ToolTipRole:
                return in_tip("\n".join([title_words(summary.title), *self._written_in(summary)]))
            case Qt.ItemDataRole.AccessibleTextRole:
                return one_line(title_words(summary.title))
            case self.IdRole:
                return summary.id
            case self.IncognitoRole:
                return summary.incognito
            case self.WrittenRole:
                return summary.id == self._written
            case Qt.ItemDataRole.AccessibleDescriptionRole:
                return ", ".join(self._said_of(summary))
        return None

    def _said_of(self, summary: ConversationSummary) -> list[str]:
        said = self._written_in(summary)
        said += [self.tr("Incognito")] if summary.incognito else []
        said += [self.tr("Pinned")] if summary.is_pinned else []
        said += [self.tr("Archived")] if summary.is_archived else []
        folder = self.find_folder(summary.folder_id)
        return said + ([self.tr("In the folder {name}").format(name=one_line(folder.name))] if folder else [])

    def _written_in(self, summary: ConversationSummary) -> list[str]:
        return [self.tr("A reply is being written")] if summary.id == self._written else []

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        words = " ".join(str(value).split())
        entry = self._entries[index.row()]
        if role != Qt.ItemDataRole.EditRole or not words or words == self.data(index):
            return False
        if isinstance(entry, FolderEntry):
            self.folder_renamed.emit(entry.folder.id, words)
            return True
        renamed = replace(entry.summary, title=words)
        self._summaries[renamed.id] = renamed
        self._entries[index.row()] = entry._replace(summary=renamed)
        self.dataChanged.emit(index, index)
        self.renamed.emit(renamed.id, words)
        return True

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        return _OF_FOLDERS if isinstance(self._entries[index.row()], FolderEntry) else _OF_CHATS


def _changed_part(before: Sequence[_Key], after: Sequence[_Key]) -> tuple[int, int]:
    """The numbers of equal keys at the beginning and at the end."""
    most = min(len(before), len(after))
    begin = next((place for place in range(most) if before[place] != after[place]), most)
    most -= begin
    end = next((place for place in range(most) if before[-1 - place] != after[-1 - place]), most)
    return begin, end


def _today() -> date:
    return datetime.now().astimezone().date()


def _used_at(summary: ConversationSummary) -> float:
    return summary.updated_at.timestamp()
