"""Folders, pins, the archive and the filter, by keyboard alone, in the real window with the real engine; what the model
says is scripted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from PySide6.QtCore import QPointF, Qt, QTimer
from PySide6.QtGui import QAccessible, QContextMenuEvent, QDragMoveEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QCheckBox, QFileDialog, QLineEdit, QMenu, QMessageBox, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.startup.first_paint import open_window
from app.widgets.chats.conversation_delegate import ROW_PX
from app.widgets.chats.conversation_view import chats_data
from app.wiring import WiredWindow
from engine.backend.storage import Repository
from engine.values.config import SpeculationSettings
from engine.values.conversations import ConversationSummary, Role
from engine.values.events import (
    ConversationsChanged,
    ConversationsDeleted,
    ConversationsImported,
    ConversationsListed,
    Event,
    EverythingForgotten,
    FoldersListed,
    PresetsListed,
    ReplyFinished,
    TargetReady,
    TargetsListed,
)
from engine.values.order import Folder
from tests.fakes.ear import Ear
from tests.fakes.thinker import Thinker

pytestmark = [
    pytest.mark.starter,  # whose file stands for the target's
    pytest.mark.qt_log_ignore(r"This plugin does not support ((propagateSizeHints|raise)\(\)|grabbing the keyboard)"),
]
_PATIENCE_MS = 60_000
_E = TypeVar("_E", bound=Event)
_KEY, _MODIFIER = Qt.Key, Qt.KeyboardModifier
_TITLES = ("Apples", "Boats", "Clocks", "Doors")


class Desk:
    def __init__(self, qtbot: QtBot, qapp: QApplication, folder: Path) -> None:
        self._qtbot = qtbot
        self.app = WiredWindow(open_window(qapp, folder), folder, SpeculationSettings(drafter="none"))
        self.window = self.app.window
        self.sidebar = self.window.conversations
        self.view = self.sidebar.view
        self._ear = Ear(self.app.bridge)  # after the controllers: what the test hears, the window has heard
        qtbot.addWidget(self.window)
        for kind in (TargetReady, TargetsListed, FoldersListed, ConversationsListed, PresetsListed):
            self.until(lambda kind=kind: bool(self.heard(kind)))  # type: ignore[misc]
        self.come_back()

    def come_back(self) -> None:
        """A desktop does this by itself."""
        self.window.activateWindow()
        self.until(self.window.isActiveWindow)

    def heard(self, kind: type[_E]) -> list[_E]:
        return [event for event in self._ear.events if isinstance(event, kind)]

    def until(self, is_so: Callable[[], bool]) -> None:
        self._qtbot.waitUntil(is_so, timeout=_PATIENCE_MS)

    def next(self, kind: type[_E], act: Callable[[], object]) -> _E:
        num_before = len(self.heard(kind))
        act()
        self.until(lambda: len(self.heard(kind)) > num_before)
        return self.heard(kind)[-1]

    def press(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = _MODIFIER.NoModifier) -> None:
        """Where the keyboard is."""
        QTest.keyClick(QApplication.focusWidget() or self.window, key, modifiers)

    def enter_list(self) -> None:
        """From the search field, as whoever has no mouse does."""
        self.come_back()
        self.press(_KEY.Key_F, _MODIFIER.ControlModifier)
        self.press(_KEY.Key_Down)
        assert self.view.hasFocus()

    @property
    def rows(self) -> list[str]:
        """What a screen reader says of them."""
        interface = QAccessible.queryAccessibleInterface(self.view)
        children = [interface.child(number) for number in range(interface.childCount())]
        return [str(child.text(QAccessible.Text.Name)) for child in children]

    def select(self, *titles: str) -> None:
        """The first with the arrows, the others with Shift, as they follow each other."""
        self.enter_list()
        self.press(_KEY.Key_Home)
        while self.view.currentIndex().data() != titles[0]:
            self.press(_KEY.Key_Down)
        for _ in titles[1:]:
            self.press(_KEY.Key_Down, _MODIFIER.ShiftModifier)
        assert [self.summary(number).title for number in self.view.selected_ids()] == list(titles)

    def go_to_folder(self) -> None:
        self.enter_list()
        self.press(_KEY.Key_Home)
        while self.view.current_folder() is None:
            self.press(_KEY.Key_Down)

    def summary(self, number: int) -> ConversationSummary:
        found = self.sidebar.model.find(number)
        assert found is not None
        return found

    def titled(self, title: str) -> ConversationSummary:
        return next(each for each in self.sidebar.model.summaries if each.title == title)

    def undo(self) -> None:
        button = self.window.toasts.shown[-1].action_button
        assert button is not None
        QTest.keyClick(button, _KEY.Key_Space)

    def make_folder(self, name: str, told: str = "") -> None:
        self.press(_KEY.Key_D, _MODIFIER.ControlModifier | _MODIFIER.ShiftModifier)
        dialog = self.app.order.dialog
        self.until(dialog.isActiveWindow)
        QTest.keyClicks(dialog.name, name)
        self.press(_KEY.Key_Tab)
        QTest.keyClicks(dialog.system_prompt, told)
        self.next(FoldersListed, lambda: QTest.keyClick(dialog.name, _KEY.Key_Return))
        self.until(lambda: not dialog.isVisible())
        self.come_back()

    def close(self) -> None:
        self.window.close()
        self.app.close()


@pytest.fixture
def sit_down(qtbot: QtBot, qapp: QApplication, thinker: Thinker, tmp_path: Path) -> Iterator[Callable[[], Desk]]:  # noqa: ARG001
    """With four chats: the first two were answered by Big, the others by Small."""
    repository = Repository.open(tmp_path / "store")
    for number, title in enumerate(reversed(_TITLES)):
        chat = repository.create_conversation(title, "")
        prompt = repository.add_message(chat.id, None, Role.USER, title)
        repository.add_message(chat.id, prompt.id, Role.ASSISTANT, "Yes.", "Big" if number > 1 else "Small")
    repository.close()
    QAccessible.setActive(True)  # as a screen reader does; Qt tells it of rows that change
    desks: list[Desk] = []

    def open_desk() -> Desk:
        for each in desks:
            each.close()
        desks.append(Desk(qtbot, qapp, tmp_path / "store"))
        return desks[-1]

    yield open_desk
    desks[-1].close()
    QAccessible.setActive(False)


def test_chats_are_put_in_order_by_keyboard_and_stay_so(sit_down: Callable[[], Desk], thinker: Thinker) -> None:
    desk = sit_down()
    desk.make_folder("Work", "Speak like a pirate.")
    assert desk.rows == ["Folder Work, 0 chats, closed", *_TITLES]

    desk.select("Apples", "Boats", "Clocks")
    assert desk.sidebar.selection_bar.isVisible()
    assert desk.sidebar.selection_bar.words.words == "3 selected"
    desk.press(_KEY.Key_F, _MODIFIER.ControlModifier | _MODIFIER.ShiftModifier)
    picker = desk.sidebar.folder_picker
    assert picker.isVisible()
    moved = desk.next(ConversationsChanged, lambda: QTest.keyClick(picker.search, _KEY.Key_Return))
    assert [each.title for each in moved.conversations] == ["Apples", "Boats", "Clocks"], "in one event"
    assert desk.rows == ["Folder Work, 3 chats, closed", "Doors"]
    assert desk.window.toasts.shown[-1].words.text() == "3 chats were moved to “Work”."
    desk.next(ConversationsChanged, desk.undo)
    assert desk.rows == ["Folder Work, 0 chats, closed", *_TITLES]

    desk.select("Apples", "Boats")
    desk.press(_KEY.Key_F, _MODIFIER.ControlModifier | _MODIFIER.ShiftModifier)
    desk.next(ConversationsChanged, lambda: QTest.keyClick(picker.search, _KEY.Key_Return))
    desk.go_to_folder()
    desk.press(_KEY.Key_Right)
    assert desk.rows == ["Folder Work, 2 chats, open", *_TITLES]
    desk.press(_KEY.Key_Left)
    assert desk.rows == ["Folder Work, 2 chats, closed", "Clocks", "Doors"]

    desk.press(_KEY.Key_Return, _MODIFIER.ControlModifier)
    assert desk.window.folder_banner.words.text() == "New chat in the folder “Work”, with its system prompt."
    assert desk.window.prompt_box.editor.hasFocus()
    QTest.keyClicks(desk.window.prompt_box.editor, "What is 2 and 2?")
    desk.next(ReplyFinished, lambda: desk.press(_KEY.Key_Return))
    assert "Speak like a pirate." in thinker.text
    assert not desk.window.folder_banner.isVisible()
    assert desk.rows[:2] == ["Folder Work, 3 chats, open", "What is 2 and 2?"], "it can be seen where it is"

    desk.select("Clocks")
    desk.next(ConversationsChanged, desk.window.pin_action.trigger)
    assert desk.rows[0] == "Clocks"
    desk.select("Doors")
    desk.next(ConversationsChanged, desk.window.archive_action.trigger)
    assert "Doors" not in desk.rows

    desk = sit_down()
    assert desk.rows == ["Clocks", "Folder Work, 3 chats, open", "What is 2 and 2?", "Apples", "Boats"]
    assert desk.titled("Doors").is_archived


def test_the_list_is_filtered_and_one_key_shows_all_again(sit_down: Callable[[], Desk]) -> None:
    desk = sit_down()
    desk.select("Doors")
    desk.next(ConversationsChanged, desk.window.archive_action.trigger)
    desk.press(_KEY.Key_K, _MODIFIER.ControlModifier | _MODIFIER.ShiftModifier)
    popup = desk.sidebar.filter_popup
    assert popup.isVisible()
    assert QApplication.focusWidget() is popup.target
    QTest.keyClicks(popup.target, "Small")
    assert desk.rows == ["Clocks"]
    assert desk.sidebar.filter_line.words.words == "1 chat · Small"
    popup.archived.setFocus()
    desk.press(_KEY.Key_Space)
    assert desk.rows == ["Doors"]
    assert desk.sidebar.filter_line.words.words == "1 chat · Archive · Small"
    QTest.keyClick(popup, _KEY.Key_Escape)
    assert not popup.isVisible()
    desk.enter_list()
    desk.press(_KEY.Key_Escape)
    assert desk.rows == ["Apples", "Boats", "Clocks"]
    assert not desk.sidebar.filter_line.isVisible()


def test_many_are_exported_deleted_and_brought_back_at_once(sit_down: Callable[[], Desk], tmp_path: Path) -> None:
    desk = sit_down()
    desk.make_folder("Work")
    desk.next(ConversationsChanged, lambda: desk.sidebar.moved.emit((desk.titled("Boats").id,), 1))
    desk.next(ConversationsChanged, lambda: desk.sidebar.pinned.emit((desk.titled("Apples").id,), True))
    desk.enter_list()
    desk.press(_KEY.Key_A, _MODIFIER.ControlModifier)
    assert desk.sidebar.selection_bar.words.words == "3 selected", "those that are shown, and no folder"
    desk.go_to_folder()
    desk.press(_KEY.Key_Right)
    desk.press(_KEY.Key_A, _MODIFIER.ControlModifier)
    file = tmp_path / "chats.json"

    def export() -> None:
        QTest.keyClick(desk.sidebar.selection_bar.export_button, _KEY.Key_Space)
        (dialog,) = (each for each in desk.window.findChildren(QFileDialog) if each.isVisible())
        dialog.fileSelected.emit(str(file))
        dialog.reject()

    export()
    desk.until(lambda: any("exported to chats.json" in toast.words.text() for toast in desk.window.toasts.shown))
    written = {each["title"]: each for each in json.loads(file.read_text())["conversations"]}
    assert set(written) == set(_TITLES)
    assert (written["Boats"]["folder"], written["Apples"]["pinned"]) == ("Work", True)

    desk.enter_list()
    desk.press(_KEY.Key_A, _MODIFIER.ControlModifier)
    gone = desk.next(ConversationsDeleted, lambda: desk.press(_KEY.Key_Delete))
    assert len(gone.conversations) == 4
    assert desk.window.toasts.shown[-1].words.text() == "4 chats were deleted."
    assert desk.rows == ["Folder Work, 0 chats, open"]
    back = desk.next(ConversationsChanged, desk.undo)
    assert {each.title for each in back.conversations} == set(_TITLES)
    assert desk.rows == ["Apples", "Folder Work, 1 chat, open", "Boats", "Clocks", "Doors"]

    desk.next(EverythingForgotten, desk.app.personal.dialog.forget.forget_everything.emit)
    desk.until(lambda: desk.rows == [] and desk.heard(FoldersListed)[-1].folders == ())
    desk.next(ConversationsImported, lambda: desk.window.chats_dropped.emit(str(file)))
    desk.next(ConversationsListed, desk.app.conversations.list_all)
    assert desk.rows == ["Apples", "Folder Work, 1 chat, closed", "Clocks", "Doors"]


def test_a_folder_goes_and_its_chats_stay_unless_it_is_ticked(sit_down: Callable[[], Desk]) -> None:
    desk = sit_down()
    desk.make_folder("Work", "Be brief.")
    ids = tuple(desk.titled(title).id for title in ("Apples", "Boats"))
    desk.next(ConversationsChanged, lambda: desk.sidebar.moved.emit(ids, 1))

    def ask_and_answer(with_chats: bool) -> None:
        desk.go_to_folder()
        desk.press(_KEY.Key_Delete)
        (box,) = (each for each in desk.window.findChildren(QMessageBox) if each.isVisible())
        tick = box.checkBox()
        assert isinstance(tick, QCheckBox)
        assert not tick.isChecked()
        assert "2 chats stay" in box.informativeText()
        if with_chats:
            QTest.keyClick(tick, _KEY.Key_Space)
        yes = next(each for each in box.findChildren(QPushButton) if each.text() == "Delete this folder")
        QTest.keyClick(yes, _KEY.Key_Space)

    desk.next(ConversationsChanged, lambda: ask_and_answer(with_chats=False))
    assert desk.rows == list(_TITLES)
    desk.until(lambda: bool(desk.window.toasts.shown))
    desk.next(ConversationsChanged, desk.undo)
    assert desk.rows == ["Folder Work, 2 chats, closed", "Clocks", "Doors"]
    desk.next(ConversationsDeleted, lambda: ask_and_answer(with_chats=True))
    assert desk.rows == ["Clocks", "Doors"]
    assert desk.window.toasts.shown[-1].words.text() == "The folder “Work” was deleted with its 2 chats."
    desk.next(ConversationsChanged, desk.undo)
    assert desk.rows == ["Folder Work, 2 chats, closed", "Clocks", "Doors"]
    assert desk.sidebar.model.folders == (Folder(1, "Work", "Be brief."),)


def test_names_that_cannot_be_used_lose_nothing(sit_down: Callable[[], Desk]) -> None:
    desk = sit_down()
    desk.make_folder("Work")
    desk.press(_KEY.Key_D, _MODIFIER.ControlModifier | _MODIFIER.ShiftModifier)
    dialog = desk.app.order.dialog
    QTest.keyClick(dialog.name, _KEY.Key_Return)
    assert dialog.problem.text() == "A folder needs a name."
    QTest.keyClicks(dialog.name, "work")
    QTest.keyClicks(dialog.system_prompt, "Kept.")
    QTest.keyClick(dialog.name, _KEY.Key_Return)
    desk.until(lambda: dialog.problem.text() == "There is already a folder “work”; choose another name.")
    interface = QAccessible.queryAccessibleInterface(dialog.name)
    assert interface.text(QAccessible.Text.Description) == dialog.problem.text()
    assert dialog.system_prompt.toPlainText() == "Kept."
    QTest.keyClicks(dialog.name, "Home")
    desk.next(FoldersListed, lambda: QTest.keyClick(dialog.name, _KEY.Key_Return))
    assert [each.name for each in desk.sidebar.model.folders] == ["Home", "Work"]

    desk.go_to_folder()
    desk.press(_KEY.Key_F2)
    editor = desk.view.viewport().findChild(QLineEdit)
    assert isinstance(editor, QLineEdit)
    assert _name(editor) == "Folder name"
    editor.setText("Garden")
    desk.next(FoldersListed, lambda: QTest.keyClick(editor, _KEY.Key_Return))
    assert [each.name for each in desk.sidebar.model.folders] == ["Garden", "Work"]


def test_chats_are_dragged_into_a_folder_and_out(sit_down: Callable[[], Desk]) -> None:
    desk = sit_down()
    desk.make_folder("Work")
    ids = tuple(desk.titled(title).id for title in ("Apples", "Boats"))

    def drop(title: str) -> None:
        row = next(row for row in range(len(desk.rows)) if desk.sidebar.model.index(row).data() == title)
        area = desk.view.visualRect(desk.sidebar.model.index(row))
        place = QPointF(area.center().x(), area.bottom() - ROW_PX // 2)
        data = chats_data(ids)
        shared = (Qt.DropAction.MoveAction, data, Qt.MouseButton.LeftButton, _MODIFIER.NoModifier)
        move = QDragMoveEvent(place.toPoint(), *shared)
        desk.view.dragMoveEvent(move)
        assert move.isAccepted()
        desk.view.dropEvent(QDropEvent(place, *shared))

    desk.next(ConversationsChanged, lambda: drop("Work"))
    assert desk.rows == ["Folder Work, 2 chats, closed", "Clocks", "Doors"]
    desk.next(ConversationsChanged, lambda: drop("Doors"))
    assert desk.rows == ["Folder Work, 0 chats, closed", *_TITLES]


def test_the_menu_key_opens_the_menu_of_the_row(sit_down: Callable[[], Desk]) -> None:
    desk = sit_down()
    desk.make_folder("Work")
    desk.go_to_folder()
    opened: list[list[str]] = []

    def look() -> None:
        menu = QApplication.activePopupWidget()
        assert isinstance(menu, QMenu)
        opened.append([action.text() for action in menu.actions() if action.text()])
        menu.close()

    place = desk.view.visualRect(desk.view.currentIndex()).center()
    QTimer.singleShot(0, look)
    key = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, place, desk.view.viewport().mapToGlobal(place))
    QApplication.sendEvent(desk.view.viewport(), key)
    assert opened[0][:3] == ["New chat in this folder", "Rename", "Settings of this folder…"]


def test_an_incognito_chat_is_pinned_but_goes_nowhere(sit_down: Callable[[], Desk], tmp_path: Path) -> None:
    desk = sit_down()
    desk.make_folder("Work")
    desk.press(_KEY.Key_N, _MODIFIER.ControlModifier | _MODIFIER.ShiftModifier)
    QTest.keyClicks(desk.window.prompt_box.editor, "A secret")
    desk.next(ReplyFinished, lambda: desk.press(_KEY.Key_Return))
    desk.next(ConversationsChanged, desk.window.pin_action.trigger)
    assert desk.rows[0] == "A secret"
    desk.window.move_action.trigger()
    assert not desk.sidebar.folder_picker.isVisible()
    desk.window.archive_action.trigger()
    assert "so they cannot be moved or archived" in desk.window.toasts.shown[-1].words.text()
    desk.close()
    assert all(b"A secret" not in file.read_bytes() for file in (tmp_path / "store").rglob("*") if file.is_file())


def _name(widget: QWidget) -> str:
    return str(QAccessible.queryAccessibleInterface(widget).text(QAccessible.Text.Name))
