"""Which chats the sidebar shows: a popup to choose by, and a line that says what was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from PySide6.QtCore import QDate, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QCheckBox, QComboBox, QDateEdit, QFrame, QWidget

from app.models.conversation_rows import ChatFilter
from app.text.amounts import day_words
from app.text.numbers import whole
from app.text.translation import translate
from app.theme import ThemeKeeper
from app.widgets.icon_button import IconButton
from app.widgets.layouts import Placed, Stretch, in_column, in_grid, in_row
from app.widgets.parts import ENTER_KEYS, ElidedLabel, button, set_up, words
from app.widgets.popups import Popup, place_below

_WIDTH_PX = 320
_BETWEEN = -1  # the choice of days that names them
_DAYS = (1, 7, 30, 365)
_DAY_MARGIN_PX = 6
_MODEL_LENGTH = 24  # characters that a list of models is at least wide


class FilterPopup(Popup):
    """What is chosen applies at once."""

    chosen = Signal(object)  # (ChatFilter) show only these

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Filter chats"))
        self._is_showing = False  # what changes is not the user's choice
        self.target = _combo(self.tr("Model"), self)
        self.days = _combo(self.tr("Last used"), self)
        self.days.addItem(self.tr("Any time"), None)
        for number in _DAYS:
            self.days.addItem(days_words(number), number)
        self.days.addItem(self.tr("Between two dates"), _BETWEEN)
        self.first_day = _day_field(self.tr("First day"), self)
        self.last_day = _day_field(self.tr("Last day"), self)
        self.archived = QCheckBox(self.tr("Archived chats"), self)
        self.clear_button = button(self.tr("Show all chats"), "outlined", self, self._clear)
        self.range = QWidget(self)
        in_row([self.first_day, words("–", self.range), self.last_day, Stretch()], inside=self.range, spacing=6)
        rows = in_grid(
            [
                [words(self.tr("Model"), self), self.target],
                [words(self.tr("Last used"), self), self.days],
                [None, self.range],
                [None, self.archived],
            ],
            spacing=(12, 8),
            stretches=(0, 1),
        )
        in_column([rows, in_row([Stretch(), self.clear_button])], inside=self, margins=(14, 12, 14, 12), spacing=10)
        for combo in (self.target, self.days):
            combo.activated.connect(self._choose)
        self.archived.toggled.connect(self._choose)
        for field in (self.first_day, self.last_day):
            field.dateChanged.connect(self._choose)

    def open_below(self, widget: QWidget, shown: ChatFilter, target_names: Sequence[str]) -> None:
        """`shown` is the filter in use."""
        self._show(shown, target_names)
        self.adjustSize()
        place_below(self, widget, _WIDTH_PX, (self.sizeHint().height(), self.sizeHint().height()))
        self.show()
        self.target.setFocus(Qt.FocusReason.PopupFocusReason)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Escape, *ENTER_KEYS):
            self.close()
        else:
            super().keyPressEvent(event)

    def _show(self, shown: ChatFilter, target_names: Sequence[str]) -> None:
        self._is_showing = True
        self.target.clear()
        self.target.addItem(self.tr("All models"), "")
        for name in dict.fromkeys((*target_names, *filter(None, (shown.target_name,)))):
            self.target.addItem(name, name)
        self.target.setCurrentIndex(max(0, self.target.findData(shown.target_name)))
        is_range = shown.first_day is not None or shown.last_day is not None
        self.days.setCurrentIndex(max(0, self.days.findData(_BETWEEN if is_range else shown.num_days)))
        today = QDate.currentDate()
        self.first_day.setDate(_shown_day(shown.first_day) or today.addMonths(-1))
        self.last_day.setDate(_shown_day(shown.last_day) or today)
        self.archived.setChecked(shown.is_archived)
        self.range.setVisible(is_range)
        self._is_showing = False

    @Slot()
    def _choose(self) -> None:
        if self._is_showing:
            return
        num_days: int | None = self.days.currentData()
        is_range = num_days == _BETWEEN
        if self.range.isHidden() == is_range:
            self.range.setVisible(is_range)
            self.adjustSize()
        first, last = (_day(field) if is_range else None for field in (self.first_day, self.last_day))
        if first is not None and last is not None and first > last:
            first, last = last, first
        self.chosen.emit(
            ChatFilter(
                target_name=self.target.currentData(),
                num_days=None if is_range else num_days,
                first_day=first,
                last_day=last,
                is_archived=self.archived.isChecked(),
            )
        )

    @Slot()
    def _clear(self) -> None:
        self._show(ChatFilter(), ())
        self.chosen.emit(ChatFilter())
        self.close()


class FilterLine(QFrame):
    """Says which chats are shown, while not all are."""

    cleared = Signal()  # show all again

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("kind", "chip")
        self.words = set_up(ElidedLabel(self), kind="quiet")
        clear = self.tr("Show all chats  (Esc in the list)")
        self.clear_button = IconButton(keeper, "close", clear, self.cleared, icon_px=14, parent=self)
        in_row([Placed(self.words, 1), self.clear_button], inside=self, margins=(10, 1, 2, 1), spacing=4)
        self.hide()

    def show_filter(self, chosen: ChatFilter, num_chats: int) -> None:
        self.setVisible(chosen.is_on)
        if chosen.is_on:
            number = self.tr("{number} chat(s)", "", num_chats).format(number=whole(num_chats))
            self.words.set_words(" · ".join((number, *filter_words(chosen))))
            self.words.setToolTip(self.tr("Only these chats are listed."))


def filter_words(chosen: ChatFilter) -> list[str]:
    """The chosen conditions, each in a few words."""
    said = [translate("ChatFilter", "Archive")] if chosen.is_archived else []
    said += [chosen.target_name] if chosen.target_name else []
    if chosen.num_days is not None:
        said.append(days_words(chosen.num_days))
    if chosen.first_day is not None and chosen.last_day is not None:
        days = translate("ChatFilter", "{first} to {last}")
        said.append(days.format(first=day_words(chosen.first_day), last=day_words(chosen.last_day)))
    return said


def days_words(num_days: int) -> str:
    match num_days:
        case 1:
            return translate("ChatFilter", "Today")
        case 365:
            return translate("ChatFilter", "Last 12 months")
        case _:
            return translate("ChatFilter", "Last {number} days").format(number=num_days)


def _combo(name: str, parent: QWidget) -> QComboBox:
    combo = set_up(QComboBox(parent), name=name)
    combo.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    combo.setMinimumContentsLength(_MODEL_LENGTH)
    return combo


def _day_field(name: str, parent: QWidget) -> QDateEdit:
    field = set_up(QDateEdit(parent), kind="field", name=name)
    field.lineEdit().setTextMargins(_DAY_MARGIN_PX, 0, 0, 0)  # what a style sheet says of it has no effect
    return field


def _shown_day(day: date | None) -> QDate | None:
    return None if day is None else QDate(day.year, day.month, day.day)


def _day(field: QDateEdit) -> date:
    chosen = field.date()
    return date(chosen.year(), chosen.month(), chosen.day())
