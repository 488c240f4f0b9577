"""The list of the library's models, and the current one next to it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import Qt, Signal, SignalInstance, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QSplitter, QWidget

from app.features.library.target_details import TargetDetailsView
from app.models.target_rows import target_rows
from app.text.translation import translate
from app.theme import ThemeKeeper
from app.widgets.flow import FlowLayout
from app.widgets.layouts import Placed, in_column, in_row
from app.widgets.parts import button, search_line, words
from app.widgets.popups import WindowMenu
from app.widgets.rows_view import RowsOrWords, RowsView
from app.widgets.target.target_picker import NO_MODELS, ONLY_STARTER
from engine import SamplingSettings, TargetOptions, TargetSettings
from engine.values.drafters import DrafterChoice
from engine.values.targets import LibraryTarget, MemoryEstimate

_LIST_PX = 300


class LibraryPage(QWidget):
    """The library: a list with a search field, and the details and options of the current model.
    Most of its signals carry the path of a model's file."""

    use_requested = Signal(str)  # load it; its reference
    load_again_requested = Signal(str)  # load it again, as it is in use; its reference
    options_changed = Signal(object, TargetOptions)  # these are its options from now on
    estimate_wanted = Signal(object, TargetSettings)  # show how much memory it takes with these settings
    folder_requested = Signal(object)  # open the folder of its file
    remove_requested = Signal(object)  # remove it from the library
    quantizations_requested = Signal(object)  # measure and compare its forms
    template_requested = Signal(object)  # show its chat template
    drafter_requested = Signal()  # show who drafts for the model in use
    add_files_requested = Signal()  # this and the next three: the buttons were pressed
    add_folder_requested = Signal()
    find_requested = Signal()
    servers_requested = Signal()

    def __init__(self, keeper: ThemeKeeper, sampling_for_all: SamplingSettings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._targets: tuple[LibraryTarget, ...] | None = None
        self._in_use = ""  # a reference
        self._differs = False
        self.search = search_line(self.tr("Search your models"), self, self._show_rows)
        self.view = RowsView(keeper, self.tr("Models"), uses_on_click=False, parent=self)
        self.view.pointed_at.connect(self._show_pointed_at)
        self.view.used.connect(lambda key: self.use_requested.emit(str(key)))
        self.view.delete_pressed.connect(self._on_remove)
        self.list = RowsOrWords(self.view, self)
        self.hint = words("", self, kind="quiet")
        add = self.tr("Adds model files, or a folder of them; nothing is copied. You can also drop them here.")
        self.add_button = button(self.tr("Add…"), "outlined", self, tip=add)
        menu = WindowMenu(self.add_button)
        menu.addAction(self.tr("Model files…")).triggered.connect(self.add_files_requested)
        menu.addAction(self.tr("A folder…")).triggered.connect(self.add_folder_requested)
        self.add_button.setMenu(menu)
        self.find_button = button(self.tr("Find models…"), "outlined", self, self.find_requested)
        elsewhere = self.tr("Models that run on another computer or in another program")
        self.servers_button = button(self.tr("Model servers…"), "outlined", self, self.servers_requested, tip=elsewhere)
        self.details = TargetDetailsView(sampling_for_all, self)
        self.details.use_button.clicked.connect(self._on_use)
        self.details.folder_button.clicked.connect(lambda: self._emit(self.folder_requested))
        self.details.remove_button.clicked.connect(self._on_remove)
        self.details.drafter_button.clicked.connect(self.drafter_requested)
        self.details.quantizations_button.clicked.connect(lambda: self._emit(self.quantizations_requested))
        self.details.template_button.clicked.connect(lambda: self._emit(self.template_requested))
        self.details.form.changed.connect(self._on_options)
        self.details.form.load_again_requested.connect(self._on_load_again)
        self._arrange()
        self.details.hide()

    @property
    def target(self) -> LibraryTarget | None:
        """The target that is shown."""
        return self.details.target if self.details.isVisibleTo(self) else None

    def set_targets(self, targets: tuple[LibraryTarget, ...]) -> None:
        self._targets = targets
        self._show_rows()
        is_starter_alone = bool(targets) and all(target.is_starter for target in targets)
        self.hint.setText(translate("TargetPicker", ONLY_STARTER) if is_starter_alone else "")
        self.hint.setVisible(is_starter_alone)
        self._show_pointed_at()

    def set_in_use(self, reference: str, differs: bool) -> None:
        """`differs`: it was loaded with other settings than it has now."""
        self._in_use, self._differs = reference, differs
        self._show_rows()
        self._show_pointed_at()

    def set_drafter(self, choice: DrafterChoice | None) -> None:
        """Sets who drafts for the model in use."""
        self.details.set_choice(choice)
        self._show_pointed_at()

    def set_for_all(self, sampling: SamplingSettings) -> None:
        """Sets the sampling of all chats."""
        self.details.form.sampling.set_for_all(sampling)
        self._ask_for_estimate()

    def show_estimate(self, path: Path, settings: TargetSettings, estimate: MemoryEstimate) -> None:
        """Shows the estimate, if its model is still shown. `settings` are the model's own."""
        if self.target is not None and self.target.path == path and self.details.form.options.settings == settings:
            self.details.form.show_estimate(estimate)

    def show_no_estimate(self, path: Path, sentence: str) -> None:
        """Shows why the memory could not be estimated."""
        if self.target is not None and self.target.path == path:
            self.details.form.show_no_estimate(sentence)

    def choose_template(self, path: Path, source: str | None) -> None:
        """Changes the chat template of a model; None: the usual one. Its other options stay as they are shown."""
        target = next((each for each in self._targets or () if each.path == path), None)
        if target is None:
            return
        is_shown = self.target is not None and self.target.path == path
        options = self.details.form.options if is_shown else target.options
        options = replace(options, chat_template=source)
        if is_shown:
            self.details.form.take_others(options)
        self.options_changed.emit(path, options)

    def point_at_in_use(self) -> None:
        if self._in_use:
            self.view.point_at(self._in_use)

    def point_at(self, reference: str) -> None:
        self.search.clear()
        self.view.point_at(reference)

    # Qt's own

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._ask_for_estimate()  # there may be more or less memory than before

    # Arrangement

    def _arrange(self) -> None:
        left = QWidget(self)
        buttons = FlowLayout([self.add_button, self.find_button, self.servers_button])
        in_column(
            [self.search, Placed(self.list, 1), self.hint, buttons], inside=left, margins=(0, 0, 10, 0), spacing=8
        )
        splitter = QSplitter(Qt.Orientation.Horizontal, self, handleWidth=1, childrenCollapsible=False)
        splitter.addWidget(left)
        splitter.addWidget(self.details)
        splitter.setStretchFactor(1, 1)
        splitter.setSizes([_LIST_PX, 2 * _LIST_PX])
        in_row([splitter], inside=self)

    # What happens

    @Slot()
    def _show_rows(self) -> None:
        if self._targets is None:
            self.list.show_words(self.tr("Looking through the library…"))
            return
        text = self.search.text().strip()
        self.list.show_rows(
            target_rows(self._targets, self._in_use, text),
            self.tr("No model matches “{words}”.").format(words=text) if text else translate("TargetPicker", NO_MODELS),
        )
        if self.view.current_key is None:
            self.view.point_at(self._in_use)
            self.view.point_at_first()

    @Slot()
    def _show_pointed_at(self) -> None:
        key = self.view.current_key
        target = next((target for target in self._targets or () if target.reference == key), None)
        self.details.setVisible(target is not None)
        if target is None:
            return
        is_another = self.details.target is None or self.details.target.path != target.path
        is_in_use = target.reference == self._in_use
        self.details.show_target(target, is_in_use)
        self.details.form.show_loaded(is_in_use, self._differs)
        if is_another:
            self._ask_for_estimate()

    def _ask_for_estimate(self) -> None:
        target = self.target
        if target is not None and not target.problem and self.isVisible():
            self.estimate_wanted.emit(target.path, self.details.form.options.settings)

    @Slot(TargetOptions)
    def _on_options(self, options: TargetOptions) -> None:
        target = self.details.target
        if target is not None:
            self.options_changed.emit(target.path, options)
            self._ask_for_estimate()

    def _emit(self, signal: SignalInstance) -> None:
        if self.target is not None:
            signal.emit(self.target.path)

    @Slot()
    def _on_use(self) -> None:
        self.details.form.flush()
        if self.target is not None:
            self.use_requested.emit(self.target.reference)

    @Slot()
    def _on_load_again(self) -> None:
        if self.target is not None:
            self.load_again_requested.emit(self.target.reference)

    @Slot()
    def _on_remove(self) -> None:
        if self.target is not None and not self.target.is_starter:
            self._emit(self.remove_requested)
