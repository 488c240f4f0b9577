from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from PySide6.QtCore import QDate, QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from app.models.conversation_rows import ChatFilter
from app.models.search_hits import SearchHitsModel
from app.theme import ThemeKeeper
from app.widgets.chats.conversation_delegate import HEADING_PX, ROW_PX, cross_area
from app.widgets.chats.conversation_list import ConversationList
from app.widgets.chats.conversation_view import CHATS, dragged_ids
from engine.values.conversations import ConversationSummary, SearchHit
from engine.values.order import Folder

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _noon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Midnight does not pass between a chat and its heading."""
    monkeypatch.setattr("app.models.conversations._today", NOW.date)


def summary(number: int, days_ago: float) -> ConversationSummary:
    return ConversationSummary(number, f"Conversation {number}", NOW - timedelta(days=days_ago))


@pytest.fixture
def conversations(qtbot: QtBot, keeper: ThemeKeeper) -> ConversationList:
    conversations = ConversationList(keeper)
    qtbot.addWidget(conversations)
    conversations.resize(260, 500)
    conversations.set_conversations((summary(1, 0), summary(2, 2), summary(3, 2.1)))
    with qtbot.waitExposed(conversations):
        conversations.show()
    return conversations


def middle(conversations: ConversationList, row: int) -> QPoint:
    """Of the row itself, below its heading."""
    area = conversations.view.visualRect(conversations.model.index(row))
    return QPoint(area.center().x(), area.bottom() - ROW_PX // 2)


def test_a_click_chooses(qtbot: QtBot, conversations: ConversationList) -> None:
    with qtbot.waitSignal(conversations.chosen) as chosen:
        QTest.mouseClick(conversations.view.viewport(), Qt.MouseButton.LeftButton, pos=middle(conversations, 1))
    assert chosen.args == [2]
    assert conversations.chosen_id == 2


def test_arrows_choose_too(qtbot: QtBot, conversations: ConversationList) -> None:
    conversations.set_chosen(1)
    with qtbot.waitSignal(conversations.chosen) as chosen:
        QTest.keyClick(conversations.view, Qt.Key.Key_Down)
    assert chosen.args == [2]


def test_what_the_program_marks_is_not_told(qtbot: QtBot, conversations: ConversationList) -> None:
    with qtbot.assertNotEmitted(conversations.chosen):
        conversations.set_chosen(3)
        conversations.set_chosen(None)
        conversations.set_chosen(99)
    assert not conversations.view.selectionModel().hasSelection()


def test_the_chosen_one_stays_chosen_while_the_list_moves(qtbot: QtBot, conversations: ConversationList) -> None:
    conversations.set_chosen(3)
    with qtbot.assertNotEmitted(conversations.chosen):
        conversations.upsert(summary(3, -0.001))
        conversations.upsert(summary(4, -0.002))
        conversations.remove(1)
        conversations.set_conversations((summary(3, 0), summary(2, 1)))
    assert conversations.view.currentIndex().row() == 0
    assert conversations.chosen_id == 3


def test_removing_the_chosen_one_chooses_no_other(qtbot: QtBot, conversations: ConversationList) -> None:
    conversations.set_chosen(2)
    with qtbot.assertNotEmitted(conversations.chosen):
        conversations.remove(2)
    assert conversations.chosen_id is None
    assert not conversations.view.selectionModel().hasSelection()


@pytest.mark.parametrize("key", [Qt.Key.Key_Delete, Qt.Key.Key_Backspace])
def test_the_delete_key_asks_for_deletion(qtbot: QtBot, conversations: ConversationList, key: Qt.Key) -> None:
    conversations.set_chosen(2)
    with qtbot.waitSignal(conversations.deleted) as deleted:
        QTest.keyClick(conversations.view, key)
    assert deleted.args == [(2,)]


def test_the_cross_deletes_without_choosing(qtbot: QtBot, conversations: ConversationList) -> None:
    area = conversations.view.visualRect(conversations.model.index(1))
    with qtbot.waitSignal(conversations.deleted) as deleted, qtbot.assertNotEmitted(conversations.chosen):
        QTest.mouseClick(conversations.view.viewport(), Qt.MouseButton.LeftButton, pos=cross_area(area).center())
    assert deleted.args == [(2,)]


def test_renaming_in_place(qtbot: QtBot, conversations: ConversationList) -> None:
    conversations.set_chosen(2)
    conversations.view.setFocus()
    conversations.rename_current()
    editor = conversations.view.viewport().findChild(QLineEdit)
    assert isinstance(editor, QLineEdit)
    assert editor.text() == "Conversation 2"
    editor.setText("A better title")
    with qtbot.waitSignal(conversations.renamed) as renamed:
        QTest.keyClick(editor, Qt.Key.Key_Return)
    assert renamed.args == [2, "A better title"]


def test_the_button_begins_a_new_chat(qtbot: QtBot, conversations: ConversationList) -> None:
    with qtbot.waitSignal(conversations.new_requested):
        QTest.mouseClick(conversations.new_button, Qt.MouseButton.LeftButton)


def test_rows_with_a_heading_are_higher(qtbot: QtBot, conversations: ConversationList) -> None:
    def heights() -> list[int]:
        model = conversations.model
        return [conversations.view.visualRect(model.index(row)).height() for row in range(model.rowCount())]

    assert heights() == [ROW_PX + HEADING_PX, ROW_PX + HEADING_PX, ROW_PX]
    conversations.upsert(summary(2, -0.001))
    qtbot.waitUntil(lambda: heights() == [ROW_PX + HEADING_PX, ROW_PX, ROW_PX + HEADING_PX])


SHIFT, CTRL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier
WORK = Folder(8, "Work")


@pytest.fixture
def ordered(conversations: ConversationList) -> ConversationList:
    """1 to 3 by day, 4 and 5 at work."""
    conversations.set_folders((WORK,))
    inside = (replace(summary(number, number), folder_id=8) for number in (4, 5))
    conversations.upsert(*inside)
    return conversations


def click(conversations: ConversationList, row: int, *keys: Qt.KeyboardModifier) -> None:
    modifiers = keys[0] if keys else Qt.KeyboardModifier.NoModifier
    place = middle(conversations, row)
    QTest.mouseClick(conversations.view.viewport(), Qt.MouseButton.LeftButton, modifiers, place)


def test_several_are_selected_and_none_of_them_is_opened(qtbot: QtBot, conversations: ConversationList) -> None:
    click(conversations, 0)
    with qtbot.assertNotEmitted(conversations.chosen):
        click(conversations, 2, SHIFT)
    assert conversations.acted_on() == (1, 2, 3)
    assert conversations.selection_bar.isVisible()
    words = conversations.selection_bar.words
    words.resize(words.px("3 selected") - 1, words.height())
    assert words.text() == "3", "where there is no room for more"
    with qtbot.assertNotEmitted(conversations.chosen):
        click(conversations, 1, CTRL)
    assert conversations.acted_on() == (1, 3)
    with qtbot.waitSignal(conversations.deleted) as deleted:
        QTest.keyClick(conversations.view, Qt.Key.Key_Delete)
    assert deleted.args == [(1, 3)]
    QTest.keyClick(conversations.view, Qt.Key.Key_Escape)
    assert conversations.acted_on() == (1,)
    assert not conversations.selection_bar.isVisible()


def test_a_selection_stays_while_the_list_changes(qtbot: QtBot, conversations: ConversationList) -> None:
    click(conversations, 0)
    click(conversations, 1, SHIFT)
    with qtbot.assertNotEmitted(conversations.chosen):
        conversations.upsert(summary(9, -0.1), summary(3, -0.2))
        conversations.set_folders((WORK,))
        conversations.upsert(replace(summary(2, 2), is_pinned=True))
    assert set(conversations.acted_on()) == {1, 2}
    conversations.upsert(replace(summary(1, 0), is_archived=True))
    assert conversations.acted_on() == (2,), "what is no longer shown is selected no longer"


def test_a_click_on_a_folder_opens_it_and_leaves_the_chat_open(qtbot: QtBot, ordered: ConversationList) -> None:
    ordered.set_chosen(1)
    with qtbot.assertNotEmitted(ordered.chosen):
        click(ordered, 0)
    assert ordered.model.opened == {8}
    assert ordered.acted_on() == (1,)
    click(ordered, 0)
    assert ordered.model.opened == frozenset()


def test_the_sign_of_a_folder_begins_a_chat_in_it(qtbot: QtBot, ordered: ConversationList) -> None:
    place = cross_area(ordered.view.visualRect(ordered.model.index(0))).center()
    with qtbot.waitSignal(ordered.new_in_folder_requested) as begun:
        QTest.mouseClick(ordered.view.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert begun.args == [8]
    assert ordered.model.opened == frozenset()


def test_arrows_go_over_a_folder_and_into_it(qtbot: QtBot, ordered: ConversationList) -> None:
    ordered.set_chosen(1)
    with qtbot.assertNotEmitted(ordered.chosen):
        QTest.keyClick(ordered.view, Qt.Key.Key_Up)
    assert (ordered.view.current_folder(), ordered.acted_on()) == (8, (1,)), "that chat is still the open one"
    QTest.keyClick(ordered.view, Qt.Key.Key_Right)
    with qtbot.waitSignal(ordered.chosen) as chosen:
        QTest.keyClick(ordered.view, Qt.Key.Key_Right)
    assert chosen.args == [4]
    QTest.keyClick(ordered.view, Qt.Key.Key_Left)
    assert ordered.view.current_folder() == 8
    with qtbot.waitSignal(ordered.folder_deleted) as deleted:
        QTest.keyClick(ordered.view, Qt.Key.Key_Delete)
    assert deleted.args == [8]


def test_the_right_button_opens_no_chat(qtbot: QtBot, ordered: ConversationList) -> None:
    ordered.set_chosen(1)
    with qtbot.assertNotEmitted(ordered.chosen):
        QTest.mouseClick(ordered.view.viewport(), Qt.MouseButton.RightButton, pos=middle(ordered, 2))
    assert ordered.acted_on() == (1,)


def test_a_chat_that_is_opened_is_shown_in_its_folder(ordered: ConversationList) -> None:
    ordered.set_chosen(5)
    assert ordered.model.opened == {8}
    assert ordered.acted_on() == (5,)
    ordered.view.set_open(8, False)
    ordered.upsert(replace(summary(5, -0.1), folder_id=8))
    assert ordered.model.opened == frozenset(), "whoever closes it wants it closed"
    assert ordered.acted_on() == (5,)


@pytest.mark.parametrize("data", [b"", b"{", b'{"a": 1}', b"[" * 100_000, b'["1", 1.5, null, true]', b"9" * (1 << 21)])
def test_what_other_programs_drop_is_no_chat(data: bytes) -> None:
    mime = QMimeData()
    mime.setData(CHATS, data)
    assert dragged_ids(mime) == ()


def test_files_are_dropped_on_the_window(conversations: ConversationList) -> None:
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile("/chats.json")])
    shared = (Qt.DropAction.CopyAction, mime, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
    event = QDragEnterEvent(QPoint(20, 60), *shared)
    conversations.view.dragEnterEvent(event)
    assert not event.isAccepted()


def test_search_results_say_where_a_chat_is_and_follow_the_filter(ordered: ConversationList) -> None:
    inside = replace(summary(4, 4), folder_id=8, target_name="Big")
    archived = replace(summary(1, 0), is_archived=True, target_name="Small")
    ordered.show_hits(tuple(SearchHit(each, None, "", ()) for each in (inside, archived)))
    hits = ordered.results.model
    assert [hits.data(hits.index(row), SearchHitsModel.PlaceRole) for row in range(2)] == ["Work", "Archived"]
    ordered.set_filter(ChatFilter(target_name="Big"))
    assert [hit.conversation.id for hit in hits.hits] == [4]
    ordered.clear_filter()
    assert hits.rowCount() == 2


def test_the_filter_is_chosen_in_its_popup(ordered: ConversationList) -> None:
    ordered.upsert(replace(summary(1, 0), target_name="Big"))
    ordered.open_filter()
    popup = ordered.filter_popup
    assert [popup.target.itemText(number) for number in range(popup.target.count())] == ["All models", "Big"]
    QTest.keyClicks(popup.days, "Last 7")
    assert ordered.model.filter == ChatFilter(num_days=7)
    popup.days.setCurrentText("Between two dates")
    popup.days.activated.emit(popup.days.currentIndex())
    popup.first_day.setDate(QDate(2026, 5, 9))
    popup.last_day.setDate(QDate(2026, 5, 3))
    assert ordered.model.filter == ChatFilter(first_day=date(2026, 5, 3), last_day=date(2026, 5, 9)), "in order"
    assert ordered.filter_line.words.words == "0 chats · 3 May 2026 to 9 May 2026"
    popup.close()
    ordered.open_filter()
    assert popup.range.isVisible()
    popup.clear_button.click()
    assert ordered.model.filter == ChatFilter()
    assert not ordered.filter_line.isVisible()


def test_a_name_that_is_no_folder_yet_makes_one(qtbot: QtBot, ordered: ConversationList) -> None:
    ordered.set_chosen(1)
    ordered.move_current()
    picker = ordered.folder_picker
    assert picker.title.text() == "Move 1 chat to"
    QTest.keyClicks(picker.search, "wo")
    assert picker.view.current_key == 8
    QTest.keyClicks(picker.search, "rd")
    with qtbot.waitSignal(ordered.folder_requested) as requested:
        QTest.keyClick(picker.search, Qt.Key.Key_Return)
    assert requested.args == [(1,), "word"]
    ordered.set_chosen(4)
    ordered.move_current()
    with qtbot.waitSignal(ordered.moved) as moved:
        QTest.keyClick(picker.search, Qt.Key.Key_Return)
    assert moved.args == [(4,), None], "out of its folder, which is first"
