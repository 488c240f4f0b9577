"""What stands in the rows of the sidebar: pinned chats, folders with their chats, then the others by day;
and the filter that leaves some out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import NamedTuple

from app.text.translation import translate
from engine.values.conversations import ConversationSummary
from engine.values.order import Folder


@dataclass(frozen=True, slots=True)
class ChatFilter:
    """All that is set must be so."""

    target_name: str = ""  # wrote the latest reply; empty: any
    num_days: int | None = None  # used in the last days, today included
    first_day: date | None = None  # used then or later
    last_day: date | None = None  # used then or earlier
    is_archived: bool = False  # those in the archive, instead of the others

    @property
    def is_on(self) -> bool:
        """True if the filter hides more than the archive."""
        return self != ChatFilter()

    def taking(self, today: date, anywhere: bool = False) -> Callable[[ConversationSummary], bool]:
        """A predicate for chats to show; `anywhere`: regardless of the archive."""
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
    """Local midnight, in seconds since 1970."""
    return datetime.combine(day, time.min).timestamp()


class FolderEntry(NamedTuple):
    folder: Folder
    num_chats: int  # that are shown in it, or would be if it were open
    is_open: bool
    heading: str = ""  # above this row

    @property
    def key(self) -> tuple[str, int]:
        return "folder", self.folder.id

    @property
    def words(self) -> str:
        return self.folder.name


class ChatEntry(NamedTuple):
    summary: ConversationSummary
    heading: str = ""  # above this row
    is_inside: bool = False  # below its folder
    folder_name: str = ""  # of one that is in a folder, but elsewhere in the list

    @property
    def key(self) -> tuple[str, int]:
        return "chat", self.summary.id

    @property
    def words(self) -> str:
        return self.summary.title


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
    """The beginning of each group of days, latest first."""
    return (
        (begin_of(today), translate("ConversationsModel", "Today")),
        (begin_of(today - timedelta(days=1)), translate("ConversationsModel", "Yesterday")),
        (begin_of(today - timedelta(days=7)), translate("ConversationsModel", "Previous 7 days")),
    )


def _heading(seconds: float, begins: Collection[tuple[float, str]]) -> str:
    return next((words for begin, words in begins if seconds >= begin), translate("ConversationsModel", "Older"))
