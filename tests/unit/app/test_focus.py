"""Whatever is done in the window, by mouse or by keys, the next word that is typed stands in the message box.

What can be done is not listed here: it is found in the window. The window is real, with all its controllers, and gets
its clicks and keys where a desktop delivers them; only the engine is played.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QPoint, Qt, QTimer
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QLineEdit, QMenu, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot

from app.main_window import MainWindow
from app.startup.first_paint import OpenedWindow
from app.theme import ThemeKeeper
from app.widgets.transcript.prompt_view import PromptView
from app.widgets.transcript.reply_view import ReplyView
from app.widgets.words.prose import Prose
from app.wiring import WiredWindow
from engine.values.config import SpeculationSettings
from engine.values.conversations import Conversation, ConversationSummary, Message, Role, SearchHit
from engine.values.events import (
    ConversationChanged,
    ConversationOpened,
    ConversationsDeleted,
    ConversationsListed,
    PromptStored,
    ReplyFinished,
    TargetInfo,
    TargetReady,
    TargetsListed,
)
from engine.values.orders import ContinueReply, EditPrompt, Regenerate, ReplyOrder, Send
from tests.fakes.bridge import Asked, FakeBridge
from tests.fakes.browser import Browser
from tests.unit.app.library_samples import TARGETS
from tests.unit.app.widgets.messages import STATISTICS

LEFT = Qt.MouseButton.LeftButton
NOW = datetime.now(UTC)
CHATS = tuple(ConversationSummary(number, f"Chat {number}", NOW) for number in (1, 7))
LONG = "<file>\n" + "A line of a long message.\n" * 60
MESSAGES = (
    Message(70, 7, None, Role.USER, LONG, NOW),
    Message(71, 7, 70, Role.ASSISTANT, "See [a page](https://example.org).\n\n```py\nx = 1\n```", NOW, "M", STATISTICS),
    Message(72, 7, 71, Role.USER, "And then?", NOW),
    Message(73, 7, 72, Role.ASSISTANT, "Then it", NOW, "M", STATISTICS),
)
SIBLINGS = {72: (68, 72, 75), 73: (69, 73, 76)}
WORD = "zoo a"
LEAVES = {"quit"}  # the window; nothing can be typed in it afterwards


class Desk:
    def __init__(self, qtbot: QtBot, keeper: ThemeKeeper, folder: Path) -> None:
        self._qtbot = qtbot
        self.bridge = FakeBridge()
        self.window = MainWindow(keeper)
        qtbot.addWidget(self.window)
        opened = OpenedWindow(self.window, keeper)
        self.app = WiredWindow(opened, folder, SpeculationSettings(), make_bridge=lambda _config: self.bridge)
        self.window.resize(1200, 900)
        with qtbot.waitActive(self.window):
            self.window.show()
        qtbot.waitUntil(lambda: self.app.library is not None)
        self.bridge.tell(TargetReady(TargetInfo("Tiny", "/t.gguf", "llama", 1000, 10, 2), self.bridge.loads[-1]))
        self.num_answers = 100
        self.popups = QTimer(self.window, interval=20)  # closes a menu, which has an event loop of its own
        self.popups.timeout.connect(self.close_popup)
        self.popups.start()

    def close_popup(self) -> None:
        if popup := QApplication.activePopupWidget():
            popup.close()

    def arrange(self, in_chat: bool = True) -> None:
        """As it is before each action: a chat with all that rows can have, or the welcome; the keyboard at home."""
        self.leave()
        window = self.window
        window.conversations.show()
        window.conversations.search.clear()
        window.toasts.clear()
        self.bridge.tell(ConversationsListed(CHATS), TargetsListed(TARGETS))
        window.conversations.new_requested.emit()
        if in_chat:
            window.conversations.chosen.emit(7)
            self.bridge.tell(ConversationOpened(Conversation(CHATS[1], "", MESSAGES, siblings=SIBLINGS)))
        window.prompt_box.set_text("")
        window.toasts.show_error("It failed.", "Try again", lambda: None)
        window.notices.show_notice("test", "Something is new.", [("Look", lambda: None)])
        self.rest()
        window.prompt_box.setFocus()
        self.bridge.take()
        self.rest()

    def rest(self) -> None:
        for _ in range(4):
            QApplication.processEvents()
            QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)

    def leave(self) -> None:
        """Answers the engine's commands, closes what was opened, and Esc leaves a field that was entered."""
        self.rest()
        for asked in self.bridge.asked_now():
            self._settle(asked)
        self.bridge.take()
        while QApplication.activePopupWidget():
            self.close_popup()
        for other in QApplication.topLevelWidgets():
            if other is not self.window and other.isVisible():
                other.close()
        self.window.activateWindow()  # as every desktop does
        self.rest()
        focused = QApplication.focusWidget()
        if is_field(focused) and focused is not self.window.prompt_box.editor:
            self.key(Qt.Key.Key_Escape)
        self.rest()

    def _answer(self, order: ReplyOrder) -> None:
        self.num_answers += 2
        number, bridge = self.num_answers, self.bridge
        match order:
            case Send() | EditPrompt():
                prompt = Message(number, 7, None, Role.USER, order.prompt, NOW)
                bridge.tell(PromptStored(prompt, ()))
                bridge.tell(ReplyFinished(Message(number + 1, 7, number, Role.ASSISTANT, "Yes.", NOW)))
            case Regenerate() | ContinueReply():
                parent = 70 if isinstance(order, Regenerate) and order.message_id == 71 else 72
                bridge.tell(ReplyFinished(Message(number, 7, parent, Role.ASSISTANT, "Again.", NOW), (1, number)))

    def _settle(self, asked: Asked) -> None:
        bridge = self.bridge
        match asked.call:
            case "answer", order:
                self._answer(order)
                asked.answer()
            case "show_branch", _, message_id:
                branch = [replace(each, id=message_id) if message_id in SIBLINGS.get(each.id, ()) else each
                          for each in MESSAGES]  # fmt: skip
                siblings = {**SIBLINGS, message_id: next(ids for ids in SIBLINGS.values() if message_id in ids)}
                bridge.tell(ConversationOpened(Conversation(CHATS[1], "", tuple(branch), siblings=siblings)))
            case "delete", (conversation_id,):
                bridge.tell(ConversationsDeleted((next(chat for chat in CHATS if chat.id == conversation_id),)))
            case "restore", (conversation_id,):
                bridge.tell(ConversationChanged(next(chat for chat in CHATS if chat.id == conversation_id)))
            case "search", str():
                if not asked.request.future.done():
                    asked.answer((SearchHit(CHATS[0], None, "", ()),))

    # As a desktop delivers it

    def click(self, widget: QWidget, place: QPoint | None = None, double: bool = False) -> None:
        at = widget.mapTo(widget.window(), widget.rect().center() if place is None else place)
        handle = widget.window().windowHandle()
        QTest.mouseClick(handle, LEFT, Qt.KeyboardModifier.NoModifier, at)
        if double:
            QTest.mouseDClick(handle, LEFT, Qt.KeyboardModifier.NoModifier, at)
        self.rest()

    def key(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        QTest.keyClick((QApplication.activePopupWidget() or self.window).windowHandle(), key, modifiers)
        self.rest()

    def press(self, sequence: QKeySequence) -> None:
        QTest.keySequence(self.window.windowHandle(), sequence)
        self.rest()

    def reach_and_press(self, button: QWidget) -> None:
        if button.focusPolicy() & Qt.FocusPolicy.TabFocus:
            for _ in range(80):
                if QApplication.focusWidget() is button:
                    break
                QTest.keyClick(self.window.windowHandle(), Qt.Key.Key_Tab)
            assert QApplication.focusWidget() is button
            self.key(Qt.Key.Key_Space)

    def type_word(self) -> str:
        """What stands in the box that was not there before."""
        box = self.window.prompt_box
        box.editor.selectAll()
        box.editor.cut()
        for letter in (Qt.Key.Key_Z, Qt.Key.Key_O, Qt.Key.Key_O, Qt.Key.Key_Space, Qt.Key.Key_A):
            QTest.keyClick(self.window.windowHandle(), letter)
        return box.editor.toPlainText()


@pytest.fixture
def desk(qtbot: QtBot, keeper: ThemeKeeper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setattr("app.widgets.target.target_bar.QFileDialog.getOpenFileName", lambda *_: ("", ""))  # blocks
    with Browser("file"), Browser("https"):
        yield Desk(qtbot, keeper, tmp_path)


def is_field(widget: QWidget | None) -> bool:
    return isinstance(widget, QLineEdit | QPlainTextEdit) and not widget.isReadOnly()


def buttons(desk: Desk) -> dict[str, QAbstractButton]:
    """All that can be pressed, by a name that stays when the window is arranged again."""
    found: dict[str, QAbstractButton] = {}
    for button in desk.window.findChildren(QAbstractButton):
        if button.isVisible() and button.isEnabled() and not button.visibleRegion().isEmpty():
            words = button.text() or button.accessibleName() or button.toolTip() or type(button.parent()).__name__
            same = sum(name.startswith(f"{words} #") for name in found)
            found[f"{words} #{same}"] = button
    return found


def entries(menu: QMenu, path: tuple[QMenu, ...] = ()) -> Iterator[tuple[tuple[QMenu, ...], QAction]]:
    for action in menu.actions():
        submenu = action.menu()
        if isinstance(submenu, QMenu):
            yield from entries(submenu, (*path, menu))
        elif not action.isSeparator() and action.objectName() not in LEAVES:
            yield (*path, menu), action


def choose(desk: Desk, menus: tuple[QMenu, ...], action: QAction, by_mouse: bool) -> None:
    """From the menu of the window, which is opened for it."""

    def go_on() -> None:
        desk.popups.stop()
        for menu, inner in zip(menus, (*menus[1:], None), strict=True):
            menu.setActiveAction(inner.menuAction() if inner is not None else action)
            QApplication.processEvents()
        if by_mouse:
            place = menus[-1].actionGeometry(action).center()
            QTest.mouseClick(menus[-1].windowHandle(), LEFT, Qt.KeyboardModifier.NoModifier, place)
        else:
            QTest.keyClick(menus[-1].windowHandle(), Qt.Key.Key_Return)
        desk.popups.start()

    QTimer.singleShot(0, go_on)  # the menu has an event loop of its own
    if by_mouse:
        desk.click(desk.window.target_bar.menu_button)
    else:
        desk.key(Qt.Key.Key_F10)


def rows(desk: Desk) -> dict[str, Callable[[], None]]:
    """What the mouse can do where there is no button."""
    window, view = desk.window, desk.window.conversations.view
    area = view.visualRect(view.model().index(0, 0))
    middle = area.center() + QPoint(0, area.height() // 3)
    views = [each for _, each in window.transcript.column.built_rows()]
    texts = [prose for each in views if isinstance(each, PromptView | ReplyView) for prose in each.findChildren(Prose)]
    return {
        "a chat": lambda: desk.click(view.viewport(), middle),
        "the title of a chat": lambda: desk.click(view.viewport(), middle, double=True),
        "below the chats": lambda: desk.click(view.viewport(), view.viewport().rect().bottomLeft() + QPoint(9, -9)),
        "the cross of a chat": lambda: desk.click(view.viewport(), QPoint(area.right() - 17, middle.y())),
        "the column": lambda: desk.click(window.transcript.column.viewport(), QPoint(3, 3)),
        "the meter": lambda: desk.click(window.meter, QPoint(8, 8)),
        "the bar": lambda: desk.click(window.target_bar, QPoint(window.target_bar.width() // 2, 4)),
        **{f"text {number}": partial(desk.click, prose.viewport()) for number, prose in enumerate(texts)},
    }


def walk(desk: Desk) -> Iterator[tuple[str, Callable[[], None]]]:
    """Every action, each to be done where it is yielded."""
    window = desk.window
    seen: set[str] = set()

    def find_and(act: Callable[[QWidget], None], name: str) -> None:
        act(buttons(desk)[name])

    def point(name: str) -> None:
        rows(desk)[name]()

    for in_chat in (True, False):
        desk.arrange(in_chat)
        for name in buttons(desk):
            if name not in seen:
                seen.add(name)
                for act in (desk.click, desk.reach_and_press):
                    desk.arrange(in_chat)
                    yield f"{name}: {act.__name__}", partial(find_and, act, name)
    for name in rows(desk):
        desk.arrange()
        yield f"{name}: click", partial(point, name)
    for menus, action in entries(window.target_bar.menu_button.menu()):
        for by_mouse in (True, False) if action is menus[-1].actions()[0] else (True,):
            desk.arrange()
            if action.isEnabled():
                way = "click" if by_mouse else "enter"
                act = partial(choose, desk, menus, action, by_mouse)
                yield f"{action.text()} in the menu: {way}", act
    for action in window.actions():
        for sequence in action.shortcuts():
            desk.arrange()
            if action.isEnabled() and action.objectName() not in LEAVES:
                yield sequence.toString(), partial(desk.press, sequence)
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Escape, Qt.Key.Key_PageUp):
        desk.arrange()
        yield key.name, partial(desk.key, key)


def test_the_word_typed_after_any_action_stands_in_the_box(desk: Desk) -> None:
    num_actions, lost = 0, []
    for name, act in walk(desk):
        act()
        desk.leave()
        num_actions += 1
        if (typed := desk.type_word()) != WORD:
            lost.append((name, typed, type(QApplication.focusWidget()).__name__))
    assert lost == []
    assert num_actions >= 150


def test_the_mouse_leaves_the_keyboard_at_home(desk: Desk) -> None:
    desk.arrange()
    box, window = desk.window.prompt_box, desk.window
    chats, chat = window.conversations, window.transcript
    for name in rows(desk):
        rows(desk)[name]()
        desk.leave()
        assert box.editor.hasFocus(), name
        desk.arrange()
    desk.arrange()
    desk.press(window.search_action.shortcut())
    assert chats.search.hasFocus()
    desk.click(buttons(desk)["Copy #1"])
    assert box.editor.hasFocus(), "also from a field that was written in"
    text = [view.prose for _, view in chat.column.built_rows() if isinstance(view, PromptView)][-1]
    desk.click(text.viewport(), QPoint(12, 8), double=True)
    assert text.hasFocus()
    deleted: list[int] = []
    chat.message_actions.delete_requested.connect(deleted.append)
    desk.key(Qt.Key.Key_Delete)
    assert deleted == [], "words are selected, not the message"
    desk.press(QKeySequence(QKeySequence.StandardKey.Copy))
    assert QApplication.clipboard().text() == "And", "what is selected can be copied"
    desk.press(QKeySequence(QKeySequence.StandardKey.Paste))
    assert box.text == "And", "and is pasted into the box"


def test_what_keys_have_reached_is_pressed_by_space(desk: Desk) -> None:
    desk.arrange()
    window = desk.window
    desk.reach_and_press(window.target_bar.sidebar_button)
    assert window.conversations.isHidden()
    desk.key(Qt.Key.Key_Space)
    assert window.conversations.isVisible()
    assert window.target_bar.sidebar_button.hasFocus()
    desk.key(Qt.Key.Key_Z)
    assert window.prompt_box.editor.hasFocus()
    assert window.prompt_box.text == "z"
