"""The sidebar next to the chat."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter, QWidget

from app.theme import ThemeKeeper

SIDEBAR_PX = 260
_LEAST_SIDEBAR_PX = 248  # its field for a search has room for words
_LEAST_CHAT_PX = 380
_FOLD_PX = 760  # a narrower window belongs to the chat


class Sides(QSplitter):
    """Folds the sidebar away in a narrow window, where it is shown only as long as the user wants to see it, and brings
    it back in a wider one. All of it grows with the text. A sidebar that is shown always has a width to be read in."""

    def __init__(self, keeper: ThemeKeeper, sidebar: QWidget, chat: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, handleWidth=1)
        self._keeper = keeper
        self._sidebar, self._chat = sidebar, chat
        self._is_narrow = False
        self._sidebar_px = SIDEBAR_PX
        self.is_sidebar_wanted = True  # where there is room for it
        self.addWidget(sidebar)
        self.addWidget(chat)
        self.setStretchFactor(1, 1)
        self.setCollapsible(0, False)
        self.setCollapsible(1, False)
        self.splitterMoved.connect(self._note_width)
        keeper.changed.connect(self._fit)
        self._fit()

    def show_sidebar(self, shown: bool) -> None:
        if not self._is_narrow:
            self.is_sidebar_wanted = shown
        self._sidebar.setVisible(shown)

    @property
    def sidebar_px(self) -> int:
        """The width chosen by the user, at the usual text size."""
        return self._sidebar_px

    def restore_sidebar(self, shown: bool, width_px: int) -> None:
        """Restores the sidebar of another window, which may have had another width."""
        self._sidebar_px = max(_LEAST_SIDEBAR_PX, width_px)
        self._take_width()
        self.is_sidebar_wanted = shown
        self._sidebar.setVisible(shown and not self._is_narrow)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fold()

    @Slot()
    def _fit(self) -> None:
        for part, least_px in ((self._sidebar, _LEAST_SIDEBAR_PX), (self._chat, _LEAST_CHAT_PX)):
            part.setMinimumWidth(self._keeper.px(least_px))
        self._take_width()
        self._fold()

    @Slot()
    def _note_width(self) -> None:
        self._sidebar_px = round(self.sizes()[0] / self._keeper.scale)

    def _take_width(self) -> None:
        width = self._keeper.px(self._sidebar_px)
        self.setSizes([width, max(1, self.width() - self.handleWidth() - width)])

    def _fold(self) -> None:
        is_narrow = self.width() < self._keeper.px(_FOLD_PX)
        if is_narrow != self._is_narrow:
            self._is_narrow = is_narrow
            self._sidebar.setVisible(self.is_sidebar_wanted and not is_narrow)
