"""A person's day in the window as it is put together for users, with the real engine and the starter target."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QMessageBox, QPushButton
from pytestqt.qtbot import QtBot

from app.settings.app_settings import AppSettings, SettingsFile
from app.startup.first_paint import open_window
from app.widgets.transcript.prompt_view import PromptView
from app.widgets.transcript.reply_view import ReplyView
from app.wiring import WiredWindow
from engine import SamplingSettings, starter_path
from engine.values.config import SpeculationSettings
from engine.values.conversations import Message
from engine.values.events import (
    ConversationForgotten,
    ConversationOpened,
    ConversationsImported,
    ConversationsListed,
    Event,
    ReplyFinished,
    TargetReady,
)
from engine.values.replies import StopReason
from tests.fakes.ear import Broke, Ear, Grew

pytestmark = [
    pytest.mark.starter,
    pytest.mark.qt_log_ignore(r"This plugin does not support ((propagateSizeHints|raise)\(\)|grabbing the keyboard)"),
]
_PATIENCE_MS = 60_000
_E = TypeVar("_E", bound=Event)


class Desk:
    """A person in front of the window."""

    def __init__(self, qtbot: QtBot, qapp: QApplication, folder: Path) -> None:
        self._qtbot = qtbot
        self._is_open = True
        self.app = WiredWindow(open_window(qapp, folder), folder, SpeculationSettings())
        self.window = self.app.window
        self._ear = Ear(self.app.bridge)  # after the controllers: what the test hears, the window has heard
        qtbot.addWidget(self.window)
        self.until(lambda: bool(self.heard(TargetReady)) and bool(self.heard(ConversationsListed)))

    def heard(self, kind: type[_E]) -> list[_E]:
        return [event for event in self._ear.events if isinstance(event, kind)]

    def until(self, is_so: Callable[[], bool]) -> None:
        self._qtbot.waitUntil(is_so, timeout=_PATIENCE_MS)

    @contextmanager
    def waiting_for(self, kind: type[Event]) -> Iterator[None]:
        num_before = len(self.heard(kind))
        yield
        self.until(lambda: len(self.heard(kind)) > num_before)

    def say(self, text: str) -> None:
        QTest.keyClicks(self.window.prompt_box.editor, text)
        QTest.keyClick(self.window.prompt_box.editor, Qt.Key.Key_Return)

    def ask(self, text: str) -> Message:
        with self.waiting_for(ReplyFinished):
            self.say(text)
        return self.heard(ReplyFinished)[-1].message

    @property
    def shown(self) -> list[str]:
        return [message.text for message in self.window.transcript.messages]

    @property
    def titles(self) -> list[str]:
        model = self.window.conversations.model
        return [model.summary(row).title for row in range(model.rowCount())]

    def view(self, place: int) -> PromptView | ReplyView:
        wanted = self.window.transcript.messages[place]
        views = [
            view for row, view in self.window.transcript.column.built_rows() if getattr(row, "message", None) == wanted
        ]
        assert isinstance(views[0], PromptView | ReplyView)
        return views[0]

    def flip(self, place: int, later: bool) -> None:
        flipper = self.view(place).flipper
        assert flipper is not None
        with self.waiting_for(ConversationOpened):
            QTest.mouseClick(flipper.later_button if later else flipper.earlier_button, Qt.MouseButton.LeftButton)

    def open_first(self) -> None:
        with self.waiting_for(ConversationOpened):
            self.window.conversations.view.setCurrentIndex(self.window.conversations.model.index(0))

    def choose_file(self, path: Path) -> None:
        (dialog,) = (each for each in self.window.findChildren(QFileDialog) if each.isVisible())
        dialog.fileSelected.emit(str(path))
        dialog.reject()

    def close(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        self.window.close()
        self.app.close()
        for each in (self.app.theme, self.app):
            each.deleteLater()


@pytest.fixture
def sit_down(qtbot: QtBot, qapp: QApplication, tmp_path: Path) -> Iterator[Callable[[], Desk]]:
    folder = tmp_path / "store"
    SettingsFile(folder).save(AppSettings(sampling=SamplingSettings(temperature=0), learning=False))
    desks: list[Desk] = []

    def open_desk() -> Desk:
        desks.append(Desk(qtbot, qapp, folder))
        return desks[-1]

    yield open_desk
    for desk in desks:
        desk.close()


def stop_and_continue(desk: Desk) -> None:
    with desk.waiting_for(Grew):
        desk.say("Count from one to five hundred in words.")
    with desk.waiting_for(ReplyFinished):
        QTest.keyClick(desk.window.prompt_box.editor, Qt.Key.Key_Escape)
    stopped = desk.heard(ReplyFinished)[-1].message
    assert stopped.statistics is not None
    assert stopped.statistics.stop_reason is StopReason.STOPPED

    desk.window.settings_action.trigger()
    desk.app.settings.dialog.rows["reply_length"].chosen.emit(24)  # from now on replies are short
    desk.app.settings.dialog.close()
    with desk.waiting_for(ReplyFinished):
        desk.window.continue_action.trigger()
    longer = desk.heard(ReplyFinished)[-1].message
    assert longer.text.startswith(stopped.text)
    assert len(longer.text) > len(stopped.text)


def ask_anew_and_flip_back(desk: Desk) -> None:
    desk.ask("Name three colours.")
    first = desk.shown
    QTest.keyClick(desk.window.prompt_box.editor, Qt.Key.Key_Up)
    view = desk.view(2)
    assert isinstance(view, PromptView)
    assert view.revision is not None
    view.revision.editor.selectAll()
    QTest.keyClicks(view.revision.editor, "Name three animals.")
    with desk.waiting_for(ReplyFinished):
        QTest.keyClick(view.revision.editor, Qt.Key.Key_Return)
    assert desk.shown[2] == "Name three animals."
    desk.flip(2, later=False)
    assert desk.shown == first


def switch_the_model(desk: Desk, copy: Path) -> None:
    shutil.copyfile(starter_path(), copy)
    assert desk.app.library is not None
    picker = desk.window.target_bar.picker
    desk.app.library.dialog.dropped.emit((copy,))
    desk.until(lambda: any(row.title == copy.stem for row in picker.view.rows.rows))
    desk.window.choose_action.trigger()
    QTest.keyClicks(picker.search, copy.stem)
    with desk.waiting_for(TargetReady):
        QTest.keyClick(picker.search, Qt.Key.Key_Return)
    assert desk.window.target_bar.name.text() == copy.stem
    assert desk.ask("Name one plant.").target_name == copy.stem


def search(desk: Desk) -> None:
    field = desk.window.conversations.search
    desk.window.search_action.trigger()
    model = desk.window.conversations.results.model
    with desk._qtbot.waitSignal(model.modelReset, timeout=_PATIENCE_MS):
        QTest.keyClicks(field, "plant name")
    (hit,) = model.hits
    assert hit.snippet == "Name one plant."
    QTest.keyClick(field, Qt.Key.Key_Escape)
    assert not field.text()


def export_forget_and_import(desk: Desk, file: Path) -> None:
    before = desk.shown
    desk.window.export_all_action.trigger()
    desk.choose_file(file)
    desk.until(lambda: any("exported to" in toast.words.text() for toast in desk.window.toasts.shown))
    desk.window.forget_action.trigger()
    (box,) = desk.window.findChildren(QMessageBox)
    forget = next(each for each in box.findChildren(QPushButton) if each.text() == "Delete permanently")
    with desk.waiting_for(ConversationForgotten):
        QTest.mouseClick(forget, Qt.MouseButton.LeftButton)
    assert desk.titles == []
    assert desk.shown == []
    desk.window.import_action.trigger()
    with desk.waiting_for(ConversationsImported):
        desk.choose_file(file)
    desk.until(lambda: len(desk.titles) == 1)
    desk.open_first()
    assert desk.shown == before


def test_a_day_and_the_next_morning(sit_down: Callable[[], Desk], tmp_path: Path) -> None:
    desk = sit_down()
    copy = tmp_path / "second.gguf"
    stop_and_continue(desk)
    ask_anew_and_flip_back(desk)
    switch_the_model(desk, copy)
    search(desk)
    export_forget_and_import(desk, tmp_path / "chats.json")
    QTest.keyClicks(desk.window.prompt_box.editor, "Not sent yet")
    evening, titles = desk.shown, desk.titles
    assert desk.heard(Broke) == []
    desk.close()

    again = sit_down()
    assert again.heard(TargetReady)[-1].target.path == str(copy)
    assert again.app.keeper.settings.reply_length == 24
    assert again.titles == titles
    again.open_first()
    assert again.shown == evening
    again.until(lambda: again.window.prompt_box.text == "Not sent yet")
    again.flip(2, later=True)
    assert again.shown[2] == "Name three animals."
    assert again.heard(Broke) == []
