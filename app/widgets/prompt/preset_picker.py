"""The popup with presets: one key opens it, another one chooses."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, Qt, Signal, SignalInstance
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QPushButton, QWidget

from app.models.rows import DrawnRow
from app.text.presets import preset_words
from app.theme import ThemeKeeper
from app.widgets.layouts import Placed, in_column
from app.widgets.parts import button, line, set_up, words
from app.widgets.popups import Popup, place_below
from app.widgets.rows_view import RowsView
from engine.values.order import Preset

_WIDTH_PX = 420
_LEAST_HEIGHT_PX = 200
_HEIGHT_PX = 520
_SPACES_PX = 60
_MOST_DIGITS = 9
NONE = 0  # the id of no preset: the settings of all chats


class PresetPicker(Popup):
    """Lists presets with the digits that choose them; 0 stands for the settings of all chats."""

    chosen = Signal(int)  # the preset with this id, or `NONE`
    save_requested = Signal()  # its buttons were pressed
    manage_requested = Signal()  # it is closed

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Presets"))
        self._keeper = keeper
        self._presets: Sequence[Preset] = ()
        self._in_use: int | None = None
        self.title = words("", self, kind="quiet")
        self.view = RowsView(keeper, self.tr("Presets"), parent=self)
        self.view.used.connect(self._choose)
        self.view.installEventFilter(self)
        self.save_button = self._button(self.tr("Save this chat's settings as a preset…"), self.save_requested)
        self.manage_button = self._button(self.tr("Manage presets and prompts…"), self.manage_requested)
        in_column(
            [self.title, Placed(self.view, 1), line(self), self.save_button, self.manage_button],
            inside=self,
            margins=(10, 10, 10, 8),
            spacing=6,
        )

    def show_presets(self, presets: Sequence[Preset]) -> None:
        self._presets = presets
        self._show_rows()

    def show_in_use(self, preset_id: int | None) -> None:
        """Marks the chat's preset, `NONE` for the settings of all chats; None: no preset."""
        self._in_use = preset_id
        self._show_rows()
        if preset_id is not None and self.isVisible():
            self.view.point_at(preset_id)

    def open_below(self, widget: QWidget, title: str) -> None:
        """`title`: what the choice applies to."""
        self.title.setText(title)
        self._in_use = None
        self._show_rows()
        rows = self.view.rows.rowCount() * max(0, self.view.sizeHintForRow(0))
        besides = self.title.sizeHint().height() + 2 * self.save_button.sizeHint().height() + _SPACES_PX
        width, least, most = map(self._keeper.px, (_WIDTH_PX, _LEAST_HEIGHT_PX, _HEIGHT_PX))
        place_below(self, widget, width, (least, min(most, rows + besides)))
        self.show()
        self.view.setFocus(Qt.FocusReason.PopupFocusReason)
        self.view.point_at(None)
        self.view.point_at_first()

    # Qt's own

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Chooses by digits."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            row = self._row_of(event.text())
            if row is not None:
                self._choose(row.key)
                return True
        return super().eventFilter(watched, event)

    def _row_of(self, digit: str) -> DrawnRow | None:
        if len(digit) != 1 or digit not in "0123456789":
            return None
        rows = self.view.rows.rows
        return rows[int(digit)] if int(digit) < len(rows) else None

    def _show_rows(self) -> None:
        default = self.tr("Default settings")
        about = self.tr("The system prompt and sampling of all chats")
        rows = [self._row(NONE, 0, default, about)]
        rows += [self._row(each.id, n, each.name, preset_words(each)) for n, each in enumerate(self._presets, 1)]
        self.view.set_rows(rows)

    def _row(self, key: int, number: int, name: str, about: str) -> DrawnRow:
        digit = str(number) if number <= _MOST_DIGITS else ""
        if key != self._in_use:
            return DrawnRow(key, name, about, digit)
        in_use = self.tr("In use · {key}").format(key=digit) if digit else self.tr("In use")
        return DrawnRow(key, name, about, in_use, "accent")

    def _button(self, text: str, signal: SignalInstance) -> QPushButton:
        made = set_up(button(text, "menu", self, self.close))
        made.clicked.connect(signal)
        return made

    def _choose(self, key: object) -> None:
        self.close()
        self.chosen.emit(key)
