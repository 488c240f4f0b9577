"""What stands in the rows of the sidebar: pinned chats, folders with their chats, then the others by day."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta
from typing import NamedTuple

from app.models.chat_filter import begin_of
from app.text.translation import translate
from engine.messages.conversations import ConversationSummary
from engine.messages.order import Folder


class FolderEntry(NamedTuple):
    folder: Folder
    num_chats: int  # that are shown in it, or would be if it were open
    is_open: bool
    heading: str = ""  # above this row

    @property
    def key(self) -> tuple[str, int]:
        return "folder", self.folder.id


class ChatEntry(NamedTuple):
    summary: ConversationSummary
    heading: str = ""  # above this row
    is_inside: bool = False  # below its folder
    folder_name: str = ""  # of one that is in a folder, but elsewhere in the list

    @property
    def key(self) -> tuple[str, int]:
        return "chat", self.summary.id


Entry = FolderEntry | ChatEntry


def arranged(
    summaries: Iterable[ConversationSummary],
    folders: Sequence[Folder],
    is_open: Callable[[int], bool],
    today: date,
    shows_empty: bool = True,
) -> list[Entry]:
    """`summaries` are the chats to show, last used first; `folders` by name. `shows_empty`: folders without any."""
    pinned: list[ConversationSummary] = []
    loose: list[ConversationSummary] = []
    inside: dict[int, list[ConversationSummary]] = {folder.id: [] for folder in folders}
    for summary in summaries:
        if summary.is_pinned:
            pinned.append(summary)
        elif summary.folder_id in inside:
            inside[summary.folder_id].append(summary)
        else:
            loose.append(summary)
    names = {folder.id: folder.name for folder in folders}
    entries: list[Entry] = [ChatEntry(each, "", False, names.get(each.folder_id or 0, "")) for each in pinned]
    _head(entries, 0, translate("ConversationsModel", "Pinned"))
    place = len(entries)
    for folder in folders:
        chats = inside[folder.id]
        if chats or shows_empty:
            opened = is_open(folder.id)
            entries.append(FolderEntry(folder, len(chats), opened))
            if opened:
                entries += [ChatEntry(each, "", True) for each in chats]
    _head(entries, place, translate("ConversationsModel", "Folders"))
    entries += _by_day(loose, today)
    return entries


def _head(entries: list[Entry], place: int, heading: str) -> None:
    if place < len(entries):
        entries[place] = entries[place]._replace(heading=heading)


def _by_day(summaries: Iterable[ConversationSummary], today: date) -> Iterator[ChatEntry]:
    begins = _begins(today)
    last = ""
    for summary in summaries:
        heading = _heading(summary.updated_at.timestamp(), begins)
        yield ChatEntry(summary, heading if heading != last else "")
        last = heading


def group_of(used_at: datetime, today: date) -> str:
    return _heading(used_at.timestamp(), _begins(today))


def _begins(today: date) -> tuple[tuple[float, str], ...]:
    """When each group of days begins, the latest first."""
    return (
        (begin_of(today), translate("ConversationsModel", "Today")),
        (begin_of(today - timedelta(days=1)), translate("ConversationsModel", "Yesterday")),
        (begin_of(today - timedelta(days=7)), translate("ConversationsModel", "Previous 7 days")),
    )


def _heading(seconds: float, begins: Collection[tuple[float, str]]) -> str:
    return next((words for begin, words in begins if seconds >= begin), translate("ConversationsModel", "Older"))
