"""A list of what the user keeps, next to a form for the chosen one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QTimer, Signal, Slot
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import QStackedWidget, QWidget

from app.models.rows import DrawnRow
from app.theme import ThemeKeeper
from app.widgets.layouts import Placed, ScrollArea, Stretch, in_column, in_row
from app.widgets.parts import button, set_up, words
from app.widgets.rows_view import RowsView

_LIST_PX = 210
_PAUSE_MS = 600  # after the last change, until it is saved
NEW = 0  # the id of one that is not saved yet


@dataclass(frozen=True, slots=True)
class PageWords:
    """What one kind is called."""

    listed: str
    none: str  # a sentence in place of the list
    delete: str


class KeptPage(QWidget):
    """Its form shows one thing at a time; whatever is changed there is saved after a pause in typing, and before
    another one is shown. A subclass has a form and says what it holds."""

    saved = Signal(object)  # this one, with its id or `NEW`
    deleted = Signal(object)  # this one
    import_requested = Signal()  # this and the next two: its buttons were pressed
    export_requested = Signal()
    examples_requested = Signal()

    def __init__(self, keeper: ThemeKeeper, said: PageWords, parent: QWidget) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self._rows: tuple[DrawnRow, ...] = ()
        self._awaits_new = False
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._pause.timeout.connect(self.flush)
        self.view = RowsView(keeper, said.listed, parent=self)
        self.view.pointed_at.connect(self._on_pointed_at)
        self.view.delete_pressed.connect(self._delete)
        self.none = set_up(words(said.none, self), kind="quiet")
        self.new_button = button(self.tr("New"), "outlined", self, self._add)
        self.delete_button = button(self.tr("Delete"), "outlined", self, self._delete, tip=said.delete)
        self.import_button = button(self.tr("Import…"), "outlined", self, self.import_requested)
        about_export = self.tr("Exports all of them to a JSON file")
        self.export_button = button(self.tr("Export…"), "outlined", self, self._export, tip=about_export)
        about_examples = self.tr("Adds a few to start with; yours stay")
        self.examples_button = button(
            self.tr("Add examples"), "outlined", self, self.examples_requested, tip=about_examples
        )
        self._forms = QStackedWidget(self)
        keeper.changed.connect(self._fit)

    def fill(self, form: QWidget) -> None:
        page = ScrollArea("plain", self._forms)
        page.setWidget(form)
        self._forms.addWidget(page)
        self._forms.addWidget(self.none)
        self._left = QWidget(self)
        in_column(
            [Placed(self.view, 1), in_row([self.new_button, self.delete_button, Stretch()], spacing=6)],
            inside=self._left,
            spacing=8,
        )
        files = in_row([self.import_button, self.export_button, Stretch(), self.examples_button], spacing=6)
        in_column(
            [Placed(in_row([self._left, Placed(self._forms, 1)], spacing=14), 1), files],
            inside=self,
            margins=(0, 8, 0, 0),
            spacing=10,
        )
        self._fit()
        self._show_form()

    # What a subclass says

    def show_one(self, key: int) -> None:
        """Shows one in the form."""
        raise NotImplementedError

    def changed_one(self) -> object | None:
        """The edited one; None if it is unchanged, or nothing is shown."""
        raise NotImplementedError

    def one(self, key: int) -> object:
        raise NotImplementedError

    def new_one(self) -> object:
        raise NotImplementedError

    def begin_name(self) -> None:
        """Gives the keyboard to the name in the form."""
        raise NotImplementedError

    # What happens

    def set_rows(self, rows: Sequence[DrawnRow]) -> None:
        before = [row.key for row in self._rows]
        place = next((n for n, key in enumerate(before) if key == self.view.current_key), 0)
        self._rows = tuple(rows)
        self.view.set_rows(rows)
        added = [row.key for row in rows if row.key not in before]
        if self._awaits_new and added:
            self._awaits_new = False
            self.view.point_at(added[-1])
            self.begin_name()
        elif rows and self.view.current_key is None:
            self.view.point_at(rows[min(place, len(rows) - 1)].key)
        self._show_form()

    def note_edit(self) -> None:
        """Saves soon."""
        self._pause.start()

    @Slot()
    def flush(self) -> None:
        self._pause.stop()
        changed = self.changed_one()
        if changed is not None:
            self.saved.emit(changed)

    def hideEvent(self, event: QHideEvent) -> None:
        self.flush()
        super().hideEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and not self.isActiveWindow():
            self.flush()

    def _show_form(self) -> None:
        has_one = self.view.current_key is not None
        self._forms.setCurrentIndex(0 if has_one else 1)
        for part in (self.delete_button, self.export_button):
            part.setEnabled(has_one)

    @Slot(object)
    def _on_pointed_at(self, key: object) -> None:
        self.flush()
        if isinstance(key, int):
            self.show_one(key)
        self._show_form()

    @Slot()
    def _add(self) -> None:
        self.flush()
        self._awaits_new = True
        self.saved.emit(self.new_one())

    @Slot()
    def _delete(self) -> None:
        key = self.view.current_key
        if isinstance(key, int):
            self.flush()
            self.deleted.emit(self.one(key))

    @Slot()
    def _export(self) -> None:
        self.flush()
        self.export_requested.emit()

    @Slot()
    def _fit(self) -> None:
        self._left.setFixedWidth(min(self._keeper.px(_LIST_PX), self.screen().availableSize().width() // 3))
