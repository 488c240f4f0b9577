"""All keyboard shortcuts at a glance."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QLabel, QWidget

from app.settings.shortcuts import Shortcut, native
from app.widgets.dialog_parts import Dialog, fill_dialog
from app.widgets.layouts import Part, Placed, ScrollingPage, Stretch, add_row, in_grid
from app.widgets.parts import button, set_up

_SIZE_PX = (520, 560)


class ShortcutsDialog(Dialog):
    """Lists the actions that have keys."""

    change_requested = Signal()  # the user wants other keys; the dialog closes

    def __init__(
        self,
        shortcuts: Sequence[Shortcut],
        fixed: Sequence[tuple[str, str]],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(_SIZE_PX, parent)
        self.setWindowTitle(self.tr("Keyboard shortcuts"))
        lines = [*fixed, *((shortcut.keys, shortcut.words) for shortcut in shortcuts if shortcut.keys)]
        self.lines = [(native(keys), words) for keys, words in lines]  # as they are shown
        inside = QWidget(self)
        grid = in_grid([], inside=inside, margins=(4, 0, 12, 0), spacing=(24, 7), stretches=(0, 1))
        top = Qt.AlignmentFlag.AlignTop
        for keys, words in self.lines:
            shown = set_up(QLabel(keys, self), kind="title")
            add_row(grid, [Placed(shown, alignment=top), Placed(QLabel(words, self, wordWrap=True), alignment=top)])
        grid.setRowStretch(grid.rowCount(), 1)
        area = ScrollingPage(self.windowTitle(), inside, self)
        self.change_button = button(self.tr("Change…"), "outlined", self, self._on_change)
        self.close_button = button(self.tr("Close"), "outlined", self, self.close)
        buttons: list[Part] = [self.change_button, Stretch(), self.close_button]
        fill_dialog(self, [], buttons, spacing=12, below=[Placed(area, 1)])
        self.close_button.setFocus()

    @Slot()
    def _on_change(self) -> None:
        self.close()
        self.change_requested.emit()
