from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QModelIndex, Qt
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from app.models.conversation_rows import ChatFilter, FolderEntry, group_of
from app.models.conversations import ConversationsModel
from engine.values.conversations import ConversationSummary
from engine.values.order import Folder

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _noon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Midnight does not pass between a chat and its heading."""
    monkeypatch.setattr("app.models.conversations._today", NOW.date)


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


FOLDERS = (Folder(9, "Garden"), Folder(8, "Work"))


def entries(model: ConversationsModel) -> list[str]:
    """Folders with a plus while open, what stands in them behind a dash."""
    shown = []
    for row in range(model.rowCount()):
        entry = model.entry(row)
        if isinstance(entry, FolderEntry):
            shown.append(f"{'+' if entry.is_open else ''}{entry.folder.name} {entry.num_chats}")
        else:
            shown.append(("- " if entry.is_inside else "") + str(entry.summary.id))
    return shown


@pytest.fixture
def ordered(model: ConversationsModel) -> ConversationsModel:
    """1 and 2 at work, 3 pinned, 4 in the archive, 5 nowhere, 6 in a folder that is gone."""
    model.set_folders(FOLDERS)
    model.set_all(
        (
            replace(summary(1, 1), folder_id=8, target_name="Big"),
            replace(summary(2, 2), folder_id=8, target_name="Small"),
            replace(summary(3, 3), folder_id=9, is_pinned=True, target_name="Big"),
            replace(summary(4, 4), is_archived=True, target_name="Big"),
            replace(summary(5, 40), target_name="Small"),
            replace(summary(6, 50), folder_id=77),
        )
    )
    return model


def test_pinned_ones_then_folders_then_days(ordered: ConversationsModel) -> None:
    assert entries(ordered) == ["3", "Garden 0", "Work 2", "5", "6"]
    assert headings(ordered) == ["Pinned", "Folders", "", "Older", ""]
    assert ordered.data(ordered.index(2), Qt.ItemDataRole.AccessibleTextRole).startswith("Folder Work, 2 chat")
    assert ordered.data(ordered.index(0), Qt.ItemDataRole.AccessibleDescriptionRole) == "Pinned, In the folder Garden"


def test_an_open_folder_shows_its_chats_and_stays_open(qtbot: QtBot, ordered: ConversationsModel) -> None:
    with qtbot.waitSignal(ordered.opened_changed):
        ordered.set_open(8, True)
    assert entries(ordered) == ["3", "Garden 0", "+Work 2", "- 1", "- 2", "5", "6"]
    ordered.upsert(replace(summary(2, -0.1), folder_id=8))
    assert entries(ordered)[2:5] == ["+Work 2", "- 2", "- 1"]
    ordered.set_folders((Folder(8, "Labour"),))
    assert entries(ordered) == ["3", "+Labour 2", "- 2", "- 1", "5", "6"]
    ordered.set_open(8, False)
    assert ordered.opened == frozenset()


def test_a_chat_is_revealed_where_it_is(ordered: ConversationsModel) -> None:
    ordered.reveal(5)
    assert ordered.opened == frozenset()
    ordered.reveal(2)
    assert (ordered.opened, ordered.row_of(2)) == (frozenset({8}), 4)


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (ChatFilter(target_name="Big"), ["3", "+Work 1", "- 1"]),
        (ChatFilter(target_name="Big", is_archived=True), ["4"]),
        (ChatFilter(num_days=3), ["+Work 2", "- 1", "- 2"]),
        (ChatFilter(first_day=(NOW - timedelta(days=45)).date(), last_day=(NOW - timedelta(days=35)).date()), ["5"]),
        (ChatFilter(target_name="nobody"), []),
    ],
)
def test_a_filter_opens_what_it_finds_and_leaves_out_the_rest(
    ordered: ConversationsModel, chosen: ChatFilter, expected: list[str]
) -> None:
    ordered.set_filter(chosen)
    assert entries(ordered) == expected
    ordered.set_filter(ChatFilter())
    assert entries(ordered) == ["3", "Garden 0", "Work 2", "5", "6"]


def test_a_folder_is_closed_within_a_filter_alone(ordered: ConversationsModel) -> None:
    ordered.set_filter(ChatFilter(num_days=3))
    ordered.set_open(8, False)
    assert entries(ordered) == ["Work 2"]
    ordered.set_filter(ChatFilter(num_days=4))
    assert "+Work 2" in entries(ordered)


def test_what_models_wrote_most_comes_first(ordered: ConversationsModel) -> None:
    assert ordered.target_names() == ("Big", "Small")


def test_folders_are_never_selected_and_renamed_only_by_the_engine(qtbot: QtBot, ordered: ConversationsModel) -> None:
    assert not ordered.flags(ordered.index(1)) & Qt.ItemFlag.ItemIsSelectable
    with qtbot.waitSignal(ordered.folder_renamed) as renamed:
        assert ordered.setData(ordered.index(1), " Yard ")
    assert renamed.args == [9, "Yard"]
    assert ordered.data(ordered.index(1)) == "Garden", "until that is stored"


@given(st.lists(st.tuples(st.integers(1, 6), st.booleans(), st.sampled_from([None, 8, 9]), st.booleans()), max_size=12))
@settings(max_examples=60, deadline=None)
def test_whatever_changes_is_told_as_it_is(changes: list[tuple[int, bool, int | None, bool]]) -> None:
    """Whoever only listens knows the same rows."""
    model = ConversationsModel()
    model.set_folders(FOLDERS)
    told: list[str] = []

    def reset() -> None:
        told[:] = entries(model)

    def insert(_parent: QModelIndex, first: int, last: int) -> None:
        told[first:first] = entries(model)[first : last + 1]

    def remove(_parent: QModelIndex, first: int, last: int) -> None:
        del told[first : last + 1]

    def move(_parent: QModelIndex, first: int, last: int, _to: QModelIndex, place: int) -> None:
        moved = told[first : last + 1]
        del told[first : last + 1]
        place -= len(moved) if place > first else 0
        told[place:place] = moved

    def change(first: QModelIndex, last: QModelIndex) -> None:
        told[first.row() : last.row() + 1] = entries(model)[first.row() : last.row() + 1]

    model.modelReset.connect(reset)
    model.rowsInserted.connect(insert)
    model.rowsRemoved.connect(remove)
    model.rowsMoved.connect(move)
    model.dataChanged.connect(change)
    reset()
    for number, is_here, folder_id, opens in changes:
        if is_here:
            model.upsert(replace(summary(number, number % 3), folder_id=folder_id, is_pinned=number == 6))
        else:
            model.remove(number)
        model.set_open(8, opens)
        assert told == entries(model)
        assert [model.row_of(number) for number in range(1, 7)] == [
            next((row for row, each in enumerate(told) if each.removeprefix("- ") == str(number)), None)
            for number in range(1, 7)
        ]
