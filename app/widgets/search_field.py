"""The search field of the sidebar."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QTimer, Signal, Slot
from PySide6.QtGui import QKeyEvent, QKeySequence, QResizeEvent, Qt
from PySide6.QtWidgets import QLineEdit, QWidget

from app.theme import ThemeKeeper
from app.widgets.parts import Sign, set_up

_SIGN_PX = 16
_GAP_PX = 6
REST_MS = 150  # from the last key to the search
_MOST_CHARACTERS = 200


class SearchField(QLineEdit):
    """Searches while the user types, after a short rest, and leads the keyboard to the results."""

    searched = Signal(str)  # search for these words; empty: for nothing any more
    left = Signal()  # the user is done; the field is empty
    entered = Signal()  # this and the next: keys that lead to the results
    down_pressed = Signal()

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent, maxLength=_MOST_CHARACTERS, clearButtonEnabled=True)
        self._keeper = keeper
        self.setPlaceholderText(self.tr("Search chats"))
        tip = self.tr("Search titles and messages  (Ctrl+F)")
        set_up(self, kind="search", name=self.tr("Search chats"), tip=tip)
        self._sign = Sign(keeper, "search", "faint", self, _SIGN_PX, _SIGN_PX)  # Qt's own icons do not grow
        self._timer = QTimer(self, singleShot=True, interval=REST_MS)
        self._timer.timeout.connect(self._search)
        self.textChanged.connect(self._on_text_changed)
        keeper.changed.connect(self._fit)
        self._fit()

    def leave(self) -> None:
        self.clear()
        self.left.emit()

    def event(self, event: QEvent) -> bool:
        """Esc belongs to this field while it has the keyboard, even if it would stop a reply."""
        is_shortcut = event.type() == QEvent.Type.ShortcutOverride
        if is_shortcut and isinstance(event, QKeyEvent) and event.matches(QKeySequence.StandardKey.Cancel):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        match event.key():
            case Qt.Key.Key_Escape:
                self.leave()
            case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                self.entered.emit()
            case Qt.Key.Key_Down:
                self.down_pressed.emit()
            case _:
                super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    @Slot()
    def _on_text_changed(self) -> None:
        if self.text().strip():
            self._timer.start()
        else:
            self._search()

    @Slot()
    def _search(self) -> None:
        self._timer.stop()
        self.searched.emit(self.text().strip())

    @Slot()
    def _fit(self) -> None:
        """Places the icon before the words."""
        gap = self._keeper.px(_GAP_PX)
        self.setTextMargins(self._sign.width() + gap, 0, 0, 0)
        self._sign.setGeometry(gap, 0, self._sign.width(), self.height())
