"""The prompts of the library, above the message box while one is looked for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtWidgets import QFrame, QWidget

from app.models.rows import DrawnRow
from app.theme import ThemeKeeper
from app.widgets.layouts import Placed, in_column
from app.widgets.parts import announce, set_up, words
from app.widgets.rows_view import RowsView
from engine.values.order import LibraryPrompt

MANAGE = 0  # the key of the row that leads to the library
_WIDTH_PX = 460
_MOST_ROWS = 5
_MARGIN_PX = 8
_BESIDES_PX = 24  # spaces around the rows and the line below them
_MOST_PREVIEW = 200  # characters
_WORDS = re.compile(r"\w+")


class PromptMenu(QFrame):
    """A list that follows what is typed. The keyboard stays in the message box."""

    used = Signal(object)  # (int) the prompt with this id, or `MANAGE`, was clicked or is wanted by Enter

    def __init__(self, keeper: ThemeKeeper, parent: QWidget) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self.setProperty("kind", "popup")
        self.setAccessibleName(self.tr("Your prompts"))
        self.view = RowsView(keeper, self.tr("Your prompts"), parent=self)
        self.view.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.view.used.connect(self.used)
        self.hint = set_up(words(self.tr("Enter: insert · Esc: keep typing"), self), kind="faint")
        self.hint.setContentsMargins(8, 0, 8, 2)
        in_column([Placed(self.view, 1), self.hint], inside=self, margins=(6, 6, 6, 6), spacing=4)
        self.hide()

    def show_prompts(self, prompts: Sequence[LibraryPrompt], sought: str, box: QWidget) -> None:
        """Shows matching prompts above `box`; hidden without any."""
        rows = [DrawnRow(each.id, each.name, _preview(each.text)) for each in matching(prompts, sought)]
        if not sought:
            about = self.tr("Write prompts, or add examples") if not prompts else self.tr("Write, change, import")
            rows.append(DrawnRow(MANAGE, self.tr("Manage prompts…"), about))
        self.view.set_rows(rows)
        if not rows:
            self.hide()
            return
        self.view.point_at(rows[0].key)
        self._place(box)
        self.show()
        self.raise_()
        self._say()

    def move(self, step: int) -> None:  # type: ignore[override]
        """Moves to another row, wrapping around."""
        rows = self.view.rows.rows
        here = next(number for number, row in enumerate(rows) if row.key == self.view.current_key)
        self.view.point_at(rows[(here + step) % len(rows)].key)
        self._say()

    def _place(self, box: QWidget) -> None:
        window = box.window()
        if self.parentWidget() is not window:
            self.setParent(window)
        corner = box.mapTo(window, QPoint(0, 0))
        row_px = max(1, self.view.sizeHintForRow(0))
        shown = min(_MOST_ROWS, self.view.rows.rowCount())
        width = min(self._keeper.px(_WIDTH_PX), box.width())
        besides = self.hint.heightForWidth(width) + _BESIDES_PX
        height = min(shown * row_px + besides, corner.y() - _MARGIN_PX)
        self.setGeometry(corner.x(), corner.y() - height - 4, width, height)

    def _say(self) -> None:
        """Tells screen readers the current row, as the list never has the keyboard."""
        current = next((row for row in self.view.rows.rows if row.key == self.view.current_key), None)
        if current is not None:
            announce(self.view, current.spoken)


def matching(prompts: Sequence[LibraryPrompt], sought: str) -> list[LibraryPrompt]:
    """Prompts of which every sought word begins a word of the name; names that begin so come first."""
    if sought[:1].isspace() or (sought and not _WORDS.search(sought)) or re.search(r"[^\w\s\-'’.,&]", sought):
        return []  # a path, or a sentence after a slash
    wanted = sought.casefold().split()
    found = [each for each in prompts if all(_begins_word(each.name, word) for word in wanted)]
    begun = " ".join(wanted)
    return sorted(found, key=lambda each: not each.name.casefold().startswith(begun))


def _begins_word(name: str, sought: str) -> bool:
    folded = name.casefold()
    return any(folded.startswith(sought, found.start()) for found in _WORDS.finditer(folded))


def _preview(text: str) -> str:
    return " ".join(text[: 2 * _MOST_PREVIEW].split())[:_MOST_PREVIEW]
