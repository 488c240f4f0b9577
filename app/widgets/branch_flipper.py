from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from app.theme import ThemeKeeper
from app.widgets.icon_button import IconButton


class BranchFlipper(QWidget):
    """`‹ 2 / 3 ›`: which of several versions of a message is shown, and the way to the others. Hidden where there is
    only one.

    Signals:
        chosen(int): the id of the version that is to be shown.
    """

    chosen = Signal(int)

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._siblings: tuple[int, ...] = ()
        self._place = 0
        self._possible = True
        self.earlier_button = IconButton(keeper, "earlier", "", icon_px=14, kind="footer", parent=self)
        self.later_button = IconButton(keeper, "later", "", icon_px=14, kind="footer", parent=self)
        self.earlier_button.clicked.connect(self._on_earlier)
        self.later_button.clicked.connect(self._on_later)
        self.words = QLabel(self, alignment=Qt.AlignmentFlag.AlignCenter)
        self.words.setProperty("kind", "faint")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        for widget in (self.earlier_button, self.words, self.later_button):
            row.addWidget(widget)
        self.hide()

    def set_siblings(self, siblings: Sequence[int], shown: int) -> None:
        """The ids of all versions, oldest first, and of the one that is shown."""
        self._siblings = tuple(siblings)
        self._place = self._siblings.index(shown) if shown in self._siblings else 0
        number, count = self._place + 1, len(self._siblings)
        self.words.setText(f"{number} / {count}")
        where = self.tr("Version {number} of {count} is shown")
        self.words.setToolTip(where.format(number=number, count=count))
        before = self.tr("Show the version before (version {number} of {count} is shown)")
        self.earlier_button.set_name(before.format(number=number, count=count))
        after = self.tr("Show the next version (version {number} of {count} is shown)")
        self.later_button.set_name(after.format(number=number, count=count))
        self.setVisible(len(self._siblings) > 1)
        self._update()

    def set_possible(self, possible: bool) -> None:
        """Not while the conversation is being answered."""
        self._possible = possible
        self._update()

    def _update(self) -> None:
        self.earlier_button.setEnabled(self._possible and self._place > 0)
        self.later_button.setEnabled(self._possible and self._place < len(self._siblings) - 1)

    @Slot()
    def _on_earlier(self) -> None:
        self.chosen.emit(self._siblings[self._place - 1])

    @Slot()
    def _on_later(self) -> None:
        self.chosen.emit(self._siblings[self._place + 1])
