from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import pytest

from app.features.history.figures import Grouping, HistoryFilter, Point, marks, points, rows, since, week_begins
from engine.values.history import Tally, TotalSpeedup
from engine.values.learned import Benefit, ScoredReplies
from engine.values.replies import TextKind
from tests.unit.app.features.history.made import ago, history, note, portion, tally

DAY = date(2026, 3, 1)


def ratio(point: Point) -> float:
    assert isinstance(point.figure, TotalSpeedup)
    return point.figure.ratio


def test_a_choice_keeps_what_it_names() -> None:
    days = history().days
    assert len([day for day in days if HistoryFilter().keeps(day)]) == 4
    assert [day.conversation_id for day in days if HistoryFilter("Tiny").keeps(day)] == [1, 2, 4]
    assert [day.conversation_id for day in days if HistoryFilter("Tiny", TextKind.CODE).keeps(day)] == [2]
    assert HistoryFilter("Tiny").keeps_note(note())
    assert HistoryFilter("Big").keeps_note(note(targets=()))
    assert not HistoryFilter("Big").keeps_note(note())


def test_each_day_is_a_point_of_all_that_was_written_on_it() -> None:
    made = points(
        [portion(DAY, 1, figures=tally(1.0)), portion(DAY, 2, figures=tally(2.0)), portion(DAY + timedelta(2), 3)],
        Grouping.DAY,
    )
    assert [point.place for point in made] == [DAY.toordinal(), DAY.toordinal() + 2]
    assert [ratio(point) for point in made] == pytest.approx([1.5, 1.5], abs=0.02)
    assert [point.figure.num_replies for point in made] == [4, 2]


def test_each_chat_is_a_point_in_order() -> None:
    made = points([portion(DAY, 7), portion(DAY, 7, "Big"), portion(DAY, 9)], Grouping.CHAT)
    assert [(point.place, point.num_groups, point.figure.num_replies) for point in made] == [(1, 1, 4), (2, 1, 2)]


def test_days_without_a_comparison_are_left_out() -> None:
    alone = portion(DAY + timedelta(1), figures=tally(compared=False))
    assert points([alone], Grouping.DAY) == ()
    assert len(points([portion(DAY), alone], Grouping.DAY)) == 1
    assert points([], Grouping.DAY) == points([], Grouping.CHAT) == ()


def test_many_days_or_chats_become_few_points() -> None:
    year = [portion(DAY + timedelta(number), number) for number in range(0, 365, 2)]
    of_days = points(year, Grouping.DAY, most=40)
    assert len(of_days) <= 40
    assert sum(point.num_groups for point in of_days) == len(year)
    assert (of_days[0].first.day, of_days[0].last.day) == (DAY, DAY + timedelta(8))
    assert of_days[0].place == DAY.toordinal() + 4
    of_chats = points(year, Grouping.CHAT, most=40)
    assert [point.num_groups for point in of_chats] == [5] * 36 + [3]


def test_each_week_is_a_point_with_what_was_learned_and_without() -> None:
    days = [  # from a Sunday on, a day and a chat each
        replace(portion(DAY + timedelta(number), number), tally=Tally(scored=(ScoredReplies(number, 1, 200, 100, 80),)))
        for number in range(9)
    ]
    made = points([*days, portion(DAY + timedelta(9))], Grouping.WEEK)
    assert [(week_begins(point.place), point.first.day) for point in made] == [
        (date(2026, 2, 23), DAY),
        (date(2026, 3, 2), date(2026, 3, 2)),
        (date(2026, 3, 9), date(2026, 3, 9)),
    ]
    assert [point.figure for point in made] == [
        Benefit(2.0, 2.5, None, 1),
        Benefit(2.0, 2.5, 0.0, 7),
        Benefit(2.0, 2.5, None, 1),
    ]
    (mark,) = marks([note(day=date(2026, 3, 5))], days, Grouping.WEEK)  # a Thursday
    assert mark.place == pytest.approx(made[1].place, abs=0.1)
    assert len(points(days, Grouping.WEEK, most=2)) == 2


def test_adapters_stand_where_they_were_published() -> None:
    chats = [portion(ago(4), 1), portion(ago(2), 2), portion(ago(1), 3)]
    (of_days,) = marks([note(day=ago(3))], chats, Grouping.DAY)
    assert of_days.place == pytest.approx(ago(3).toordinal(), abs=1)
    (of_chats,) = marks([note(day=ago(3))], chats, Grouping.CHAT)
    assert of_chats.place == 1.5


def test_rows_are_by_target_and_kind_with_one_for_all_kinds() -> None:
    made = rows([portion(DAY), portion(DAY, kind=TextKind.CODE), portion(DAY, 2), portion(DAY, 3, "Big")])
    assert [(row.target_name, row.kind, row.tally.num_replies) for row in made] == [
        ("Tiny", None, 6),
        ("Tiny", TextKind.PROSE, 4),
        ("Tiny", TextKind.CODE, 2),
        ("Big", TextKind.PROSE, 2),
    ]


def test_the_last_days_include_today() -> None:
    days = [replace(portion(DAY), day=DAY - timedelta(number)) for number in range(10)]
    assert [day.day for day in since(days, DAY, 2)] == [DAY, DAY - timedelta(1)]
