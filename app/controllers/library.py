"""Keeps what the window shows of the library of models, and decides what choosing one takes."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog, QWidget

from app.dialogs.library.library_dialog import LibraryDialog
from app.dialogs.library.questions import ask_load_anyway, ask_remove
from app.engine_bridge import EngineBridge
from app.main_window import MainWindow
from app.models.library_model import target_title
from app.widgets.target_bar import model_files
from engine import (
    STARTER,
    AddTargets,
    ChangeTargetOptions,
    EstimateMemory,
    ListTargets,
    LoadTarget,
    RemoveTarget,
    SamplingSettings,
    TargetOptions,
    TargetSettings,
)
from engine.messages.events import Event, Failed, MemoryEstimated, TargetDownloaded, TargetReady, TargetsListed
from engine.messages.targets import LibraryTarget, MemoryEstimate

_TOLD_HERE = ListTargets | AddTargets | RemoveTarget | ChangeTargetOptions


class LibraryController(QObject):
    """Connects the picker of the window and the window of the library with one engine.

    Signals:
        load_requested(str, bool): this target (the starter's name, or a path) is to be loaded; whether anyway, although
            it may not fit into memory.
        own_settings_changed(dict): what holds for single targets when they are loaded, by path; the starter's also by
            its name.
    """

    load_requested = Signal(str, bool)
    own_settings_changed = Signal(dict)

    def __init__(
        self, window: MainWindow, dialog: LibraryDialog, bridge: EngineBridge, settings_for_all: TargetSettings
    ) -> None:
        super().__init__(window)
        self._window = window
        self._bridge = bridge
        self._settings_for_all = settings_for_all
        self._targets: tuple[LibraryTarget, ...] | None = None
        self._options: dict[Path, TargetOptions] = {}  # what the user wants, also before the engine has kept it
        self._in_use: Path | None = None
        self._loaded_with: TargetSettings | None = None  # its own settings when it was loaded; None: not known yet
        self._chosen: EstimateMemory | None = None  # for a target that is to be loaded as soon as it is answered
        self._refused: EstimateMemory | None = None  # for a target that could not be loaded
        self._adding: frozenset[Path] | None = None  # what was there before models were added
        self.dialog = dialog
        self._connect()

    def set_for_all(self, settings: TargetSettings, sampling: SamplingSettings) -> None:
        """What holds from now on for targets that nothing is set for alone."""
        self._settings_for_all = settings
        self.dialog.library.set_for_all(sampling)

    @Slot()
    def start(self) -> None:
        """Has the library listed: at first, and whenever it is opened, for files may have come and gone."""
        self._bridge.post(ListTargets())

    def _connect(self) -> None:
        window, picker, page = self._window, self._window.target_bar.picker, self.dialog.library
        picker.chosen.connect(self.choose)
        picker.estimate_wanted.connect(self._estimate)
        picker.add_files_requested.connect(self._add_files)
        picker.add_folder_requested.connect(self._add_folder)
        picker.find_requested.connect(self.dialog.open_hub)
        picker.library_requested.connect(self._open)
        window.library_action.triggered.connect(self._open)
        window.models_action.triggered.connect(self.dialog.open_hub)
        window.target_bar.cancel_requested.connect(self._give_up)
        page.use_requested.connect(self.choose)
        page.load_again_requested.connect(self._load_again)
        page.options_changed.connect(self._change_options)
        page.estimate_wanted.connect(self._estimate_with)
        page.folder_requested.connect(self._open_folder)
        page.remove_requested.connect(self._ask_remove)
        page.add_files_requested.connect(self._add_files)
        page.add_folder_requested.connect(self._add_folder)
        self.dialog.dropped.connect(self._add)
        self.dialog.opened.connect(self.start)
        picker.opened.connect(self.start)
        self._bridge.happened.connect(self._on_event, Qt.ConnectionType.QueuedConnection)

    # What the user wants

    @Slot(object)
    def choose(self, path: Path) -> None:
        """Loads the model, after a question if it may not fit."""
        if path == self._in_use:
            self._window.target_bar.cancel_requested.emit()  # whatever is being loaded in its place
        else:
            self._load(path)

    @Slot()
    def _give_up(self) -> None:
        """Nothing is to be loaded any more, and nothing is to be asked about it."""
        self._chosen = self._refused = None

    @Slot(object)
    def _load_again(self, path: Path) -> None:
        self._load(path)

    @Slot()
    def _open(self) -> None:
        self.dialog.open_library()

    @Slot()
    def _add_files(self) -> None:
        paths, _ = QFileDialog.getOpenFileNames(self._front(), self.tr("Add model files"), "", model_files())
        self._add(tuple(Path(path) for path in paths))

    @Slot()
    def _add_folder(self) -> None:
        folder = QFileDialog.getExistingDirectory(self._front(), self.tr("Add a folder of models"))
        self._add((Path(folder),) if folder else ())

    @Slot(object)
    def _add(self, paths: tuple[Path, ...]) -> None:
        if paths:
            self._adding = frozenset(target.path for target in self._targets or ())
            self.dialog.show_words(self.tr("Looking at what is to be added…"))
            self._bridge.post(AddTargets(paths))

    @Slot(object, TargetOptions)
    def _change_options(self, path: Path, options: TargetOptions) -> None:
        self._options[path] = options
        self._bridge.post(ChangeTargetOptions(path, options))
        self._tell_settings()
        self._show_in_use()

    @Slot(object)
    def _estimate(self, path: Path) -> None:
        self._bridge.post(self._estimate_command(path))

    @Slot(object, TargetSettings)
    def _estimate_with(self, path: Path, settings: TargetSettings) -> None:
        self._bridge.post(EstimateMemory(path, settings.filled_up(self._settings_for_all)))

    @Slot(object)
    def _open_folder(self, path: Path) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(path.parent)))

    @Slot(object)
    def _ask_remove(self, path: Path) -> None:
        target = self._find(path)
        if target is not None:
            ask_remove(target, path == self._in_use, self.dialog, partial(self._remove, path))

    def _remove(self, path: Path, delete_file: bool) -> None:
        self._bridge.post(RemoveTarget(path, delete_file and path != self._in_use))

    def _load(self, path: Path) -> None:
        self._refused = None  # another one is wanted now
        self._chosen = self._estimate_command(path)
        self._bridge.post(self._chosen)

    # What the engine tells

    @Slot(object)
    def _on_event(self, event: Event) -> None:
        match event:
            case TargetsListed(targets, left_out):
                self._on_listed(targets, left_out)
            case MemoryEstimated(command, estimate):
                self._on_estimated(command, estimate)
            case TargetReady(target):
                self._refused = None
                self._in_use = Path(target.path)
                self._loaded_with = None if self._targets is None else self._own_settings(self._in_use)
                self._show_in_use()
                if self._targets is not None:
                    self._bridge.post(ListTargets())  # it was used just now
            case TargetDownloaded():
                self._adding = None  # what is new now was not added by hand
                self._bridge.post(ListTargets())
            case Failed(_, LoadTarget(target, _, False), False) if target != STARTER:
                self._refused = self._estimate_command(Path(target))  # was it for want of memory?
                self._bridge.post(self._refused)
            case Failed(_, EstimateMemory() as command) if command == self._chosen:
                self._begin_loading(command.path)  # which says what is wrong
            case Failed(sentence, EstimateMemory(path)):
                self.dialog.library.show_no_estimate(path, sentence)
            case Failed(sentence, command) if isinstance(command, _TOLD_HERE):
                self._on_failed(sentence)

    def _on_listed(self, targets: tuple[LibraryTarget, ...], left_out: tuple[str, ...]) -> None:
        is_first = self._targets is None
        self._targets = targets
        self._options = {target.path: target.options for target in targets}
        if is_first and self._in_use is not None:
            self._loaded_with = self._own_settings(self._in_use)
        self._window.target_bar.picker.set_targets(targets)
        self.dialog.library.set_targets(targets)
        self._tell_settings()
        self._show_in_use()
        if self._adding is not None:
            new = [target for target in targets if target.path not in self._adding]
            if new:
                self._adding = None
            if new or not left_out:  # else the command fails, and says why
                self._tell_added(new, left_out)

    def _tell_added(self, new: list[LibraryTarget], left_out: tuple[str, ...]) -> None:
        if new:
            self.dialog.library.point_at(new[0].path)
        if len(new) == 1:
            words = self.tr("{name} is in the library now.").format(name=target_title(new[0]))
        elif new:
            words = self.tr("%n models were added.", "", len(new))
        else:
            words = self.tr("Nothing new was found: all of it is in the library.")
        if left_out:
            if len(left_out) == 1:
                more = self.tr("One file was left out: {reason}")
            else:
                more = self.tr("%n files were left out: {reason}", "", len(left_out))
            words = f"{words} {more.format(reason=left_out[0])}"
        self.dialog.show_words(words)
        if self.dialog.isVisible():
            return
        if len(new) == 1 and not new[0].problem:
            self._window.toasts.show_info(words, self.tr("Use it now"), partial(self.choose, new[0].path))
        else:
            self._window.toasts.show_info(words)

    def _on_estimated(self, command: EstimateMemory, estimate: MemoryEstimate) -> None:
        self._window.target_bar.picker.show_estimate(command.path, estimate)
        if command == self._estimate_command(command.path):
            self.dialog.library.show_estimate(command.path, self._own_settings(command.path), estimate)
        is_chosen, is_refused = command == self._chosen, command == self._refused
        if is_chosen or is_refused:
            self._chosen = self._refused = None
        if (is_chosen or is_refused) and estimate.is_too_much:
            target = self._find(command.path)
            name = command.path.stem if target is None else target_title(target)
            begin = partial(self._begin_loading, command.path, True)
            ask_load_anyway(name, estimate, self._front(), begin)
        elif is_chosen:
            self._begin_loading(command.path)

    def _on_failed(self, sentence: str) -> None:
        self._adding = None
        self.dialog.show_words(sentence)
        if not self.dialog.isVisible():
            self._window.toasts.show_error(sentence)

    # Helpers

    def _begin_loading(self, path: Path, anyway: bool = False) -> None:
        self._chosen = None
        target = self._find(path)
        name = STARTER if target is not None and target.is_starter else str(path)
        self.load_requested.emit(name, anyway)

    def _estimate_command(self, path: Path) -> EstimateMemory:
        return EstimateMemory(path, self._own_settings(path).filled_up(self._settings_for_all))

    def _own_settings(self, path: Path) -> TargetSettings:
        return self._options.get(path, TargetOptions()).settings

    def _find(self, path: Path) -> LibraryTarget | None:
        return next((target for target in self._targets or () if target.path == path), None)

    def _tell_settings(self) -> None:
        settings = {str(path): options.settings for path, options in self._options.items()}
        for target in self._targets or ():
            if target.is_starter:
                settings[STARTER] = self._own_settings(target.path)
        self.own_settings_changed.emit(settings)

    def _show_in_use(self) -> None:
        path = self._in_use
        differs = path is not None and self._loaded_with not in (None, self._own_settings(path))
        self._window.target_bar.picker.set_in_use(path)
        self.dialog.library.set_in_use(path, differs)

    def _front(self) -> QWidget:
        """What questions are asked in front of."""
        return self.dialog if self.dialog.isVisible() else self._window
