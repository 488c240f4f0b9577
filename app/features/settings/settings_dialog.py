"""All settings in one window: a page for each group, and a search over all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QPoint, Qt, Signal, Slot
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QLabel, QListWidget, QVBoxLayout, QWidget

from app.settings.declaration import Setting, SettingsPage, SettingValue
from app.settings.shortcuts import KeyProblem, Shortcut
from app.text.translation import translate
from app.theme import ThemeKeeper
from app.widgets.dialog_parts import Dialog, ask, fill_dialog, question_box
from app.widgets.layouts import Part, Placed, ScrollArea, Stretch, in_column, in_row
from app.widgets.option_row import LinkRow, OptionRow, SettingRow, ShortcutRow
from app.widgets.parts import button, search_line, set_up, words

_SIZE_PX = (760, 580)
_PAGES_PX = 150
_MOST_PAGES_PX = 240


@dataclass(frozen=True, slots=True)
class DialogState:
    """What the user sees of the settings, for a window in another language."""

    position: QPoint
    group: SettingsPage
    search: str
    scrolled_px: int
    setting: str  # that has the keyboard; empty: none


class SettingsDialog(Dialog):
    """Shows settings and takes other values; every change takes effect at once. The controller decides what follows."""

    chosen = Signal(str, object)  # give a setting this value
    keys_chosen = Signal(str, str)  # give an action these keys
    swap_requested = Signal(str, str, str)  # give an action these keys, and their present owner those of the action
    all_reset = Signal()  # reset everything to the usual
    load_requested = Signal()  # load the model again, with the present settings

    def __init__(self, keeper: ThemeKeeper, settings: Sequence[Setting], parent: QWidget | None = None) -> None:
        super().__init__(_SIZE_PX, parent)
        self.setWindowTitle(self.tr("Settings"))
        self._keeper = keeper
        self.rows: dict[str, SettingRow] = {}
        self.shortcut_rows: dict[str, ShortcutRow] = {}
        self._all: list[OptionRow] = []
        self._headings: dict[SettingsPage, QLabel] = {}
        self._columns: dict[SettingsPage, QVBoxLayout] = {}
        self.search = search_line(self.tr("Search settings"), self, self._filter)
        self.pages = set_up(QListWidget(self), kind="pages", name=self.tr("Pages"))
        self.pages.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.pages.currentRowChanged.connect(self._on_page)
        self.pages.itemClicked.connect(self._on_page)  # the open page, too, to leave the search
        self.nothing = words("", self, kind="quiet")
        self.num_found = words("", self, kind="quiet")
        self.loading = QWidget(self)
        self.load_button = button(self.tr("Reload now"), "outlined", self.loading, self.load_requested)
        self.reset_all_button = button(self.tr("Reset all…"), "outlined", self, self._ask_reset)
        self.close_button = button(self.tr("Close"), "outlined", self, self.close)
        self._arrange()
        for setting in settings:
            self._add_setting(setting)
        self.show_loading_needed(False)
        self.show_page(SettingsPage.GENERAL)
        keeper.changed.connect(self._fit)
        self._fit()

    def show_values(self, values: Mapping[str, SettingValue]) -> None:
        for name, row in self.rows.items():
            row.show_value(values[name])

    def show_problem(self, name: str, sentence: str) -> None:
        self.rows[name].show_problem(sentence)

    def show_shortcuts(self, shortcuts: Sequence[Shortcut]) -> None:
        """Shows the keys of all actions, adding new ones."""
        for shortcut in shortcuts:
            if shortcut.name in self.shortcut_rows:
                self.shortcut_rows[shortcut.name].show_shortcut(shortcut)
            else:
                self._add_shortcut(shortcut)
        self._filter()

    def refuse_keys(self, name: str, keys: str, problem: KeyProblem) -> None:
        self.shortcut_rows[name].refuse(keys, problem)

    def show_loading_needed(self, needed: bool) -> None:
        """Says that a change needs the model to be loaded again."""
        self.loading.setVisible(needed)

    def add_link(self, row: LinkRow) -> None:
        self._add(row)
        self._filter()

    def show_page(self, group: SettingsPage) -> None:
        self.search.clear()
        self.pages.setCurrentRow(list(SettingsPage).index(group))
        self._filter()

    @property
    def state(self) -> DialogState:
        focused = next((name for name, row in self.rows.items() if row.control.hasFocus()), "")
        group = list(SettingsPage)[max(0, self.pages.currentRow())]
        return DialogState(self.pos(), group, self.search.text(), self.area.verticalScrollBar().value(), focused)

    def restore(self, state: DialogState) -> None:
        """Restores the state of an open dialog."""
        self.move(state.position)
        self.show_page(state.group)
        self.search.setText(state.search)
        if (inside := self.area.widget()) is not None:
            inside.adjustSize()  # else there is nothing to scroll over yet
        self.area.verticalScrollBar().setValue(state.scrolled_px)
        if state.setting:
            self.rows[state.setting].control.setFocus()

    def closeEvent(self, event: QCloseEvent) -> None:
        self.finish()
        super().closeEvent(event)

    def reject(self) -> None:
        self.finish()
        super().reject()

    def finish(self) -> None:
        """Takes over text typed a moment ago."""
        for row in self.rows.values():
            row.finish()

    # Arrangement

    def _arrange(self) -> None:
        inside = QWidget(self)
        parts: list[Part] = []
        for group in SettingsPage:
            title = translate("Settings", group.value)
            self.pages.addItem(title)
            self._headings[group] = set_up(QLabel(title, inside, indent=0), kind="group")
            self._columns[group] = in_column([], spacing=0)
            parts += (self._headings[group], self._columns[group])
        in_column([*parts, self.nothing, Stretch()], inside=inside, margins=(4, 0, 12, 8), spacing=0)
        self.area = ScrollArea("plain", self)
        self.area.setWidget(inside)
        later = words(self.tr("Some changes take effect when the model is reloaded."), self.loading, "quiet")
        in_row([Placed(later, 1), self.load_button], inside=self.loading)
        left = in_column([self.search, self.num_found, Placed(self.pages, 1)], spacing=8)
        sides = in_row([left, Placed(self.area, 1)], spacing=18)
        buttons: list[Part] = [self.reset_all_button, Stretch(), self.close_button]
        fill_dialog(self, [], buttons, spacing=12, below=[Placed(sides, 1), self.loading])

    def _add(self, row: OptionRow) -> None:
        self._all.append(row)
        self._columns[row.group].addWidget(row)

    def _add_setting(self, setting: Setting) -> None:
        row = SettingRow(self._keeper, setting)
        row.chosen.connect(partial(self.chosen.emit, setting.name))
        row.reset_requested.connect(partial(self.chosen.emit, setting.name, setting.default))
        self.rows[setting.name] = row
        self._add(row)

    def _add_shortcut(self, shortcut: Shortcut) -> None:
        row = ShortcutRow(self._keeper, shortcut)
        row.chosen.connect(partial(self.keys_chosen.emit, shortcut.name))
        row.swap_requested.connect(partial(self.swap_requested.emit, shortcut.name))
        row.reset_requested.connect(partial(self.keys_chosen.emit, shortcut.name, shortcut.usual_keys))
        self.shortcut_rows[shortcut.name] = row
        self._add(row)

    @Slot()
    def _fit(self) -> None:
        words_px = self.search.fontMetrics().horizontalAdvance(self.search.placeholderText()) + self._keeper.px(56)
        width = max(min(self._keeper.px(_PAGES_PX), _MOST_PAGES_PX), words_px, self.pages.sizeHintForColumn(0) + 4)
        self.search.setFixedWidth(width)
        self.pages.setFixedWidth(width)

    # Pages and search

    @Slot()
    def _filter(self) -> None:
        """Shows the rows that match the search, or else the chosen page."""
        typed = self.search.text().strip()
        page = list(SettingsPage)[max(0, self.pages.currentRow())]
        if typed:
            self.pages.clearSelection()
        else:
            self.pages.setCurrentRow(self.pages.currentRow())
        found = [row for row in self._all if (row.is_about(typed) if typed else row.group is page)]
        for row in self._all:
            row.setVisible(row in found)
        for group, heading in self._headings.items():
            heading.setVisible(any(row.group is group for row in found))
        self.nothing.setText(self.tr("No setting contains “{words}” in its name or description.").format(words=typed))
        self.nothing.setVisible(bool(typed) and not found)
        self.num_found.setText(self.tr("%n setting(s) found", "", len(found)))
        self.num_found.setVisible(bool(typed))

    @Slot()
    def _on_page(self) -> None:
        self.search.clear()
        self._filter()
        self.area.verticalScrollBar().setValue(0)

    # Everything at once

    @Slot()
    def _ask_reset(self) -> None:
        text = self.tr("Reset all settings and shortcuts to their defaults? Chats and models stay as they are.")
        ask(question_box(self, self.tr("Reset all settings"), text), self.tr("Reset all"), self.all_reset.emit)
