"""A person in front of the window: sees what is on the screen, and has a mouse and a keyboard."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, Qt, QTimer
from PySide6.QtGui import QAccessible, QAction
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QCheckBox,
    QFileDialog,
    QLabel,
    QLineEdit,
    QMenu,
    QScrollArea,
    QTextBrowser,
    QWidget,
)
from shiboken6 import isValid

from app.language_change import LanguageChange
from app.main_window import MainWindow
from app.startup.first_paint import open_window
from app.text.translation import Translators
from app.widgets.tour import Tour
from app.widgets.transcript.prompt_view import PromptView
from app.widgets.transcript.reply_view import ReplyView
from app.wiring import WiredWindow
from engine import AUTOMATIC
from engine.values.config import SpeculationSettings
from engine.values.conversations import Message, Role
from engine.values.replies import ReplyStatistics

_BOX_PX = 8  # of a box to tick, from its left
PATIENCE_S = 30.0
_KEY = Qt.Key
_NO_KEYS = Qt.KeyboardModifier.NoModifier
_V = TypeVar("_V", PromptView, ReplyView)


class Person:
    """Acts on what is visible, enabled and covered by nothing, by the words that are on it."""

    def __init__(self, application: QApplication, folder: Path, translators: Translators) -> None:
        """`folder` has all that the walk leaves; the app's own is in it."""
        self.application = application
        self.folder = folder
        self.store = folder / "store"
        self.num_clicks = 0
        self.noted: list[str] = []  # what one step saw, for a later one
        self._translators = translators
        self.start()

    def start(self) -> None:
        """As the program starts."""
        self.app = WiredWindow(
            open_window(self.application, self.store),
            self.store,
            SpeculationSettings(drafter=AUTOMATIC),
            has_tour=True,
        )
        LanguageChange(self.app, self._translators)
        self.until(
            lambda: self.app.target.in_use is not None and self.app.library is not None, "the model is loaded", 60
        )
        self.window.activateWindow()

    @property
    def window(self) -> MainWindow:
        return self.app.window

    def quit(self) -> None:
        """By the menu; what the window leaves is deleted."""
        window = self.window
        self.choose("Quit")
        self.until(lambda: not window.isVisible(), "the window is closed")
        self.end()

    def end(self) -> None:
        window = self.window
        window.close()
        self.app.close()
        for each in (self.app.theme, window):
            each.deleteLater()
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)

    # Waiting

    def until(self, is_so: Callable[[], object], what: str, patience_s: float = PATIENCE_S) -> None:
        """Raises AssertionError, which tells what was waited for."""
        end = time.monotonic() + patience_s
        while not is_so():
            assert time.monotonic() < end, f"waited in vain until {what}"
            self.application.processEvents()
            time.sleep(0.002)

    def rest(self, seconds: float = 0.1) -> None:
        end = time.monotonic() + seconds
        self.until(lambda: time.monotonic() >= end, "a moment is over")

    # Looking

    def windows(self) -> list[QWidget]:
        """What is on the screen beside tooltips, the window that was opened last first."""
        shown = [each for each in QApplication.topLevelWidgets() if each.isVisible() and not _is_tip(each)]
        front = [QApplication.activePopupWidget(), QApplication.activeModalWidget(), QApplication.activeWindow()]
        return sorted(
            shown, key=lambda each: front.index(each) if each in front else len(front) + (each is self.window)
        )

    def see(self, words: str, kind: type[QWidget] = QWidget) -> QWidget:
        """The widget with these words on it, or with this name for a screen reader; without a … at the end as well."""
        found = next(self._with(words, kind), None)
        if found is None:
            found = self._wait_for(words, kind)
        return found

    def sees(self, words: str, kind: type[QWidget] = QWidget) -> bool:
        return next(self._with(words, kind), None) is not None

    def reads(self, words: str) -> bool:
        """Whether these words are part of any that are shown."""
        return any(words in each for window in self.windows() for each in said_in(window))

    def _wait_for(self, words: str, kind: type[QWidget]) -> QWidget:
        self.until(lambda: self.sees(words, kind), f"“{words}” is seen")
        return next(self._with(words, kind))

    def _with(self, words: str, kind: type[QWidget]) -> Iterator[QWidget]:
        for window in self.windows():
            for widget in (window, *window.findChildren(kind)):
                if widget.isVisible() and widget.window() is window and words in names_of(widget):
                    yield widget

    def dialog(self, title: str) -> QWidget:
        self.until(lambda: any(each.windowTitle() == title for each in self.windows()), f"the window “{title}” is open")
        return next(each for each in self.windows() if each.windowTitle() == title)

    # The mouse

    def click(self, widget: QWidget, place: QPoint | None = None) -> None:
        if place is None and isinstance(widget, QCheckBox):
            place = QPoint(_BOX_PX, widget.height() // 2)
        self.reach(widget, place)
        self.num_clicks += 1
        QTest.mouseClick(widget, Qt.MouseButton.LeftButton, pos=place or widget.rect().center())

    def press(self, words: str, kind: type[QWidget] = QAbstractButton) -> None:
        self.click(self.see(words, kind))

    def reach(self, widget: QWidget, place: QPoint | None = None) -> None:
        """The mouse can press it here: it is seen, it works, and nothing is over it."""
        self.until(lambda: widget.isVisible() and widget.isEnabled(), f"{_told(widget)} can be pressed")
        _scroll_to(widget)
        window, at = widget.window(), place or widget.rect().center()
        modal = QApplication.activeModalWidget()
        assert modal in (None, window) or QApplication.activePopupWidget(), (
            f"{_told(modal)} is in front of {_told(widget)}"
        )
        self.until(lambda: _is_on_top(widget, at), f"nothing covers {_told(widget)}")

    def choose(self, name: str) -> None:
        """In the menu ☰, wherever in it this is."""
        self.in_menu(lambda: self.click(self.window.target_bar.menu_button), name)

    def in_menu(self, opens: Callable[[], object], name: str) -> None:
        """Opens a menu and chooses the entry of this name, in a submenu too."""
        failed: list[BaseException] = []

        def act() -> None:
            try:
                self._choose_below(name)
            except Exception as error:  # Qt has called this
                failed.append(error)
                self._close_popups()

        QTimer.singleShot(0, self.window, act)  # the click may end only when the menu is closed
        opens()
        if failed:
            raise failed[0]

    def _choose_below(self, name: str) -> None:
        menu = QApplication.activePopupWidget()
        assert isinstance(menu, QMenu), "no menu is open"
        way = _way_to(menu, name)
        assert way, f"no entry of the menu is called “{name}”"
        for step in way:
            assert step.isEnabled(), f"“{step.text()}” cannot be chosen"
            menu.setActiveAction(step)  # the mouse rests on it
            self.num_clicks += 1
            below = step.menu()
            if isinstance(below, QMenu):
                QTest.mouseClick(menu, Qt.MouseButton.LeftButton, pos=menu.actionGeometry(step).center())
                assert below.isVisible(), f"the menu “{step.text()}” does not open"
                menu = below
            else:
                QTest.keyClick(menu, _KEY.Key_Return)

    def pick_row(self, view: QAbstractItemView, words: str) -> None:
        """Clicks the row of a list that begins with these words."""
        self.until(lambda: _row(view, words) is not None, f"a row “{words}” is there")
        index = _row(view, words)
        assert index is not None
        view.scrollTo(index)
        area = view.visualRect(index)
        self.click(view.viewport(), QPoint(area.left() + 40, area.bottom() - 12))

    # The keyboard

    def key(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = _NO_KEYS) -> None:
        QTest.keyClick(QApplication.focusWidget() or self.window, key, modifiers)

    def type_into(self, field: QWidget, text: str) -> None:
        """In place of what is there."""
        self.click(field)
        select_all = getattr(field, "selectAll", None)
        assert select_all is not None
        select_all()
        QTest.keyClicks(field, text)

    def with_file(self, opens: Callable[[], object], path: Path) -> None:
        """Opens a dialog for files, pastes the path and confirms it. Some dialogs return only when they are closed."""
        chosen: list[QFileDialog] = []

        def look() -> None:
            dialog = next((each for each in self.windows() if isinstance(each, QFileDialog)), None)
            field = None if dialog is None else dialog.findChild(QLineEdit, "fileNameEdit")
            if dialog is None or field is None:
                return
            if field.text() != str(path):
                field.selectAll()
                field.insert(str(path))
            else:
                chosen.append(dialog)
                dialog.accept()  # not by Enter: its list of completions may have the keyboard

        looking = QTimer(self.window, interval=20)
        looking.timeout.connect(look)
        looking.start()
        try:
            opens()
            self.until(lambda: chosen, "a file can be chosen")
            self.until(lambda: not isValid(chosen[0]) or not chosen[0].isVisible(), "the dialog for files is closed")
        finally:
            looking.stop()

    # Chatting

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(self.window.transcript.messages)

    @property
    def titles(self) -> list[str]:
        """Of the chats in the sidebar, as they follow each other."""
        model = self.window.conversations.model
        texts = (model.index(row).data() for row in range(model.rowCount()))
        return [str(text) for text in texts]

    def send(self, text: str) -> None:
        self.until(lambda: not self.window.is_busy, "no reply is under way")
        editor = self.window.prompt_box.editor
        self.click(editor.viewport())
        QTest.keyClicks(editor, text)
        QTest.keyClick(editor, _KEY.Key_Return)

    def ask(self, text: str) -> Message:
        """Waits for the reply."""
        self.send(text)
        return self.reply_to(text)

    def reply_to(self, text: str) -> Message:
        def is_answered() -> bool:
            told = self.messages
            return (
                not self.window.is_busy and len(told) > 1 and told[-1].role is Role.ASSISTANT and told[-2].text == text
            )

        self.until(is_answered, f"“{text}” is answered")
        return self.messages[-1]

    def wait_for_text(self) -> None:
        """Until a part of the reply that is being written is on the screen."""

        def is_written() -> bool:
            views = [view for _, view in self.window.transcript.column.built_rows() if isinstance(view, ReplyView)]
            return bool(views and views[-1].block_views)

        self.until(lambda: self.window.is_busy and is_written(), "a reply is being written")

    def last_view(self, kind: type[_V]) -> _V:
        views = [view for _, view in self.window.transcript.column.built_rows() if isinstance(view, kind)]
        assert views, f"no {kind.__name__} is shown"
        return views[-1]

    @property
    def statistics(self) -> ReplyStatistics:
        told = self.messages[-1].statistics
        assert told is not None
        return told

    @property
    def tour(self) -> Tour:
        self.until(lambda: self.app.tour.tour is not None and self.app.tour.tour.isVisible(), "the tour is shown")
        assert self.app.tour.tour is not None
        return self.app.tour.tour

    # Between two steps

    def come_back(self) -> None:
        """To the main window, with nothing under way, whatever the last step left."""
        self._close_popups()
        for window in self.windows():
            if window is not self.window:
                window.close()
        if self.window.conversations.search.text():
            QTest.keyClick(self.window.conversations.search, _KEY.Key_Escape)
        if self.window.is_busy:
            QTest.keyClick(self.window, _KEY.Key_Escape)
            self.until(lambda: not self.window.is_busy, "the reply has stopped")
        self.window.activateWindow()
        self.until(self.window.isActiveWindow, "the window is in front")
        self.num_clicks = 0

    def _close_popups(self) -> None:
        while (popup := QApplication.activePopupWidget()) is not None:
            popup.close()

    def new_chat(self) -> None:
        self.press("New chat")
        self.until(lambda: not self.messages, "a new chat is open")

    def open_chat(self, title: str) -> None:
        self.pick_row(self.window.conversations.view, title)
        self.until(
            lambda: self.window.conversations.chosen_id is not None and bool(self.messages), f"“{title}” is open"
        )


@contextmanager
def few_clicks(person: Person, most: int) -> Iterator[None]:
    before = person.num_clicks
    yield
    needed = person.num_clicks - before
    assert needed <= most, f"{needed} clicks were needed, at most {most} should be"


def names_of(widget: QWidget) -> set[str]:
    """What it can be called by: its words, or what a screen reader says."""
    names = {widget.windowTitle()} if widget.isWindow() else set()
    if isinstance(widget, QAbstractButton | QLabel):
        names.add(widget.text())
    if isinstance(widget, QLineEdit):
        names.add(widget.placeholderText())
    interface = QAccessible.queryAccessibleInterface(widget)
    if interface is not None:
        names.add(interface.text(QAccessible.Text.Name))
    return {form for name in names if name for form in (name, name.replace("&", ""), name.split("  (")[0])}


def said_in(window: QWidget) -> Iterator[str]:
    for widget in window.findChildren(QWidget):
        if widget.isVisible():
            words = getattr(widget, "words", "")
            yield from names_of(widget)
            yield words if isinstance(words, str) else ""
            if isinstance(widget, QTextBrowser):
                yield widget.toPlainText()


def _way_to(menu: QMenu, name: str) -> list[QAction]:
    for action in menu.actions():
        below = action.menu()
        if isinstance(below, QMenu):
            if way := _way_to(below, name):
                return [action, *way]
        elif action.text().replace("&", "") == name:
            return [action]
    return []


def _row(view: QAbstractItemView, words: str) -> QModelIndex | None:
    model = view.model()
    for row in range(model.rowCount()):
        index = model.index(row, 0)
        if str(index.data() or "").startswith(words):
            return index
    return None


def _is_tip(widget: QWidget) -> bool:
    return widget.windowType() is Qt.WindowType.ToolTip


def _scroll_to(widget: QWidget) -> None:
    """As a wheel would."""
    outer = widget.parentWidget()
    while outer is not None and not outer.isWindow():
        if isinstance(outer, QScrollArea) and outer.widget() is not None:
            outer.ensureWidgetVisible(widget)
        outer = outer.parentWidget()


def _told(widget: QObject | None) -> str:
    if not isinstance(widget, QWidget):
        return "nothing"
    return f"{type(widget).__name__} “{'/'.join(sorted(names_of(widget)))[:60]}”"


def _is_on_top(widget: QWidget, place: QPoint) -> bool:
    under = widget if widget.isWindow() else widget.window().childAt(widget.mapTo(widget.window(), place))
    return under is not None and (under is widget or widget.isAncestorOf(under))
