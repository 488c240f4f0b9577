"""The popup that conversations are moved from: folders, to choose one by its name."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from app.models.rows import DrawnRow
from app.text.numbers import whole
from app.theme import ThemeKeeper
from app.widgets.layouts import Placed, in_column
from app.widgets.parts import ENTER_KEYS, button, line, search_line, set_up, words
from app.widgets.popups import SearchedPopup, place_below
from app.widgets.rows_view import RowsView
from engine.values.order import FOLDER_NAME_LENGTH, Folder

_WIDTH_PX = 320
_HEIGHT_PX = 420
_LEAST_HEIGHT_PX = 190
_SPACES_PX = 60
_OUT = "out"  # the key of the row that is no folder


class FolderPicker(SearchedPopup):
    chosen = Signal(object)  # the folder with this id, or None: no folder
    new_requested = Signal(str)  # a new one, with this name if it is not empty; it is closed

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Move to a folder"))
        self._folders: Sequence[tuple[Folder, int]] = ()
        self._has_out = False
        self.title = words("", self, kind="quiet")
        self.search = search_line(self.tr("Search folders"), self, self._show_rows)
        self.search.setMaxLength(FOLDER_NAME_LENGTH)
        self.search.installEventFilter(self)
        self.view = RowsView(keeper, self.tr("Folders"), parent=self)
        self.view.used.connect(self._choose)
        self.nothing = set_up(words("", self), kind="quiet")
        self.new_button = button(self.tr("New folder…"), "menu", self, self._ask_for_new)
        in_column(
            [self.title, self.search, Placed(self.view, 1), self.nothing, line(self), self.new_button],
            inside=self,
            margins=(10, 10, 10, 8),
            spacing=8,
        )

    def open_below(self, widget: QWidget, num_chats: int, folders: Sequence[tuple[Folder, int]], has_out: bool) -> None:
        """`folders` with their numbers of chats; `has_out`: there is a folder to move out of."""
        self._folders, self._has_out = folders, has_out
        self.title.setText(self.tr("Move %n chat(s) to", "", num_chats))
        self.search.clear()
        self._show_rows()
        rows = (len(folders) + has_out) * max(0, self.view.sizeHintForRow(0)) + _SPACES_PX
        rows += sum(each.sizeHint().height() for each in (self.title, self.search, self.new_button))
        place_below(self, widget, _WIDTH_PX, (_LEAST_HEIGHT_PX, min(_HEIGHT_PX, rows)))
        self.show()
        self.search.setFocus(Qt.FocusReason.PopupFocusReason)
        self.view.point_at(None)  # as it was the last time
        self.view.point_at_first()

    # Qt's own

    def search_key(self, event: QKeyEvent) -> bool:
        if event.key() in ENTER_KEYS:
            self._enter()
            return True
        return super().search_key(event)

    # What happens

    @Slot()
    def _show_rows(self) -> None:
        sought = self.search.text().split()
        rows = [
            DrawnRow(folder.id, folder.name, self.tr("{number} chat(s)", "", number).format(number=whole(number)))
            for folder, number in self._folders
            if all(word.casefold() in folder.name.casefold() for word in sought)
        ]
        if self._has_out and not sought:
            rows.insert(0, DrawnRow(_OUT, self.tr("No folder"), self.tr("Out of its folder")))
        self.view.set_rows(rows)
        self.view.setVisible(bool(rows))
        if self.isVisible():
            self.view.point_at_first()
        self.nothing.setText(self.tr("Enter creates this folder.") if sought else self.tr("No folders yet."))
        self.nothing.setVisible(not rows)

    def _enter(self) -> None:
        if self.view.current_key is not None:
            self.view.use_current()
        else:
            self._ask_for_new()

    @Slot(object)
    def _choose(self, key: object) -> None:
        self.close()
        self.chosen.emit(None if key == _OUT else key)

    @Slot()
    def _ask_for_new(self) -> None:
        self.close()
        self.new_requested.emit(self.search.text().strip())
