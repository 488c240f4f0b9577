"""The library of models on this machine: listed, added, removed, and chosen to be used."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QFileDialog, QWidget

from app.controllers.controller import Controller, open_folder
from app.controllers.forms import FormsController
from app.controllers.hub import HubController
from app.controllers.target import TargetController
from app.dialogs.library.library_dialog import LibraryDialog
from app.dialogs.library.questions import ask_load_anyway, ask_remove
from app.engine_bridge import EngineBridge
from app.main_window import MainWindow
from app.models.target_rows import target_title
from app.theme import ThemeKeeper
from app.widgets.target_bar import model_files
from engine import (
    STARTER,
    AddTargets,
    ChangeTargetOptions,
    Command,
    EstimateMemory,
    ListTargets,
    LoadTarget,
    RemoveTarget,
    SamplingSettings,
    TargetOptions,
    TargetSettings,
)
from engine.messages.drafters import DrafterChoice
from engine.messages.events import (
    DrafterChosen,
    Event,
    EverythingForgotten,
    Failed,
    MemoryEstimated,
    TargetDownloaded,
    TargetReady,
    TargetsListed,
)
from engine.messages.remote import is_reference
from engine.messages.targets import LibraryTarget, MemoryEstimate

_HUB = "https://huggingface.co"


class LibraryController(Controller):
    """Decides what the picker and the dialog of the library show. Estimates the memory of a model before `target` loads
    it, and asks the user if it may not fit."""

    def __init__(
        self, window: MainWindow, dialog: LibraryDialog, bridge: EngineBridge, target: TargetController
    ) -> None:
        super().__init__(window, bridge)
        self._target = target
        self._targets: tuple[LibraryTarget, ...] | None = None  # with options that the engine may not have stored yet
        self._in_use = ""  # a reference
        self._loaded_with: TargetSettings | None = None  # its own settings when it was loaded; None: not known yet
        self._chosen: EstimateMemory | None = None  # for a target that is loaded as soon as the answer comes
        self._refused: EstimateMemory | None = None  # for a target that could not be loaded
        self._adding: frozenset[Path] | None = None  # the library before models were added
        self._drafters: dict[str, DrafterChoice] = {}  # who drafts, by the target's name
        self.dialog = dialog
        picker, page = window.target_bar.picker, dialog.library
        picker.chosen.connect(self.choose)
        picker.estimate_wanted.connect(self._estimate_by_reference)
        picker.add_files_requested.connect(self._add_files)
        picker.add_folder_requested.connect(self._add_folder)
        picker.find_requested.connect(dialog.open_hub)
        picker.library_requested.connect(dialog.open_library)
        picker.opened.connect(self.list_all)
        window.library_action.triggered.connect(dialog.open_library)
        window.models_action.triggered.connect(dialog.open_hub)
        window.transcript.welcome.starter_requested.connect(dialog.close)
        window.target_bar.cancel_requested.connect(self._give_up)
        page.use_requested.connect(self.choose)
        page.load_again_requested.connect(self._load)
        page.options_changed.connect(self._change_options)
        page.estimate_wanted.connect(self._estimate)
        page.folder_requested.connect(lambda path: open_folder(path.parent))
        page.remove_requested.connect(self._ask_remove)
        page.drafter_requested.connect(window.drafter_action.trigger)
        page.servers_requested.connect(window.servers_action.trigger)
        page.add_files_requested.connect(self._add_files)
        page.add_folder_requested.connect(self._add_folder)
        dialog.dropped.connect(self._add)
        dialog.opened.connect(self.list_all)
        target.refused.connect(self._on_refused)

    @Slot()
    def list_all(self) -> None:
        """Also whenever the library is opened, as files may have come and gone."""
        self._post(ListTargets())

    # What the user wants

    @Slot(str)
    def choose(self, reference: str) -> None:
        """Has the model loaded, after a question if it may not fit."""
        if reference == self._in_use:
            self._window.target_bar.cancel_requested.emit()  # of what is being loaded in its place
        else:
            self._load(reference)

    @Slot()
    def _give_up(self) -> None:
        """The user has cancelled the loading: no more questions about it."""
        self._chosen = self._refused = None

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
            self.dialog.show_words(self.tr("Looking through what you added…"))
            self._post(AddTargets(paths))

    @Slot(object, TargetOptions)
    def _change_options(self, path: Path, options: TargetOptions) -> None:
        targets = self._targets or ()
        self._targets = tuple(replace(each, options=options) if each.path == path else each for each in targets)
        self._target.library = self._targets
        self._post(ChangeTargetOptions(path, options))
        self._show_in_use()

    @Slot(object)
    @Slot(object, TargetSettings)
    def _estimate(self, path: Path, settings: TargetSettings | None = None) -> EstimateMemory:
        """With other settings than its own, if there are any."""
        command = EstimateMemory(path, (settings or self._own_settings(path)).filled_up(self._target.settings))
        self._bridge.post(command).failed.connect(self._on_estimate_failed)
        return command

    @Slot(str)
    def _estimate_by_reference(self, reference: str) -> None:
        self._estimate(Path(reference))

    @Slot(object)
    def _ask_remove(self, path: Path) -> None:
        target = self._find(path)
        if target is not None:
            ask_remove(target, target.reference == self._in_use, self.dialog, partial(self._remove, path))

    def _remove(self, path: Path, delete_file: bool) -> None:
        self._post(RemoveTarget(path, delete_file and str(path) != self._in_use))

    @Slot(str)
    def _load(self, reference: str) -> None:
        """A model on a server takes no memory here."""
        self._chosen = self._refused = None  # another target is wanted now
        if is_reference(reference):
            self._target.choose(reference)
        else:
            self._chosen = self._estimate(Path(reference))

    def _post(self, command: Command) -> None:
        self._bridge.post(command).failed.connect(self._on_failed)

    @Slot(object)
    def _on_refused(self, command: LoadTarget) -> None:
        """A target could not be loaded: was there too little memory?"""
        if not command.anyway and command.target != STARTER and not is_reference(command.target):
            self._refused = self._estimate(Path(command.target))

    # What the engine says

    def _on_event(self, event: Event) -> None:
        match event:
            case TargetsListed(targets, left_out):
                self._on_listed(targets, left_out)
            case MemoryEstimated(command, estimate):
                self._on_estimated(command, estimate)
            case TargetReady(target):
                self._refused = None
                self._in_use = target.reference
                self._loaded_with = None if self._targets is None else self._settings_in_use()
                self._show_in_use()
                if self._targets is not None:
                    self.list_all()  # the last used one is first
                self._show_drafter()
            case DrafterChosen(name, choice):
                self._drafters[name] = choice
                self._show_drafter()
            case EverythingForgotten():
                self.list_all()  # system prompts of models are forgotten, too
            case TargetDownloaded():
                self._adding = None  # what is new now was not added by hand
                self.list_all()

    def kept(self) -> TargetSettings | None:
        return self._loaded_with

    def resume(self, kept: TargetSettings | None) -> None:
        self._loaded_with = kept
        self._show_in_use()

    def _on_listed(self, targets: tuple[LibraryTarget, ...], left_out: tuple[str, ...]) -> None:
        is_first = self._targets is None
        self._targets = self._target.library = targets
        if is_first and self._in_use:
            self._loaded_with = self._settings_in_use()
        self._window.target_bar.picker.set_targets(targets)
        self.dialog.library.set_targets(targets)
        self._show_in_use()
        if self._adding is not None:
            new = [target for target in targets if target.path not in self._adding]
            if new:
                self._adding = None
            if new or not left_out:  # else the command fails and gives the reason
                self._show_added(new, left_out)

    def _show_added(self, new: list[LibraryTarget], left_out: tuple[str, ...]) -> None:
        if new:
            self.dialog.library.point_at(new[0].reference)
        if len(new) == 1:
            words = self.tr("{name} is now in the library.").format(name=target_title(new[0]))
        elif new:
            words = self.tr("%n models were added.", "", len(new))
        else:
            words = self.tr("Nothing new was found: everything is in the library already.")
        if left_out:
            more = self.tr("(One file was|%n files were) skipped: {reason}", "", len(left_out))
            words = f"{words} {more.format(reason=left_out[0])}"
        self.dialog.show_words(words)
        if self.dialog.isVisible():
            return
        if len(new) == 1 and not new[0].problem:
            self._window.toasts.show_info(words, self.tr("Use it now"), partial(self.choose, new[0].reference))
        else:
            self._window.toasts.show_info(words)

    def _on_estimated(self, command: EstimateMemory, estimate: MemoryEstimate) -> None:
        self._window.target_bar.picker.show_estimate(str(command.path), estimate)
        own = self._own_settings(command.path)
        if command.settings == own.filled_up(self._target.settings):
            self.dialog.library.show_estimate(command.path, own, estimate)
        is_chosen, is_refused = command == self._chosen, command == self._refused
        if is_chosen or is_refused:
            self._chosen = self._refused = None
        if (is_chosen or is_refused) and estimate.is_too_much:
            target = self._find(command.path)
            name = command.path.stem if target is None else target_title(target)
            ask_load_anyway(name, estimate, self._front(), partial(self._begin_loading, command.path, anyway=True))
        elif is_chosen:
            self._begin_loading(command.path)

    @Slot(object)
    def _on_estimate_failed(self, failed: Failed) -> None:
        assert isinstance(failed.command, EstimateMemory)
        if failed.command == self._chosen:
            self._begin_loading(failed.command.path)  # whose failure says what is wrong
        else:
            self.dialog.library.show_no_estimate(failed.command.path, failed.sentence)

    @Slot(object)
    def _on_failed(self, failed: Failed) -> None:
        self._adding = None
        self.dialog.show_words(failed.sentence)
        if not self.dialog.isVisible():
            self._window.toasts.show_error(failed.sentence)

    # Helpers

    def _begin_loading(self, path: Path, anyway: bool = False) -> None:
        self._chosen = None
        target = self._find(path)
        name = STARTER if target is not None and target.is_starter else str(path)
        self._target.choose(name, anyway)

    def _own_settings(self, path: Path) -> TargetSettings:
        target = self._find(path)
        return target.options.settings if target else TargetSettings()

    def _find(self, path: Path) -> LibraryTarget | None:
        return next((target for target in self._targets or () if target.path == path), None)

    def _settings_in_use(self) -> TargetSettings:
        """Its own, as they are now; of a model on a server there are none."""
        return self._own_settings(Path(self._in_use))

    def _show_in_use(self) -> None:
        differs = self._in_use != "" and self._loaded_with not in (None, self._settings_in_use())
        self._window.target_bar.picker.set_in_use(self._in_use)
        self.dialog.library.set_in_use(self._in_use, differs)

    def _show_drafter(self) -> None:
        in_use = self._target.in_use
        self.dialog.library.set_drafter(None if in_use is None else self._drafters.get(in_use.name))

    def _front(self) -> QWidget:
        """Where questions are asked."""
        return self.dialog if self.dialog.isVisible() else self._window


def connect_library(
    window: MainWindow,
    theme: ThemeKeeper,
    bridge: EngineBridge,
    target: TargetController,
    folder: Path,
    sampling_for_all: SamplingSettings,
) -> LibraryController:
    """The library with the page of the hub, and forms of its models. `folder` holds all files of the program. The
    window owns what is made here."""
    endpoint = os.environ.get("HF_ENDPOINT") or _HUB
    dialog = LibraryDialog(theme, sampling_for_all, urlsplit(endpoint).netloc or endpoint, window)
    library = LibraryController(window, dialog, bridge, target)
    HubController(window, dialog, bridge, folder).use_requested.connect(library.choose)
    FormsController(window, dialog.library, bridge).use_requested.connect(library.choose)
    return library
