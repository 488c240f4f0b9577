from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from app.theme import ThemeKeeper
from app.widgets.conversation_delegate import HEADING_PX, ROW_PX, cross_area
from app.widgets.conversation_list import ConversationList
from engine.messages.conversations import ConversationSummary

NOW = datetime.now(UTC)


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
