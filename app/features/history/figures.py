"""The figures of the page, made from the history: chosen, grouped and added up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum

from engine.values.history import AdapterNote, Portion, Tally, TotalSpeedup, total
from engine.values.learned import Benefit
from engine.values.replies import TextKind

_MIDDLE = 4.0  # of the first week, a Thursday; where a week is in the plot
MOST_POINTS = 90  # of a plot: more are too close to each other


class Grouping(StrEnum):
    DAY = "day"
    CHAT = "chat"
    WEEK = "week"  # with what was learned, and without


@dataclass(frozen=True, slots=True)
class HistoryFilter:
    """The part of the history that the user chose. None: all."""

    target_name: str | None = None
    kind: TextKind | None = None
    grouping: Grouping = Grouping.DAY

    def keeps(self, portion: Portion) -> bool:
        return self.target_name in (None, portion.target_name) and self.kind in (None, portion.kind)

    def keeps_note(self, note: AdapterNote) -> bool:
        """True if the adapter is to be shown; always if its targets are unknown."""
        return self.target_name is None or not note.target_names or self.target_name in note.target_names


@dataclass(frozen=True, slots=True)
class Point:
    """Consecutive days, weeks or chats."""

    place: float  # of the first day or week as its ordinal, or the number of the first chat; the middle of a few
    first: Portion
    last: Portion
    num_groups: int  # days, weeks or chats
    figure: TotalSpeedup | Benefit


@dataclass(frozen=True, slots=True)
class Mark:
    """Where an adapter was published."""

    place: float
    note: AdapterNote


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """Replies of one target and kind; kind None: of all kinds."""

    target_name: str
    kind: TextKind | None
    tally: Tally


def points(portions: Iterable[Portion], grouping: Grouping, most: int = MOST_POINTS) -> tuple[Point, ...]:
    """One point for each day, week or chat with a comparison, oldest first. Beyond `most`, neighbours are merged; days
    and weeks without a reply count too."""
    groups: dict[int, list[Portion]] = defaultdict(list)
    for portion in portions:
        groups[_group(portion, grouping)].append(portion)
    of_chats = grouping is Grouping.CHAT
    numbered = [(number if of_chats else place, group) for number, (place, group) in enumerate(groups.items(), 1)]
    if not numbered:
        return ()
    first, last = numbered[0][0], numbered[-1][0]
    width = -(-(last - first + 1) // most)
    joined: dict[int, list[tuple[int, list[Portion]]]] = defaultdict(list)
    for place, group in numbered:
        joined[(place - first) // width].append((place, group))
    made = (_point(those, grouping) for those in joined.values())
    return tuple(point for point in made if point is not None)


def marks(notes: Iterable[AdapterNote], portions: Sequence[Portion], grouping: Grouping) -> tuple[Mark, ...]:
    """The place of each note: within its day or week, or before the first chat that began later."""
    if grouping is Grouping.DAY:
        return tuple(Mark(_within_day(note.created_at.astimezone()), note) for note in notes)
    if grouping is Grouping.WEEK:
        return tuple(Mark((_within_day(note.created_at.astimezone()) - _MIDDLE) / 7, note) for note in notes)
    began = {portion.conversation_id: portion.began_at for portion in reversed(portions)}
    return tuple(Mark(sum(at < note.created_at for at in began.values()) + 0.5, note) for note in notes)


def rows(portions: Iterable[Portion]) -> tuple[HistoryRow, ...]:
    """One row per target, most replies first, then by kind; a target with several kinds also gets a row for all of
    them."""
    by_target: dict[str, dict[TextKind, list[Tally]]] = defaultdict(lambda: defaultdict(list))
    for portion in portions:
        by_target[portion.target_name][portion.kind].append(portion.tally)
    found: list[tuple[int, list[HistoryRow]]] = []
    for name, kinds in by_target.items():
        of_kinds = [HistoryRow(name, kind, total(kinds[kind])) for kind in TextKind if kind in kinds]
        whole = HistoryRow(name, None, total(row.tally for row in of_kinds))
        found.append((whole.tally.num_replies, [whole, *of_kinds] if len(of_kinds) > 1 else of_kinds))
    return tuple(row for _, those in sorted(found, key=lambda each: -each[0]) for row in those)


@dataclass(frozen=True, slots=True)
class Paying:
    """How replies of one kind of text fared; kind None: text that comes again, of whatever kind."""

    kind: TextKind | None
    speedup: TotalSpeedup


def by_text(portions: Iterable[Portion]) -> tuple[Paying, ...]:
    """Kinds of text by speed-up, highest first; kinds without a compared reply are left out."""
    tallies: dict[TextKind | None, list[Tally]] = defaultdict(list)
    for portion in portions:
        tallies[None if portion.reuses else portion.kind].append(portion.tally)
    found = ((kind, total(those).speedup) for kind, those in tallies.items())
    return tuple(sorted((Paying(kind, each) for kind, each in found if each), key=lambda each: -each.speedup.ratio))


def since(portions: Iterable[Portion], today: date, num_days: int) -> tuple[Portion, ...]:
    """Those of the last `days`, including today."""
    return tuple(portion for portion in portions if portion.day > today - timedelta(days=num_days))


def _within_day(at: datetime) -> float:
    """The day's ordinal, moved by up to half a day by the time."""
    return at.toordinal() + (at.hour + at.minute / 60) / 24 - 0.5


def week_begins(place: float) -> date:
    """The Monday of the week at this place."""
    return date.fromordinal(max(0, round(place)) * 7 + 1)


def _group(portion: Portion, grouping: Grouping) -> int:
    """The day or week as an ordinal counted from a Monday, or the chat."""
    day = portion.day.toordinal()
    return {Grouping.DAY: day, Grouping.WEEK: (day - 1) // 7}.get(grouping, portion.conversation_id)


def _point(those: Sequence[tuple[int, list[Portion]]], grouping: Grouping) -> Point | None:
    tally = total(portion.tally for _, group in those for portion in group)
    figure = tally.benefit if grouping is Grouping.WEEK else tally.speedup
    if figure is None:
        return None
    middle = (those[0][0] + those[-1][0]) / 2
    return Point(middle, those[0][1][0], those[-1][1][-1], len(those), figure)
