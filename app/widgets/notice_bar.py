"""Notices: bars above the chat, which stay until they are answered, and messages outside of the window."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject, Qt, Signal, Slot
from PySide6.QtGui import QIcon, QResizeEvent
from PySide6.QtWidgets import QApplication, QBoxLayout, QFrame, QSystemTrayIcon, QWidget

from app.text.unseen import one_line
from app.theme import ThemeKeeper
from app.widgets.icon_button import IconButton
from app.widgets.layouts import Placed, Stretch, in_column, in_grid, in_row
from app.widgets.parts import Sentences, Sign, announce, button

Action = tuple[str, Callable[[], object]]  # the words on a button, and what it does
_SHOWN_MS = 10_000  # of a message of the system
_REST_PX = 90  # neither words nor buttons
_SPACING_PX = 4  # between buttons
_NO_MARKUP = {ord("<"): "‹", ord(">"): "›"}  # which some desktops would read as pictures and links
_LEAST_PX = 320  # for the words next to the buttons


class NoticeBar(QFrame):
    """One sentence or two, with buttons that do not close it."""

    closed = Signal()  # the user has dismissed it

    def __init__(self, keeper: ThemeKeeper, text: str, actions: Sequence[Action], parent: QWidget) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self.setProperty("kind", "notice")
        self.words = Sentences(text, self)
        self.words.setAlignment(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
        self._side = QWidget(self)
        self.buttons = [button(words, "link", self._side, act, has_hand=True) for words, act in actions]
        self._row = in_row([*self.buttons, Stretch()], inside=self._side, spacing=_SPACING_PX)
        self.close_button = IconButton(keeper, "close", self.tr("Dismiss"), self.closed, icon_px=15, parent=self)
        self._grid = in_grid(
            [[Sign(keeper, "info", "accent", self), self.words, self._side, self.close_button]],
            inside=self,
            margins=(16, 7, 10, 7),
            spacing=(9, 2),
            stretches=(0, 1),
        )
        self._is_below = False  # the buttons are below the words, not next to them
        keeper.changed.connect(self._place)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self._place()  # its words or buttons have another size
        return super().event(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    @Slot()
    def _place(self) -> None:
        """Moves the buttons below the words if these have little room, and stacks them if they have little
        themselves."""
        words_px = self.words.fontMetrics().horizontalAdvance(self.words.text())
        buttons_px = sum(each.sizeHint().width() + _SPACING_PX for each in self.buttons)
        room_px = self.width() - self._keeper.px(_REST_PX)
        is_below = room_px - buttons_px < min(words_px, self._keeper.px(_LEAST_PX))
        direction = QBoxLayout.Direction
        self._row.setDirection(direction.TopToBottom if buttons_px > room_px else direction.LeftToRight)
        if is_below != self._is_below:
            self._is_below = is_below
            self._grid.addWidget(self._side, *((1, 1) if is_below else (0, 2)))


class NoticeBars(QWidget):
    """One bar for each subject, the latest one below; hidden where there is none. They lie over the top of their
    parent: what one reads there must not move."""

    height_changed = Signal(int)  # this many pixels of the parent are covered

    def __init__(self, keeper: ThemeKeeper, parent: QWidget) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self._below = parent
        self.shown: dict[str, NoticeBar] = {}
        self._covered_px = 0
        self._column = in_column([], inside=self, spacing=0)
        self.hide()
        parent.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self._place()
        return super().eventFilter(watched, event)

    def event(self, event: QEvent) -> bool:
        handled = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self._place()
        return handled

    def show_notice(self, subject: str, text: str, actions: Sequence[Action]) -> NoticeBar:
        """Replaces an earlier notice on this subject."""
        self.dismiss(subject)
        bar = NoticeBar(self._keeper, text, actions, self)
        bar.closed.connect(lambda: self.dismiss(subject))
        self.shown[subject] = bar
        self._column.addWidget(bar)
        self.show()
        bar.show()
        self._place()
        announce(bar, text)
        return bar

    def dismiss(self, subject: str) -> None:
        bar = self.shown.pop(subject, None)
        if bar is not None:
            bar.hide()
            self._column.removeWidget(bar)
            bar.deleteLater()
        self.setVisible(bool(self.shown))
        self._place()

    def _place(self) -> None:
        width = self._below.width()
        height = self._column.totalHeightForWidth(width) if self.shown else 0
        self.setGeometry(0, 0, width, height)
        self.raise_()
        if height != self._covered_px:
            self._covered_px = height
            self.height_changed.emit(height)


class Banner(QFrame):
    """Says above a chat what is special about it; hidden without words."""

    def __init__(self, keeper: ThemeKeeper, icon: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("kind", "incognito")
        self.words = Sentences("", self)
        self.words.setAlignment(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
        sign = Sign(keeper, icon, "accent", self)
        in_row([Stretch(), sign, Placed(self.words, 100), Stretch()], inside=self, margins=(16, 7, 16, 7), spacing=9)
        self.hide()

    def show_words(self, words: str) -> None:
        self.words.setText(words)
        self.setVisible(bool(words))


class DesktopNotice(QObject):
    """A message of the system. Qt shows it next to an icon in the system's tray, which is there only until the message
    was seen. Where there is no tray, the window asks for attention: its entry in the task bar blinks, its icon in the
    dock jumps."""

    clicked = Signal()  # the message, or its icon, was clicked

    def __init__(self, window: QWidget, icon: QIcon) -> None:
        super().__init__(window)
        self._window = window
        self._icon = icon
        self._tray: QSystemTrayIcon | None = None

    def show(self, title: str, text: str) -> None:
        if not (QSystemTrayIcon.isSystemTrayAvailable() and QSystemTrayIcon.supportsMessages()):
            QApplication.alert(self._window)
            return
        if self._tray is None:
            self._tray = QSystemTrayIcon(self._icon, self)
            self._tray.messageClicked.connect(self.clicked)
            self._tray.activated.connect(self.clicked)
        self._tray.setToolTip(title)
        self._tray.show()
        self._tray.showMessage(title, one_line(text).translate(_NO_MARKUP), self._icon, _SHOWN_MS)

    def hide(self) -> None:
        if self._tray is not None:
            self._tray.hide()
            self._tray.deleteLater()
            self._tray = None
