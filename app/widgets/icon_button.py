from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtGui import QFocusEvent, QPaintEvent
from PySide6.QtWidgets import QToolButton, QWidget

from app.theme import ThemeKeeper


class IconButton(QToolButton):
    """A button with an icon in a colour of the theme; its name is its tooltip and what a screen reader says."""

    def __init__(
        self,
        keeper: ThemeKeeper,
        icon: str,
        name: str,
        *,
        token: str = "quiet",
        icon_px: int = 18,
        kind: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self._icon = icon
        self._token = token
        self._awake = True
        self.reached_by_tab = False
        self._icon_px = icon_px
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        if kind:
            self.setProperty("kind", kind)
        self.set_name(name)
        self._draw()
        keeper.changed.connect(self._draw)

    def set_name(self, name: str) -> None:
        self.setToolTip(name)
        self.setAccessibleName(name)

    def set_icon(self, icon: str, token: str | None = None) -> None:
        self._icon = icon
        self._token = token or self._token
        self._draw()

    def set_awake(self, awake: bool) -> None:
        """Asleep it keeps its place and can be reached with Tab, but is seen only while it has the focus."""
        if awake != self._awake:
            self._awake = awake
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._awake or self.hasFocus():
            super().paintEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self.reached_by_tab = event.reason() in (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)
        super().focusInEvent(event)

    @Slot()
    def _draw(self) -> None:
        icon_px = self._keeper.px(self._icon_px)
        self.setIconSize(QSize(icon_px, icon_px))
        self.setIcon(self._keeper.icon(self._icon, self._token))
