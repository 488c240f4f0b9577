"""Something the user should know of and may do something about, above the chat. It stays until it is answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.theme import ThemeKeeper
from app.widgets.icon_button import IconButton
from app.widgets.layouts import Placed, Stretch, in_row

Action = tuple[str, Callable[[], object]]  # the words on a button, and what it does
_ICON_PX = 18
_REST_PX = 90  # what is neither words nor buttons
_LEAST_PX = 320  # for the words beside the buttons


class NoticeBar(QFrame):
    """One sentence or two, with buttons that do not close it.

    Signals:
        closed(): the user has seen enough of it.
    """

    closed = Signal()

    def __init__(self, keeper: ThemeKeeper, text: str, actions: Sequence[Action], parent: QWidget) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self.setProperty("kind", "notice")
        self._sign = QLabel(self)
        self.words = QLabel(text, self)
        self.words.setWordWrap(True)
        self.words.setTextFormat(Qt.TextFormat.PlainText)
        self.words.setAlignment(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
        self.buttons: list[QPushButton] = []
        self._side = QWidget(self)
        row = QHBoxLayout(self._side)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        for words, act in actions:
            button = QPushButton(words, self._side)
            button.setProperty("kind", "link")
            button.setCursor(Qt.CursorShape.PointingHandCursor)
            button.clicked.connect(act)
            row.addWidget(button)
            self.buttons.append(button)
        row.addStretch(1)
        self.close_button = IconButton(keeper, "close", self.tr("Dismiss"), icon_px=15, parent=self)
        self.close_button.clicked.connect(self.closed)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(16, 7, 10, 7)
        self._grid.setHorizontalSpacing(9)
        self._grid.setVerticalSpacing(2)
        self._grid.setColumnStretch(1, 1)
        self._grid.addWidget(self._sign, 0, 0)
        self._grid.addWidget(self.words, 0, 1)
        self._grid.addWidget(self._side, 0, 2)
        self._grid.addWidget(self.close_button, 0, 3)
        self._is_below = False  # the buttons, and not beside the words
        keeper.changed.connect(self._draw)
        keeper.changed.connect(self._place)
        self._draw()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    @Slot()
    def _place(self) -> None:
        """Where the words would have little room, the buttons stand below them."""
        words_px = self.words.fontMetrics().horizontalAdvance(self.words.text())
        room_px = self.width() - self._side.sizeHint().width() - self._keeper.px(_REST_PX)
        is_below = room_px < min(words_px, self._keeper.px(_LEAST_PX))
        if is_below != self._is_below:
            self._is_below = is_below
            self._grid.addWidget(self._side, *((1, 1) if is_below else (0, 2)))

    @Slot()
    def _draw(self) -> None:
        icon_px = self._keeper.px(_ICON_PX)
        self._sign.setPixmap(self._keeper.icon("info", "accent").pixmap(icon_px, icon_px))


class NoticeBars(QWidget):
    """One bar for each subject, the latest one below; nothing where there is none."""

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self.shown: dict[str, NoticeBar] = {}
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self.hide()

    def show_notice(self, subject: str, text: str, actions: Sequence[Action]) -> NoticeBar:
        """In the place of what was told of this subject before."""
        self.dismiss(subject)
        bar = NoticeBar(self._keeper, text, actions, self)
        bar.closed.connect(lambda: self.dismiss(subject))
        self.shown[subject] = bar
        self._column.addWidget(bar)
        self.show()
        bar.show()
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(bar, text))
        return bar

    def dismiss(self, subject: str) -> None:
        bar = self.shown.pop(subject, None)
        if bar is not None:
            bar.hide()
            self._column.removeWidget(bar)
            bar.deleteLater()
        self.setVisible(bool(self.shown))


class IncognitoBanner(QFrame):
    """Says, above a chat, that it leaves no trace."""

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self.setProperty("kind", "incognito")
        self.setToolTip(self.tr("It is held in memory only, and gone when the app is closed."))
        self._sign = QLabel(self)
        self.words = QLabel(self.tr("Incognito: nothing of this chat is kept, remembered or learned from."), self)
        self.words.setWordWrap(True)
        in_row(
            [Stretch(), self._sign, Placed(self.words, 100), Stretch()], inside=self, margins=(16, 7, 16, 7), spacing=9
        )
        self.words.setAlignment(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
        keeper.changed.connect(self._draw)
        self._draw()

    @Slot()
    def _draw(self) -> None:
        self._sign.setPixmap(self._keeper.icon("incognito", "accent").pixmap(18, 18))
