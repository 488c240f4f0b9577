"""Three things that people want in their first hour, counted in clicks and keys from a fresh start to the goal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu, QWidget
from pytestqt.qtbot import QtBot

from app.startup.first_paint import open_window
from app.wiring import WiredWindow
from engine import BUILT_IN
from engine.speculation.proposers.teachable import TeachableDrafting
from engine.values.config import SpeculationSettings
from engine.values.events import (
    ConversationChanged,
    Event,
    ReplyFinished,
    SpeculationChanged,
    TargetReady,
)
from engine.values.targets import HubFile
from tests.end_to_end.test_personal import keep_two_adapters
from tests.fakes.ear import Ear
from tests.fakes.gguf import gguf
from tests.fakes.hub import FakeHub

pytestmark = [
    pytest.mark.starter,
    pytest.mark.qt_log_ignore(r"This plugin does not support ((propagateSizeHints|raise)\(\)|grabbing the keyboard)"),
]
_PATIENCE_MS = 60_000


class Hand:
    """A person with a mouse. Counts what is pressed."""

    def __init__(self, qtbot: QtBot, qapp: QApplication, folder: Path) -> None:
        self._qtbot = qtbot
        self.num_pressed = 0
        self.app = WiredWindow(open_window(qapp, folder), folder, SpeculationSettings(drafter=BUILT_IN))
        self.app.keeper.change("temperature", 0.0)  # by chance, a reply may be long
        self.window = self.app.window
        self._ear = Ear(self.app.bridge)  # after the controllers: what the test hears, the window has heard
        qtbot.addWidget(self.window)
        self.until(lambda: self.heard(TargetReady) and self.app.library is not None)

    def heard(self, kind: type[Event]) -> list[Event]:
        return [event for event in self._ear.events if isinstance(event, kind)]

    def until(self, is_so: Callable[[], object]) -> None:
        self._qtbot.waitUntil(lambda: bool(is_so()), timeout=_PATIENCE_MS)

    def click(self, widget: QWidget, place: QPoint | None = None) -> None:
        self.until(lambda: widget.isVisible() and widget.isEnabled())
        self.num_pressed += 1
        QTest.mouseClick(widget, Qt.MouseButton.LeftButton, pos=place or widget.rect().center())

    def choose(self, *names: str) -> None:
        """In the menu ☰: its button, and each of the names."""
        QTimer.singleShot(0, lambda: self._choose_below(names))  # the click below ends when the menu is closed
        self.click(self.window.target_bar.menu_button)

    def _choose_below(self, names: tuple[str, ...]) -> None:
        menu = QApplication.activePopupWidget()
        for name in names:
            assert isinstance(menu, QMenu)
            action = next(each for each in menu.actions() if each.text().replace("&", "") == name)
            self.click(menu, menu.actionGeometry(action).center())
            below = action.menu()
            menu = below if isinstance(below, QMenu) else None

    def ask(self, text: str) -> ReplyFinished:
        num_before = len(self.heard(ReplyFinished))
        self.window.prompt_box.editor.setPlainText(text)
        QTest.keyClick(self.window.prompt_box.editor, Qt.Key.Key_Return)
        self.until(lambda: len(self.heard(ReplyFinished)) > num_before)
        finished = self.heard(ReplyFinished)[-1]
        assert isinstance(finished, ReplyFinished)
        return finished

    def took(self) -> int:
        """Clicks and keys since this was asked last."""
        num_pressed, self.num_pressed = self.num_pressed, 0
        return num_pressed

    def close(self) -> None:
        self.window.close()
        self.app.close()
        self.app.theme.deleteLater()


@pytest.fixture
def hand(qtbot: QtBot, qapp: QApplication, tmp_path: Path) -> Iterator[Hand]:
    with closing(Hand(qtbot, qapp, tmp_path / "store")) as hand:
        yield hand


def start_a_download(hand: Hand, hub: FakeHub) -> None:
    """Of the model that fits best, which that hub then offers."""
    hand.click(hand.window.transcript.welcome.models_button)
    assert hand.app.library is not None
    suggestions = hand.app.library.dialog.hub.suggestions
    hand.until(lambda: suggestions.view.rows.rowCount() > 0)
    best = suggestions.view.rows.rows[0].key
    assert isinstance(best, HubFile)
    hub.models[best.repository] = {best.name: gguf()}
    hand.click(suggestions.download_button)
    downloads = hand.app.library.dialog.hub.downloads
    hand.until(lambda: any(row.use_button.isVisible() for row in downloads.rows))
    hand.app.library.dialog.close()


def have_shorter_replies(hand: Hand) -> None:
    hand.click(hand.window.target_bar.chat_settings)
    dialog = hand.app.chat_settings.dialog
    num_changes = len(hand.heard(ConversationChanged))
    hand.click(dialog.shorter_button)
    hand.click(dialog.save_button)
    hand.until(lambda: len(hand.heard(ConversationChanged)) > num_changes)


def undo_learning(hand: Hand) -> None:
    hand.choose("Personalization…")
    page = hand.app.personal.dialog.learned
    hand.until(lambda: page.cards)
    (undo,) = (each for each in page.cards[0].use_buttons if each.text() == "Undo learning")
    hand.click(undo)
    words = hand.app.personal.dialog.words
    hand.until(lambda: words.text() == "The original drafter is used from the next reply on.")
    hand.app.personal.dialog.close()


def switch_model(hand: Hand) -> None:
    bar = hand.window.target_bar
    hand.click(bar.name)
    view = bar.picker.view
    hand.until(lambda: view.rows.rowCount() > 0)
    hand.click(view.viewport(), view.visualRect(view.rows.index(0, 0)).center())


def _chosen(hand: Hand, parent: QWidget, path: Path) -> None:
    """What is done in the file dialog is not counted."""
    hand.until(lambda: [each for each in parent.findChildren(QFileDialog) if each.isVisible()])
    (chooser,) = (each for each in parent.findChildren(QFileDialog) if each.isVisible())
    chooser.fileSelected.emit(str(path))
    chooser.close()


def test_what_people_come_back_for_takes_few_clicks(hand: Hand, tmp_path: Path) -> None:
    num_loaded = len(hand.heard(TargetReady))
    switch_model(hand)
    hand.until(lambda: len(hand.heard(TargetReady)) > num_loaded or hand.app.target.in_use is not None)
    assert hand.took() == 2

    hand.ask("Hi.")
    hand.took()
    hand.click(hand.window.meter.headline)
    assert hand.window.meter.details is not None
    assert hand.took() == 1
    hand.window.meter.details.close()

    hand.click(hand.window.target_bar.chat_settings)
    hand.until(hand.app.chat_settings.dialog.isVisible)
    assert hand.took() == 1
    hand.app.chat_settings.dialog.close()

    path = tmp_path / "mine.slipstream"
    hand.choose("Personalization…")
    dialog = hand.app.personal.dialog
    hand.click(dialog.export_button)
    assert hand.took() <= 3
    _chosen(hand, dialog, path)
    hand.until(path.exists)
    hand.until(dialog.import_button.isEnabled)
    dialog.close()

    hand.choose("Personalization…")
    hand.click(dialog.import_button)
    _chosen(hand, dialog, path)
    hand.click(dialog.profile.merge_button)
    assert hand.took() <= 4
    hand.until(lambda: dialog.words.text().startswith("Imported "))
    dialog.close()

    hand.choose("All chats", "Presets and prompts…")
    library = hand.app.preset_library.dialog
    hand.click(library.presets.examples_button)
    hand.until(lambda: library.presets.presets)
    hand.took()
    library.close()
    hand.choose("All chats", "Presets and prompts…")
    hand.until(library.isVisible)
    hand.click(library.presets.system_prompt)
    assert hand.took() <= 4
    library.close()


def test_what_people_want_first_takes_few_clicks(server: FakeHub, hand: Hand, tmp_path: Path) -> None:
    start_a_download(hand, server)
    assert hand.took() <= 4

    hand.ask("Hi.")
    have_shorter_replies(hand)
    assert hand.took() <= 5
    reply = hand.ask("Write down the numbers from one to a thousand, in words.").message
    assert reply.statistics is not None
    assert reply.statistics.reply_tokens <= 256
    hand.window.conversation_action.trigger()
    dialog = hand.app.chat_settings.dialog
    hand.until(dialog.isVisible)
    assert dialog.system_prompt.toPlainText() == "Answer briefly, in a few sentences."
    assert dialog.rows["max_tokens"].chosen == 256
    dialog.close()

    hand.until(lambda: any(isinstance(each, SpeculationChanged) and each.is_drafting for each in hand.heard(Event)))
    drafting = hand.app.bridge.engine._services.learning._drafting
    assert isinstance(drafting, TeachableDrafting)
    keep_two_adapters(drafting, tmp_path / "store")
    undo_learning(hand)
    assert hand.took() <= 4
