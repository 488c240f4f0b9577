from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QSize, Qt, QTimer, Signal, SignalInstance, Slot
from PySide6.QtGui import QAction, QFocusEvent, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QToolButton, QWidget

from app.settings.shortcuts import native, written
from app.text.translation import translate
from app.text.unseen import in_tip, one_line
from app.theme import ThemeKeeper
from app.widgets.parts import PressedByEnter


class IconButton(PressedByEnter, QToolButton):
    """A button with an icon in a colour of the theme, and maybe words; its name is its tooltip
    and what a screen reader says. `on_click` is called, or emitted where it is a signal."""

    def __init__(
        self,
        keeper: ThemeKeeper,
        icon: str,
        name: str,
        on_click: Callable[..., object] | SignalInstance | None = None,
        *,
        words: str = "",
        token: str = "quiet",
        icon_px: int = 18,
        kind: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self._icon = icon
        self._token = token
        self._revealed = True
        self.reached_by_tab = False
        self._icon_px = icon_px
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        if kind:
            self.setProperty("kind", kind)
        if words:
            self.setText(words)
            self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        if on_click is not None:
            self.clicked.connect(on_click)
        self.set_name(name)
        self._draw()
        keeper.changed.connect(self._draw)

    def set_name(self, name: str) -> None:
        self.setToolTip(in_tip(name))
        self.setAccessibleName(one_line(name))

    def set_icon(self, icon: str, token: str | None = None) -> None:
        self._icon = icon
        self._token = token or self._token
        self._draw()

    def set_revealed(self, revealed: bool) -> None:
        """A hidden button keeps its place and can be reached with Tab, but is visible only while it has the focus."""
        if revealed != self._revealed:
            self._revealed = revealed
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._revealed or self.hasFocus():
            super().paintEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self.reached_by_tab = event.reason() in (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)
        super().focusInEvent(event)

    @Slot()
    def _draw(self) -> None:
        icon_px = self._keeper.px(self._icon_px)
        self.setIconSize(QSize(icon_px, icon_px))
        self.setIcon(self._keeper.icon(self._icon, self._token))


FEEDBACK_MS = 1_600


class CopyButton(IconButton):
    """Copies a text that its owner knows, and says so for a moment."""

    pressed_for_text = Signal()  # copy the text

    def __init__(self, keeper: ThemeKeeper, name: str, parent: QWidget | None = None, words: str = "") -> None:
        words = words or translate("CopyButton", "Copy")
        super().__init__(keeper, "copy", name, words=words, icon_px=15, kind="footer", parent=parent)
        self._name, self._words = name, words
        self._timer = QTimer(self, singleShot=True, interval=FEEDBACK_MS)
        self._timer.timeout.connect(self._restore)
        self.clicked.connect(self._on_clicked)

    @Slot()
    def _on_clicked(self) -> None:
        self.pressed_for_text.emit()
        self.setText(self.tr("Copied"))
        self.set_icon("check", "accent")
        self.setAccessibleName(self.tr("Copied"))
        self._timer.start()

    @Slot()
    def _restore(self) -> None:
        self.setText(self._words)
        self.set_icon("copy", "quiet")
        self.setAccessibleName(self._name)


class KeyHint(QObject):
    """Shows the keys of an action in the tooltip of a button that does the same."""

    def __init__(self, button: QAbstractButton, action: QAction) -> None:
        super().__init__(button)
        self._button = button
        self._action = action
        self._words = button.toolTip().split("  (")[0]
        action.changed.connect(self._show)
        self._show()

    @Slot()
    def _show(self) -> None:
        keys = native(written(self._action.shortcuts()))
        hint = f"{self._words}  ({keys})" if keys else self._words
        if isinstance(self._button, IconButton):
            self._button.set_name(hint)
        else:
            self._button.setToolTip(hint)
