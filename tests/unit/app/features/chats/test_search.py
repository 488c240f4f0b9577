"""Searching: on a bridge without an engine."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.features.chats.search import SearchController
from app.main_window import MainWindow
from app.theme import ThemeKeeper
from app.widgets.transcript.row_view import Flash
from engine.values.conversations import Conversation, ConversationSummary, SearchHit
from engine.values.events import (
    ConversationOpened,
    ConversationsDeleted,
    ConversationsListed,
    Event,
    EverythingForgotten,
)
from tests.fakes.bridge import FakeBridge
from tests.fakes.chats import Chats
from tests.unit.app.widgets.messages import conversation

NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
SUMMARIES = tuple(ConversationSummary(number, f"Chat {number}", NOW) for number in (1, 2))
HITS = (SearchHit(SUMMARIES[1], 4, "a zebra", ((2, 5),)), SearchHit(SUMMARIES[0], None, "", ()))


@pytest.fixture
def window(qtbot: QtBot, keeper: ThemeKeeper, bridge: FakeBridge) -> MainWindow:
    window = MainWindow(keeper)
    qtbot.addWidget(window)
    SearchController(window, bridge, Chats(window, bridge).conversations)
    with qtbot.waitExposed(window):
        window.show()
    tell(bridge, ConversationsListed(SUMMARIES))
    return window


def tell(bridge: FakeBridge, *events: Event) -> None:
    bridge.tell(*events)


def answer(bridge: FakeBridge, hits: tuple[SearchHit, ...], search: int = -1) -> None:
    bridge.asked(bridge.engine.chats.search)[search].answer(hits)


def write(qtbot: QtBot, window: MainWindow, words: str) -> None:
    with qtbot.waitSignal(window.conversations.search.searched):
        QTest.keyClicks(window.conversations.search, words)


def shows_results(window: MainWindow) -> bool:
    return window.conversations.results.isVisible()


def test_what_is_written_is_looked_for_once_the_keys_rest(qtbot: QtBot, window: MainWindow, bridge: FakeBridge) -> None:
    window.conversations.hide()
    window.search_action.trigger()
    assert window.focusWidget() is window.conversations.search
    write(qtbot, window, "zebra")
    assert bridge.calls == [("search", "zebra")]
    assert not shows_results(window), "the list stays until there is an answer"
    answer(bridge, HITS)
    assert shows_results(window)
    write(qtbot, window, "s")
    assert bridge.asked(bridge.engine.chats.search)[0].request.signal.is_set(), "the first is wanted no more"
    answer(bridge, ())
    assert window.conversations.results.nothing.isVisible()
    QTest.keyClick(window.conversations.search, Qt.Key.Key_Escape)
    assert window.conversations.view.isVisible()
    assert window.focusWidget() is window.prompt_box.editor
    write(qtbot, window, "zebras")
    QTest.keyClick(window.conversations.search, Qt.Key.Key_Escape)
    answer(bridge, HITS)
    assert not shows_results(window), "too late"


def test_a_hit_is_opened_and_its_message_revealed(qtbot: QtBot, window: MainWindow, bridge: FakeBridge) -> None:
    write(qtbot, window, "zebra")
    answer(bridge, HITS)
    QTest.keyClick(window.conversations.search, Qt.Key.Key_Return)
    assert bridge.calls[-1] == ("open", 2)
    messages = conversation(40)
    tell(bridge, ConversationOpened(Conversation(SUMMARIES[1], "", messages)))
    assert not window.transcript.column.following
    shown = [row for row, top in window.transcript.column.visible_rows() if 0 <= top < 60]
    assert [getattr(row, "message", None) for row in shown] == [messages[4]]
    assert window.transcript.findChild(Flash) is not None
    num_posted = len(bridge.calls)
    window.transcript.column.scroll_to_end()
    window.conversations.results.open_current()
    assert len(bridge.calls) == num_posted, "it is open already"
    assert not window.transcript.column.following


def test_words_in_another_branch_are_told_of(qtbot: QtBot, window: MainWindow, bridge: FakeBridge) -> None:
    write(qtbot, window, "zebra")
    answer(bridge, (SearchHit(SUMMARIES[1], 999, "a zebra", ()),))
    window.conversations.results.open_current()
    tell(bridge, ConversationOpened(Conversation(SUMMARIES[1], "", conversation(4))))
    assert "another version of this chat" in window.toasts.shown[0].words.text()


def test_arrows_lead_into_the_results_and_back(qtbot: QtBot, window: MainWindow, bridge: FakeBridge) -> None:
    write(qtbot, window, "zebra")
    answer(bridge, HITS)
    QTest.keyClick(window.conversations.search, Qt.Key.Key_Down)
    view = window.conversations.results.view
    assert window.focusWidget() is view
    QTest.keyClick(view, Qt.Key.Key_Down)
    assert view.currentIndex().row() == 1
    QTest.keyClick(view, Qt.Key.Key_Return)
    assert bridge.calls[-1] == ("open", 1)
    QTest.keyClick(view, Qt.Key.Key_Up)
    QTest.keyClick(view, Qt.Key.Key_Up)
    assert window.focusWidget() is window.conversations.search


def test_what_changes_meanwhile_is_looked_for_again(qtbot: QtBot, window: MainWindow, bridge: FakeBridge) -> None:
    write(qtbot, window, "zebra")
    answer(bridge, HITS)
    window.conversations.results.view.setCurrentIndex(window.conversations.results.model.index(1))
    tell(bridge, ConversationsDeleted((SUMMARIES[1],)))
    assert bridge.calls == [("search", "zebra")] * 2
    answer(bridge, HITS[1:])
    assert window.conversations.results.view.currentIndex().row() == 0, "the same one is marked"


def test_nothing_is_left_of_what_was_found_when_everything_is_forgotten(
    qtbot: QtBot, window: MainWindow, bridge: FakeBridge
) -> None:
    write(qtbot, window, "zebra")
    answer(bridge, HITS)
    tell(bridge, EverythingForgotten())
    assert window.conversations.results.model.rowCount() == 0
