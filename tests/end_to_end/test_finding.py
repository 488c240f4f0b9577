"""The real window with the real engine: chats come from a file, are found, opened, written to, and go out again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QMessageBox
from pytestqt.qtbot import QtBot

from app.engine_bridge import EngineBridge
from app.features.chat.prompt import PromptController
from app.features.chats.exchange import ExchangeController
from app.features.chats.search import SearchController
from app.main_window import MainWindow
from app.theme import apply_theme
from engine import EngineConfig, ReplySettings, SamplingSettings
from engine.values.events import ConversationForgotten, ConversationsListed, Event, ReplyFinished, TargetReady
from tests.fakes.chats import Chats
from tests.fakes.ear import Ear

pytestmark = [
    pytest.mark.starter,
    pytest.mark.qt_log_ignore(r"This plugin does not support (propagateSizeHints|raise)\(\)"),
]

_PATIENCE_MS = 60_000


class Desk:
    def __init__(self, qtbot: QtBot, window: MainWindow, folder: Path) -> None:
        self.qtbot = qtbot
        self.window = window
        self.bridge = EngineBridge(EngineConfig(folder))
        settings = ReplySettings(SamplingSettings(temperature=0), max_tokens=12)
        self.chats = Chats(window, self.bridge, settings)
        SearchController(window, self.bridge, self.chats.conversations)
        ExchangeController(window, self.bridge, PromptController(window, self.bridge).attach)
        self.ear = Ear(self.bridge)

    @contextmanager
    def waiting_for(self, kind: type[Event]) -> Iterator[None]:
        def is_it(event: Event) -> bool:
            return isinstance(event, kind)

        with self.qtbot.waitSignal(self.ear.heard, timeout=_PATIENCE_MS, check_params_cb=is_it):
            yield

    def until_told(self, words: str) -> None:
        toasts = self.window.toasts
        self.qtbot.waitUntil(lambda: any(words in each.words.text() for each in toasts.shown), timeout=_PATIENCE_MS)

    def look_for(self, words: str) -> list[str]:
        search = self.window.conversations.search
        results = self.window.conversations.results
        search.clear()
        with self.qtbot.waitSignal(results.model.modelReset, timeout=_PATIENCE_MS):
            search.insert(words)  # QTest has no keys for letters beyond ASCII
        return [hit.conversation.title for hit in results.model.hits]

    def ask(self, text: str) -> None:
        with self.waiting_for(ReplyFinished):
            self.window.prompt_box.editor.setPlainText(text)
            QTest.keyClick(self.window.prompt_box.editor, Qt.Key.Key_Return)


@pytest.fixture
def desk(qtbot: QtBot, qapp: QApplication, tmp_path: Path) -> Iterator[Desk]:
    keeper = apply_theme(qapp)
    window = MainWindow(keeper)
    qtbot.addWidget(window)
    desk = Desk(qtbot, window, tmp_path / "store")
    with qtbot.waitExposed(window):
        window.show()
    yield desk
    window.close()
    assert desk.bridge.close()
    keeper.deleteLater()


def talk(title: str, num_turns: int) -> dict[str, object]:
    messages = [
        {"role": "assistant" if number % 2 else "user", "content": f"{title}, turn {number}. " + "Words. " * 40}
        for number in range(num_turns)
    ]
    messages[4]["content"] += "Über die STRASSE."
    return {"title": title, "messages": messages}


def test_import_search_open_export(desk: Desk, tmp_path: Path) -> None:
    window = desk.window
    path = tmp_path / "chats.json"
    path.write_text(json.dumps([talk(f"Talk {number}", 30) for number in range(3)]))
    with desk.waiting_for(ConversationsListed):
        window.chats_dropped.emit(str(path))
    assert window.conversations.model.rowCount() == 3
    desk.until_told("Imported 3 chats")  # a file that is still being read is not read again
    window.chats_dropped.emit(str(path))
    desk.until_told("3 were skipped because they are already here")

    assert sorted(desk.look_for("straße über")) == ["Talk 0", "Talk 1", "Talk 2"]
    assert desk.look_for("straße zebra") == []
    (title,) = desk.look_for("straße turn 4. Talk 1")
    QTest.keyClick(window.conversations.search, Qt.Key.Key_Return)
    column = window.transcript.column
    desk.qtbot.waitUntil(lambda: bool(window.transcript.messages) and not column.following, timeout=_PATIENCE_MS)
    top = [row for row, place in column.visible_rows() if 0 <= place < 60]
    assert [getattr(row, "message").text.split(".")[0] for row in top] == [f"{title}, turn 4"]  # noqa: B009

    window.export_action.trigger()
    chooser = window.findChild(QFileDialog)
    assert isinstance(chooser, QFileDialog)
    chooser.fileSelected.emit(str(tmp_path / "out.json"))
    chooser.close()
    desk.until_told("exported to out.json")
    exported = json.loads((tmp_path / "out.json").read_text())
    (conversation,) = exported["conversations"]
    assert (conversation["title"], len(conversation["messages"]), conversation["head"]) == ("Talk 1", 30, 30)


def test_an_incognito_chat_with_a_file_is_found_and_gone_at_once(desk: Desk, tmp_path: Path) -> None:
    window = desk.window
    with desk.waiting_for(TargetReady):
        desk.chats.start("starter")
    notes = tmp_path / "notes.txt"
    notes.write_text("The quicksilver zeppelin lands at noon.\n")
    window.incognito_action.trigger()
    window.texts_dropped.emit([str(notes)])
    desk.qtbot.waitUntil(lambda: bool(window.prompt_box.chips.attachments), timeout=_PATIENCE_MS)
    desk.ask("When does it land?")
    assert window.incognito_banner.isVisible()
    assert desk.look_for("quicksilver") == ["When does it land?"]
    raw = b"".join(file.read_bytes() for file in (tmp_path / "store").rglob("*") if file.is_file())
    assert b"quicksilver" not in raw

    window.conversations.search.clear()
    desk.ask("Thank you.")
    window.forget_action.trigger()
    box = window.findChild(QMessageBox)
    assert isinstance(box, QMessageBox)
    with desk.waiting_for(ConversationForgotten):
        next(button for button in box.buttons() if button.text() == "Delete permanently").click()
    assert window.transcript.messages == ()
    assert not window.incognito_banner.isVisible()
