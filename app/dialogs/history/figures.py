"""The figures of the page, made from the history: chosen, grouped and added up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum

from engine.messages.history import AdapterNote, Portion, Tally, TotalSpeedup, total
from engine.messages.replies import TextKind

MOST_POINTS = 90  # of a plot: more are too close to each other


class Grouping(StrEnum):
    DAY = "day"
    CHAT = "chat"


@dataclass(frozen=True, slots=True)
class Choice:
    """The part of the history that the user chose. None: all."""

    target_name: str | None = None
    kind: TextKind | None = None
    grouping: Grouping = Grouping.DAY

    def keeps(self, portion: Portion) -> bool:
        return self.target_name in (None, portion.target_name) and self.kind in (None, portion.kind)

    def keeps_note(self, note: AdapterNote) -> bool:
        """An adapter whose targets are not known is always shown."""
        return self.target_name is None or not note.target_names or self.target_name in note.target_names


@dataclass(frozen=True, slots=True)
class Point:
    """Consecutive days or chats."""

    place: float  # of the first day as its ordinal, or the number of the first chat; the middle of a few
    first: Portion
    last: Portion
    num_groups: int  # days or chats
    speedup: TotalSpeedup


@dataclass(frozen=True, slots=True)
class Mark:
    """Where an adapter was published."""

    place: float
    note: AdapterNote


@dataclass(frozen=True, slots=True)
class Row:
    """Replies of one target and kind; kind None: of all kinds."""

    target_name: str
    kind: TextKind | None
    tally: Tally


def points(portions: Iterable[Portion], grouping: Grouping, most: int = MOST_POINTS) -> tuple[Point, ...]:
    """Of the days or chats with a comparison, oldest first. Where there are more than `most`, consecutive ones become
    one point."""
    groups: dict[Hashable, list[Portion]] = defaultdict(list)
    for portion in portions:
        groups[portion.day if grouping is Grouping.DAY else portion.conversation_id].append(portion)
    in_order = list(groups.values())
    numbered = [(_place(group[0], number, grouping), group) for number, group in enumerate(in_order, 1)]
    width = -(-_extent(numbered, grouping) // most) or 1
    joined: dict[int, list[tuple[float, list[Portion]]]] = defaultdict(list)
    for place, group in numbered:
        joined[int(place - numbered[0][0]) // width].append((place, group))
    made = (_point(those) for those in joined.values())
    return tuple(point for point in made if point is not None)


def marks(notes: Iterable[AdapterNote], portions: Sequence[Portion], grouping: Grouping) -> tuple[Mark, ...]:
    """Within its day, or among the chats before the first that began later."""
    if grouping is Grouping.DAY:
        return tuple(Mark(_within_day(note.created_at.astimezone()), note) for note in notes)
    began = {portion.conversation_id: portion.began_at for portion in reversed(portions)}
    return tuple(Mark(sum(at < note.created_at for at in began.values()) + 0.5, note) for note in notes)


def rows(portions: Iterable[Portion]) -> tuple[Row, ...]:
    """By target, most replies first, then by kind; a target that wrote several kinds has a row for all of them."""
    by_target: dict[str, dict[TextKind, list[Tally]]] = defaultdict(lambda: defaultdict(list))
    for portion in portions:
        by_target[portion.target_name][portion.kind].append(portion.tally)
    found: list[tuple[int, list[Row]]] = []
    for name, kinds in by_target.items():
        of_kinds = [Row(name, kind, total(kinds[kind])) for kind in TextKind if kind in kinds]
        whole = Row(name, None, total(row.tally for row in of_kinds))
        found.append((whole.tally.num_replies, [whole, *of_kinds] if len(of_kinds) > 1 else of_kinds))
    return tuple(row for _, those in sorted(found, key=lambda each: -each[0]) for row in those)


def since(portions: Iterable[Portion], today: date, num_days: int) -> tuple[Portion, ...]:
    """Those of the last so many days, today included."""
    return tuple(portion for portion in portions if portion.day > today - timedelta(days=num_days))


def _within_day(at: datetime) -> float:
    """Half a day to either side of its ordinal."""
    return at.toordinal() + (at.hour + at.minute / 60) / 24 - 0.5


def _place(first: Portion, number: int, grouping: Grouping) -> float:
    return first.day.toordinal() if grouping is Grouping.DAY else number


def _extent(numbered: Sequence[tuple[float, list[Portion]]], grouping: Grouping) -> int:
    """Days from the first to the last one, those without a reply included; or chats."""
    if grouping is Grouping.CHAT or not numbered:
        return len(numbered)
    return int(numbered[-1][0] - numbered[0][0]) + 1


def _point(those: Sequence[tuple[float, list[Portion]]]) -> Point | None:
    speedup = total(portion.tally for _, group in those for portion in group).speedup
    if speedup is None:
        return None
    middle = (those[0][0] + those[-1][0]) / 2
    return Point(middle, those[0][1][0], those[-1][1][0], len(those), speedup)
