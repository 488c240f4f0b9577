"""What this program is and what it runs on."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QWidget

from app.theme import ThemeKeeper, app_icon
from app.widgets.dialog_parts import Dialog, fill_dialog
from app.widgets.layouts import Part, Placed, Stretch, in_column, in_grid, in_row
from app.widgets.parts import button, discard, set_up, words

_WIDTH_PX = 460
_ICON_PX = 48

Fact = tuple[str, str]  # a name and its value


class AboutDialog(Dialog):
    """A version, a sentence, and facts that are shown as they become known."""

    def __init__(self, keeper: ThemeKeeper, version: str, parent: QWidget | None = None) -> None:
        super().__init__((_WIDTH_PX, 0), parent)
        self.setWindowTitle(self.tr("About Slipstream"))
        self._version = version
        self.facts: tuple[Fact, ...] = ()
        icon = QLabel(self, pixmap=app_icon().pixmap(keeper.px(_ICON_PX), keeper.px(_ICON_PX)))
        self.heading = words(f"Slipstream {version}".strip(), self, kind="title")
        sentence = self.tr(
            "Chat with language models on your own computer. Nothing you write leaves it unless you choose so."
        )
        self._grid = in_grid([], spacing=(16, 6), stretches=(0, 1))
        copies = self.tr("Copies all of this, to send to someone who helps you")
        self.copy_button = button(self.tr("Copy"), "outlined", self, self._copy, tip=copies)
        self.close_button = button(self.tr("Close"), "outlined", self, self.close)
        self.close_button.setDefault(True)
        top = in_column([self.heading, words(sentence, self, kind="quiet")], spacing=4)
        head = in_row([Placed(icon, alignment=Qt.AlignmentFlag.AlignTop), Placed(top, 1)], spacing=14)
        buttons: list[Part] = [self.copy_button, Stretch(), self.close_button]
        fill_dialog(self, [head, self._grid, Stretch()], buttons, spacing=16)
        self.close_button.setFocus()

    def show_facts(self, facts: Sequence[Fact]) -> None:
        """In place of those that were shown before."""
        self.facts = tuple(facts)
        while (item := self._grid.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                discard(widget)
        for row, (name, fact) in enumerate(self.facts):
            self._grid.addWidget(set_up(QLabel(name, self), kind="quiet"), row, 0, Qt.AlignmentFlag.AlignTop)
            self._grid.addWidget(words(fact, self), row, 1)

    @Slot()
    def _copy(self) -> None:
        lines = [f"{name}: {fact}" for name, fact in self.facts]
        QGuiApplication.clipboard().setText("\n".join([self.heading.text(), *lines]))
