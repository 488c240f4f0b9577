"""The choice of the drafter, made in a dialog."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Slot

from app.controllers.controller import Controller
from app.dialogs.drafter_dialog import DrafterDialog
from app.dialogs.parts import show_in_front
from app.engine_bridge import EngineBridge, Request
from app.main_window import MainWindow
from app.settings.keeper import SettingsKeeper
from engine import AUTOMATIC, BUILT_IN, HUB_EXAMPLES, FetchDrafter, UseDrafter, drafter_source, hub_name
from engine.errors import DrafterUnusable
from engine.messages.events import DrafterFetched, DrafterFetching, Event, Failed, SpeculationChanged, TargetReady

_MB = 1_000_000


class DrafterController(Controller):
    """Has drafters downloaded and used, and shows the progress in the dialog. Nothing is downloaded unless the user
    asks."""

    def __init__(self, window: MainWindow, bridge: EngineBridge, data_dir: Path, keeper: SettingsKeeper) -> None:
        super().__init__(window, bridge)
        self._data_dir = data_dir
        self._keeper = keeper
        self._fetch: Request | None = None  # the download under way
        self._state = ""  # of the drafter in use, in a sentence
        self.dialog = DrafterDialog(BUILT_IN, HUB_EXAMPLES, window)
        self.dialog.chosen.connect(self._choose)
        self.dialog.cancel_requested.connect(self._cancel)
        window.drafter_action.triggered.connect(self._open)

    @property
    def choice(self) -> str:
        """The drafter in use."""
        return self._keeper.settings.drafter

    def start(self) -> None:
        """Has the engine use the stored choice; to be called before a target is loaded."""
        if self.choice != AUTOMATIC:
            self._post_choice()

    # What the user wants

    @Slot()
    def _open(self) -> None:
        if not self.dialog.isVisible() and self._fetch is None:
            self.dialog.show_choice(self.choice, self.choice != BUILT_IN and hub_name(self.choice) is None)
            self._show_state()
        show_in_front(self.dialog)

    @Slot(str)
    def _choose(self, choice: str) -> None:
        name = hub_name(choice)
        if name is not None:
            self._fetch = self._bridge.post(FetchDrafter(name))
            self._fetch.failed.connect(self._on_fetch_failed)
            self.dialog.show_downloading(True)
            self.dialog.show_words(self.tr("Asking the hub for {name}…").format(name=name))
            return
        try:
            drafter_source(choice, self._data_dir)
        except DrafterUnusable as error:
            self.dialog.show_words(str(error) if choice else self.tr("Choose a folder first."))
        else:
            self._use(choice)

    @Slot()
    def _cancel(self) -> None:
        if self._fetch is not None:
            self._fetch.stop()

    # What the engine says

    def _on_event(self, event: Event) -> None:
        match event:
            case DrafterFetching(name, _, num_bytes, total_bytes):
                self.dialog.show_progress(num_bytes / total_bytes if total_bytes else 1.0)
                words = self.tr("Downloading {name}: {done} of {total} MB.").format(
                    name=name, done=f"{num_bytes / _MB:,.1f}", total=f"{total_bytes / _MB:,.1f}"
                )
                self.dialog.show_words(words)
            case DrafterFetched(name):
                self._end_fetch()
                self._use(name)
                if not self.dialog.isVisible():
                    words = self.tr("{name} is downloaded and drafts from now on.")
                    self._window.toasts.show_info(words.format(name=name))
            case SpeculationChanged(_, sentence):
                self._set_state(sentence)
            case TargetReady(target):
                self._set_state(target.speculation)

    def _use(self, choice: str) -> None:
        self._keeper.note(drafter=choice)
        self._post_choice()
        self._set_state(self.tr("It is loaded as soon as the model is there and writes nothing."))

    def _post_choice(self) -> None:
        self._bridge.post(UseDrafter(self.choice)).failed.connect(self._on_use_failed)

    @Slot(object)
    def _on_fetch_failed(self, failed: Failed) -> None:
        self._end_fetch()
        self.dialog.show_words(failed.sentence)
        if not self.dialog.isVisible():
            self._window.toasts.show_error(failed.sentence)

    @Slot(object)
    def _on_use_failed(self, failed: Failed) -> None:
        self._window.toasts.show_error(failed.sentence)
        self._set_state(failed.sentence)

    def _end_fetch(self) -> None:
        self._fetch = None
        self.dialog.show_downloading(False)

    def _set_state(self, sentence: str) -> None:
        self._state = sentence
        if self._fetch is None:
            self._show_state()

    def _show_state(self) -> None:
        if self.choice == BUILT_IN:
            words = self.tr("In use: the built-in drafter.")
        else:
            words = self.tr("In use: {name}.").format(name=self.choice)
        self.dialog.show_words(f"{words} {self._state}".rstrip())
