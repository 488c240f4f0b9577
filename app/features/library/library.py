"""The library of models on this machine: listed, added, removed, and chosen to be used."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QFileDialog, QWidget

from app.engine_bridge import EngineBridge, Request
from app.features.controller import Controller, open_folder
from app.features.library.chat_template import ChatTemplateController
from app.features.library.hub import HubController
from app.features.library.library_dialog import LibraryDialog
from app.features.library.quantizations import QuantizationsController
from app.features.library.questions import ask_load_anyway, ask_remove
from app.features.library.target import TargetController
from app.main_window import MainWindow
from app.models.target_rows import target_title
from app.theme import ThemeKeeper
from app.widgets.target.target_bar import model_files
from engine import STARTER, SamplingSettings, TargetOptions, TargetSettings
from engine.values.drafters import DrafterChoice
from engine.values.events import DrafterChosen, EverythingForgotten, TargetReady, TargetsListed
from engine.values.remote import is_reference
from engine.values.requests import Failure
from engine.values.targets import Added, LibraryTarget, LoadOrder, MemoryEstimate

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
        self._engine = bridge.engine
        self._in_use = self._name_in_use = ""  # its reference and its name
        self._loaded_with: TargetOptions | None = (
            None  # what loading takes of its options, as it did; None: not known yet
        )
        self._chosen: Request[MemoryEstimate] | None = None  # for a target that is loaded when the answer comes
        self._refused: Request[MemoryEstimate] | None = None  # for a target that could not be loaded
        self._drafters: dict[str, DrafterChoice] = {}  # who drafts, by the target's name
        self.dialog = dialog
        picker, page = window.target_bar.picker, dialog.library
        picker.chosen.connect(self.choose)
        picker.estimate_wanted.connect(lambda reference: self._estimate(Path(reference)))
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
        bridge.listen(TargetsListed, self._on_listed)
        bridge.listen(TargetReady, self._on_ready)
        bridge.listen(DrafterChosen, self._on_drafter_chosen)
        bridge.listen(EverythingForgotten, self._on_forgotten)

    @Slot()
    def list_all(self) -> None:
        """Lists the models, also whenever the library is opened, as files may have come and gone."""
        self._failing(self._bridge.ask(self._engine.library.report))

    # What the user wants

    @Slot(str)
    def choose(self, reference: str) -> None:
        """Loads the model, after a question if it may not fit."""
        if reference == self._in_use:
            self._window.target_bar.cancel_requested.emit()  # of what is being loaded in its place
        else:
            self._load(reference)

    @Slot()
    def _give_up(self) -> None:
        """Ends all questions about a load that the user has cancelled."""
        for each in (self._chosen, self._refused):
            if each is not None:
                each.drop()
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
            self.dialog.show_words(self.tr("Looking through what you added…"))
            self._failing(self._bridge.ask(self._engine.library.add, paths)).answered.connect(self._on_added)

    @Slot(object, TargetOptions)
    def _change_options(self, path: Path, options: TargetOptions) -> None:
        targets = self._targets or ()
        self._targets = tuple(replace(each, options=options) if each.path == path else each for each in targets)
        self._target.library = self._targets
        self._failing(self._bridge.ask(self._engine.library.change_options, path, options))
        self._show_in_use()

    @Slot(object)
    @Slot(object, TargetSettings)
    def _estimate(self, path: Path, settings: TargetSettings | None = None) -> Request[MemoryEstimate]:
        """Estimates the memory, with these settings in place of the model's own if given."""
        request = self._begin_estimate(path, settings)
        request.failed.connect(partial(self._show_no_estimate, path))
        return request

    def _begin_estimate(self, path: Path, settings: TargetSettings | None = None) -> Request[MemoryEstimate]:
        """Estimates; the caller handles a failure."""
        wanted = (settings or self._own_settings(path)).filled_up(self._target.settings)
        request = self._bridge.ask(self._engine.library.estimate, path, wanted)
        request.answered.connect(partial(self._show_estimate, path, wanted))
        return request

    @Slot(object)
    def _ask_remove(self, path: Path) -> None:
        target = self._find(path)
        if target is not None:
            ask_remove(target, target.reference == self._in_use, self.dialog, partial(self._remove, path))

    def _remove(self, path: Path, delete_file: bool) -> None:
        deletes = delete_file and str(path) != self._in_use
        self._failing(self._bridge.ask(self._engine.library.remove, path, deletes))

    @Slot(str)
    def _load(self, reference: str) -> None:
        """Loads a model; one on a server needs no memory here."""
        self._give_up()  # another target is wanted now
        if is_reference(reference):
            self._target.choose(reference)
            return
        path = Path(reference)
        self._chosen = self._begin_estimate(path)
        self._chosen.answered.connect(partial(self._load_if_it_fits, path))
        self._chosen.failed.connect(lambda _failure: self._begin_loading(path))  # whose failure says what is wrong

    def _failing(self, request: Request[Any]) -> Request[Any]:
        """Shows the failure of the request, and returns it."""
        request.failed.connect(self._on_failed)
        return request

    @Slot(object)
    def _on_refused(self, order: LoadOrder) -> None:
        """Finds out whether a target was refused for lack of memory."""
        if not order.anyway and order.target != STARTER and not is_reference(order.target):
            path = Path(order.target)
            self._refused = self._estimate(path)
            self._refused.answered.connect(partial(self._ask_if_too_large, path))

    # What the engine says

    def _on_ready(self, event: TargetReady) -> None:
        if self._refused is not None:
            self._refused.drop()
            self._refused = None
        self._in_use, self._name_in_use = event.target.reference, event.target.name
        self._loaded_with = None if self._targets is None else self._settings_in_use()
        self._show_in_use()
        if self._targets is not None:
            self.list_all()  # the last used one is first
        self._show_drafter()

    def _on_drafter_chosen(self, event: DrafterChosen) -> None:
        self._drafters[event.target_name] = event.choice
        self._show_drafter()

    def _on_forgotten(self, _event: EverythingForgotten) -> None:
        self.list_all()  # system prompts of models are forgotten, too

    def kept(self) -> TargetOptions | None:
        return self._loaded_with

    def resume(self, kept: TargetOptions | None) -> None:
        self._loaded_with = kept
        self._show_in_use()

    def _on_listed(self, event: TargetsListed) -> None:
        is_first, targets = self._targets is None, event.targets
        self._targets = self._target.library = targets
        if is_first and self._in_use:
            self._loaded_with = self._settings_in_use()
        self._window.target_bar.picker.set_targets(targets)
        self.dialog.library.set_targets(targets)
        self._show_in_use()

    @Slot(object)
    def _on_added(self, added: Added) -> None:
        new, left_out = added.targets, added.left_out
        if new:
            self.dialog.library.point_at(new[0].reference)
        if len(new) == 1 and new[0].head is not None:
            words = new[0].problem
        elif len(new) == 1:
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

    def _show_estimate(self, path: Path, settings: TargetSettings, estimate: MemoryEstimate) -> None:
        self._window.target_bar.picker.show_estimate(str(path), estimate)
        own = self._own_settings(path)
        if settings == own.filled_up(self._target.settings):
            self.dialog.library.show_estimate(path, own, estimate)

    def _show_no_estimate(self, path: Path, failure: Failure) -> None:
        self.dialog.library.show_no_estimate(path, failure.sentence)

    def _load_if_it_fits(self, path: Path, estimate: MemoryEstimate) -> None:
        self._chosen = None
        if estimate.is_too_much:
            self._ask_if_too_large(path, estimate)
        else:
            self._begin_loading(path)

    def _ask_if_too_large(self, path: Path, estimate: MemoryEstimate) -> None:
        self._refused = None
        if estimate.is_too_much:
            target = self._find(path)
            name = path.stem if target is None else target_title(target)
            ask_load_anyway(name, estimate, self._front(), partial(self._begin_loading, path, anyway=True))

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self.dialog.show_words(failure.sentence)
        if not self.dialog.isVisible():
            self._window.toasts.show_error(failure.sentence)

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

    def _settings_in_use(self) -> TargetOptions:
        """What loading takes of the options of the model in use, as they are now; a model on a server has none."""
        target = self._find(Path(self._in_use))
        options = target.options if target else TargetOptions()
        return TargetOptions(options.settings, chat_template=options.chat_template)

    def _show_in_use(self) -> None:
        differs = self._in_use != "" and self._loaded_with not in (None, self._settings_in_use())
        self._window.target_bar.picker.set_in_use(self._in_use)
        self.dialog.library.set_in_use(self._in_use, differs)

    def _show_drafter(self) -> None:
        self.dialog.library.set_drafter(self._drafters.get(self._name_in_use))

    def _front(self) -> QWidget:
        """The window that asks questions."""
        return self.dialog if self.dialog.isVisible() else self._window


def connect_library(
    window: MainWindow,
    theme: ThemeKeeper,
    bridge: EngineBridge,
    target: TargetController,
    folder: Path,
    sampling_for_all: SamplingSettings,
) -> LibraryController:
    """Builds the library with the hub page and the quantizations of its models. `folder` holds all files of the
    program. The window owns what is made here."""
    endpoint = os.environ.get("HF_ENDPOINT") or _HUB
    dialog = LibraryDialog(theme, sampling_for_all, urlsplit(endpoint).netloc or endpoint, window)
    library = LibraryController(window, dialog, bridge, target)
    HubController(window, dialog, bridge, folder).use_requested.connect(library.choose)
    ChatTemplateController(window, dialog.library, bridge)
    QuantizationsController(window, dialog.library, bridge).use_requested.connect(library.choose)
    return library
