from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from app.models.conversation_rows import group_of
from app.models.conversations import ConversationsModel
from engine.messages.conversations import ConversationSummary

NOW = datetime.now(UTC)


def summary(number: int, days_ago: float = 0.0, title: str = "") -> ConversationSummary:
    return ConversationSummary(number, title or f"Conversation {number}", NOW - timedelta(days=days_ago))


def ids(model: ConversationsModel) -> list[int]:
    return [model.summary(row).id for row in range(model.rowCount())]


def headings(model: ConversationsModel) -> list[str]:
    return [model.data(model.index(row), ConversationsModel.GroupRole) for row in range(model.rowCount())]


@pytest.fixture
def model(qtmodeltester: ModelTester) -> ConversationsModel:
    model = ConversationsModel()
    model.set_all((summary(1, 40), summary(2, 3), summary(3, 0)))
    qtmodeltester.check(model)  # type: ignore[no-untyped-call]
    return model


def test_the_last_used_comes_first(model: ConversationsModel) -> None:
    assert ids(model) == [3, 2, 1]


def test_using_one_moves_it_to_the_top(model: ConversationsModel) -> None:
    model.upsert(summary(1, -0.001))
    assert ids(model) == [1, 3, 2]


def test_a_restored_one_goes_back_to_its_place(model: ConversationsModel) -> None:
    model.remove(2)
    assert ids(model) == [3, 1]
    model.upsert(summary(2, 3))
    assert ids(model) == [3, 2, 1]


def test_one_that_gets_older_moves_down(model: ConversationsModel) -> None:
    model.upsert(summary(3, 20))
    assert ids(model) == [2, 3, 1]


def test_removing_what_is_not_there_changes_nothing(model: ConversationsModel) -> None:
    model.remove(99)
    assert ids(model) == [3, 2, 1]


def test_headings_stand_where_a_group_begins(model: ConversationsModel) -> None:
    model.upsert(summary(4, -0.001))
    assert headings(model) == ["Today", "", "Previous 7 days", "Older"]


def test_renaming_is_told(qtbot: QtBot, model: ConversationsModel) -> None:
    with qtbot.waitSignal(model.renamed) as renamed:
        assert model.setData(model.index(0), "  Another\n title ")
    assert renamed.args == [3, "Another title"]
    assert model.data(model.index(0)) == "Another title"


@pytest.mark.parametrize("title", ["", "   ", "Conversation 3"])
def test_empty_or_equal_titles_are_refused(qtbot: QtBot, model: ConversationsModel, title: str) -> None:
    with qtbot.assertNotEmitted(model.renamed):
        assert not model.setData(model.index(0), title)


def test_groups_of_days() -> None:
    today = date(2026, 5, 10)
    assert group_of(datetime(2026, 5, 10, 0, 1), today) == "Today"
    assert group_of(datetime(2026, 5, 9, 23, 59), today) == "Yesterday"
    assert group_of(datetime(2026, 5, 3), today) == "Previous 7 days"
    assert group_of(datetime(2026, 5, 2), today) == "Older"
