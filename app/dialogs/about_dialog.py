"""What this program is, and what it runs on."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QGridLayout, QLabel, QWidget

from app.dialogs.parts import button, words
from app.icons import app_icon
from app.theme import ThemeKeeper
from app.widgets.layouts import Placed, Stretch, in_column, in_row

_WIDTH_PX = 460
_ICON_PX = 48

Fact = tuple[str, str]  # a name and what there is to say


class AboutDialog(QDialog):
    """A version, a sentence, and facts that are shown as they become known."""

    def __init__(self, keeper: ThemeKeeper, version: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("About Slipstream"))
        self._version = version
        self._facts: tuple[Fact, ...] = ()
        icon = QLabel(self, pixmap=app_icon().pixmap(keeper.px(_ICON_PX), keeper.px(_ICON_PX)))
        self.heading = words(f"Slipstream {version}".strip(), self, kind="title")
        sentence = words(
            self.tr("Chat with language models on your own computer. Nothing you write leaves it."), self, kind="quiet"
        )
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(16)
        self._grid.setVerticalSpacing(6)
        self._grid.setColumnStretch(1, 1)
        self.copy_button = button(self.tr("Copy"), "outlined", self)
        self.copy_button.setToolTip(self.tr("Copies all of this, for somebody who helps you"))
        self.copy_button.clicked.connect(self._copy)
        self.close_button = button(self.tr("Close"), "outlined", self)
        self.close_button.setDefault(True)
        self.close_button.clicked.connect(self.close)
        top = in_column([self.heading, sentence], spacing=4)
        head = in_row([Placed(icon, alignment=Qt.AlignmentFlag.AlignTop), Placed(top, 1)], spacing=14)
        buttons = in_row([self.copy_button, Stretch(), self.close_button])
        in_column([head, self._grid, Stretch(), buttons], inside=self, margins=(18, 16, 18, 14), spacing=16)
        self.setMinimumWidth(keeper.px(_WIDTH_PX))
        self.close_button.setFocus()

    @property
    def facts(self) -> tuple[Fact, ...]:
        return self._facts

    def show_facts(self, facts: Sequence[Fact]) -> None:
        """In the place of those that were shown before."""
        self._facts = tuple(facts)
        while (item := self._grid.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for row, (name, told) in enumerate(self._facts):
            label = QLabel(name, self)
            label.setProperty("kind", "quiet")
            self._grid.addWidget(label, row, 0, Qt.AlignmentFlag.AlignTop)
            self._grid.addWidget(words(told, self), row, 1)
        layout = self.layout()
        if layout is not None:
            width = self.minimumWidth()
            self.resize(width, layout.totalHeightForWidth(width))

    @Slot()
    def _copy(self) -> None:
        lines = [f"{name}: {told}" for name, told in self._facts]
        QGuiApplication.clipboard().setText("\n".join([self.heading.text(), *lines]))
