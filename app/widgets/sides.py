"""The sidebar, and beside it the chat."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter, QWidget

from app.theme import ThemeKeeper

_SIDEBAR_PX = 260
_LEAST_SIDEBAR_PX = 180
_LEAST_CHAT_PX = 380
_FOLD_PX = 760  # a narrower window belongs to the chat


class Sides(QSplitter):
    """Folds the sidebar away in a narrow window, where it is shown only as long as the user wants to see it, and brings
    it back in a wider one. All of it grows with the text."""

    def __init__(self, keeper: ThemeKeeper, sidebar: QWidget, chat: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, handleWidth=1)
        self._keeper = keeper
        self._scale = keeper.scale
        self._sidebar, self._chat = sidebar, chat
        self._is_narrow = False
        self.is_sidebar_wanted = True  # where there is room for it
        self.addWidget(sidebar)
        self.addWidget(chat)
        self.setStretchFactor(1, 1)
        self.setCollapsible(1, False)
        self.setSizes([keeper.px(_SIDEBAR_PX), keeper.px(_FOLD_PX)])
        keeper.changed.connect(self._fit)
        self._fit()

    def show_sidebar(self, shown: bool) -> None:
        if not self._is_narrow:
            self.is_sidebar_wanted = shown
        self._sidebar.setVisible(shown)

    def restore_sidebar(self, shown: bool) -> None:
        """As the user left it in another window, whose width may have been another."""
        self.is_sidebar_wanted = shown
        self._sidebar.setVisible(shown and not self._is_narrow)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fold()

    @Slot()
    def _fit(self) -> None:
        for part, least_px in ((self._sidebar, _LEAST_SIDEBAR_PX), (self._chat, _LEAST_CHAT_PX)):
            part.setMinimumWidth(self._keeper.px(least_px))
        if self._keeper.scale != self._scale:
            sidebar, chat = self.sizes()
            grown = round(sidebar * self._keeper.scale / self._scale)
            self._scale = self._keeper.scale
            self.setSizes([grown, max(1, sidebar + chat - grown)])
        self._fold()

    def _fold(self) -> None:
        is_narrow = self.width() < self._keeper.px(_FOLD_PX)
        if is_narrow != self._is_narrow:
            self._is_narrow = is_narrow
            self._sidebar.setVisible(self.is_sidebar_wanted and not is_narrow)
