"""What is always allowed, and can be asked for again."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.text.unseen import one_line
from app.widgets.layouts import Placed, Stretch, in_column, in_row
from app.widgets.parts import ElidedLabel, button, discard, set_up, words
from engine.values.tools import AllowedTool


class AllowedPage(QWidget):
    """Signals:
    forget_requested(object): ask for these again, a tuple of `AllowedTool`, or for all: None.
    """

    forget_requested = Signal(object)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        about = self.tr(
            "These tools are called in all chats without asking you. What you allowed for one chat holds there."
        )
        self.nothing = words(self.tr("Nothing: you are asked before each call."), self, kind="quiet")
        self.rows: dict[AllowedTool, QWidget] = {}
        self._column = in_column([], spacing=4)
        self.all_button = button(
            self.tr("Ask again for all"), "outlined", self, lambda: self.forget_requested.emit(None)
        )
        in_column(
            [
                words(about, self, kind="quiet"),
                self.nothing,
                self._column,
                in_row([self.all_button, Stretch()]),
                Stretch(),
            ],
            inside=self,
            margins=(0, 4, 12, 4),
            spacing=10,
        )
        self.show_allowed((), ())

    def show_allowed(self, tools: Sequence[AllowedTool], identities: Collection[str]) -> None:
        """`identities`: those of the servers that are set up; what was allowed to another one holds for none."""
        for gone in self.rows.keys() - {*tools}:
            self._column.removeWidget(self.rows[gone])
            discard(self.rows.pop(gone))
        for tool in tools:
            if tool not in self.rows:
                self.rows[tool] = self._row(tool, tool.definition.program in identities)
                self._column.addWidget(self.rows[tool])
        self.nothing.setVisible(not tools)
        self.all_button.setVisible(bool(tools))

    def _row(self, tool: AllowedTool, is_there: bool) -> QWidget:
        row = QWidget(self)
        what = f"{tool.server}: {tool.tool}"
        if not is_there:
            what = self.tr("{tool} (its server was changed since)").format(tool=what)
        name = ElidedLabel(row)
        name.set_words(what)
        again = button(self.tr("Ask again"), "outlined", row, partial(self._forget, tool))
        set_up(again, name=f"{again.text()} – {one_line(what)}")
        in_row([Placed(name, 1), again], inside=row, spacing=8)
        return row

    def _forget(self, tool: AllowedTool) -> None:
        self.forget_requested.emit((tool,))
