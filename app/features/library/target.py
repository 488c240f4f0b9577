"""The model that answers: loaded at the start, and when the user chooses another one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QFileDialog

from app.engine_bridge import EngineBridge, Request
from app.features.controller import Controller
from app.main_window import MainWindow
from app.settings.keeper import SettingsKeeper
from app.text.places import host_words, name_in
from app.widgets.target.target_bar import model_files
from engine import STARTER, TargetSettings
from engine.values.errors import TargetMissing, TargetSuspect
from engine.values.events import TargetInfo, TargetLoading, TargetReady, TargetRefused
from engine.values.order import TargetChoice
from engine.values.places import expanded
from engine.values.remote import RemoteServer, is_reference, split_reference
from engine.values.requests import Failure
from engine.values.targets import LibraryTarget, LoadOrder

_MISSING, _SUSPECT, _SILENT = "missing-model", "suspect-model", "silent-server"  # subjects of notices


@dataclass
class _Loading:
    order: LoadOrder
    request: Request[TargetInfo]
    is_chosen: bool  # by the user, in the window


class TargetController(Controller):
    """Has targets loaded, one at a time, and shows in the window which one is in use: the starter, if the first one
    cannot be loaded. One whose file is gone can be shown where it is; one whose server does not answer at the start is
    asked for again when the user wants it.

    A target is known by its reference: what `LoadOrder` takes, a path or that of a model on a server.
    """

    loading_begun = Signal(TargetSettings)  # a target is being loaded, with these settings for all targets
    refused = Signal(object)  # (LoadOrder) a target could not be loaded
    servers_known = Signal()  # which servers there are, or that this cannot be known

    def __init__(self, window: MainWindow, bridge: EngineBridge, keeper: SettingsKeeper) -> None:
        super().__init__(window, bridge)
        self._keeper = keeper
        bridge.listen(TargetLoading, self._on_loading)
        bridge.listen(TargetReady, self._on_ready)
        self.library: tuple[LibraryTarget, ...] = ()  # whose own settings count from their next loading on
        self.servers: tuple[RemoteServer, ...] | None = None  # with models to use in place of those; None: not listed
        self.in_use: TargetInfo | None = None
        self._is_starter = False  # the one in use
        self._loading: _Loading | None = None
        self._missing: LoadOrder | None = None  # what the notice is about
        self._located = ""  # the file that the user showed in its place
        window.starter_action.triggered.connect(partial(self.choose, STARTER, False))
        window.target_bar.target_chosen.connect(self.choose)
        window.target_bar.cancel_requested.connect(self._cancel)
        window.prompt_box.set_ready(False)
        window.prompt_box.thinking_switched.connect(self._on_thinking_switched)

    @property
    def settings(self) -> TargetSettings:
        """The settings of all targets, from the next load on."""
        return self._keeper.settings.target_settings()

    @property
    def choices(self) -> tuple[tuple[TargetChoice, str], ...]:
        """All targets with their references, the library's first."""
        here = ((TargetChoice(each.name, each.identity), each.reference) for each in self.library)
        models = (model for server in self.servers or () for model in server.models)
        return (*here, *((TargetChoice(each.name, each.identity), each.reference) for each in models))

    def use_servers(self, servers: tuple[RemoteServer, ...]) -> None:
        self.servers = servers
        self.servers_known.emit()

    def load(
        self, target: str, anyway: bool = False, is_chosen: bool = False, identity: str = "", by_itself: bool = False
    ) -> None:
        """`identity` is the target's at the time of the user's choice, see `LoadOrder`; the library may know better.
        `by_itself`: loaded at the start, unless the program did not survive it."""
        self._cancel()
        named = (each for each in self.library if target == each.reference or (target == STARTER and each.is_starter))
        listed = next(named, None)
        own = listed.options.settings if listed else TargetSettings()
        identity = listed.identity if listed else identity
        order = LoadOrder(target, own, anyway, self.settings, identity, by_itself)
        self._loading = _Loading(order, self._bridge.ask(self._bridge.engine.target.load, order), is_chosen)
        self._loading.request.failed.connect(partial(self._on_failed, order))
        self.loading_begun.emit(self.settings)
        if self._window.is_busy:
            self._window.target_bar.show_waiting(name_in(target))
        else:
            self._show_progress(name_in(target), 0.0)
        self._window.prompt_box.set_ready(True)  # a prompt sent now waits in its chat for the new target

    @Slot(str)
    def choose(self, target: str, anyway: bool = False) -> None:
        """Loads the user's choice, also at the next start."""
        self.load(target, anyway, is_chosen=True)

    @Slot(bool)
    def _on_thinking_switched(self, thinks: bool) -> None:
        """Changes the model in use, from its next reply on."""
        if self.in_use is not None:
            self._keeper.note(thinking=self._keeper.settings.thinking | {self.in_use.identity: thinks})

    @Slot()
    def load_again(self) -> None:
        """Loads the target in use, or the one being loaded, with the present settings."""
        if self._loading is not None:
            order = self._loading.order
            self.load(order.target, is_chosen=self._loading.is_chosen, identity=order.identity)
        elif self.in_use is not None:  # of the starter there may be another form by now, elsewhere
            target = STARTER if self._is_starter else self.in_use.reference
            self.load(target, identity=self.in_use.identity)

    @Slot()
    def _cancel(self) -> None:
        if self._loading is None:
            return
        self._loading.request.stop()
        if self._window.is_busy and self.in_use is not None:  # the request waits, and ends only after the reply
            self._loading = None
            self._window.target_bar.set_target(self.in_use)
            self._window.prompt_box.set_ready(True)

    # What the engine says

    def _on_loading(self, event: TargetLoading) -> None:
        self._show_progress(event.name, event.progress)

    def _show_progress(self, name: str, progress: float) -> None:
        """Shows the progress; a server is only asked, as nothing is loaded."""
        wanted = "" if self._loading is None else self._loading.order.target
        if is_reference(wanted):
            self._window.target_bar.show_asking(name, host_words(split_reference(wanted)[0]))
        else:
            self._window.target_bar.show_loading(name, progress)

    def _on_ready(self, event: TargetReady) -> None:
        target, order = event.target, event.order
        self.in_use, self._is_starter = target, order.target == STARTER
        if self._loading is not None and self._loading.order is not order:
            return  # another one was chosen meanwhile, and is being loaded
        window = self._window
        stored = self._keeper.settings.target
        if self._loading is not None and self._loading.is_chosen:
            stored = STARTER if order.target == STARTER else target.reference
            window.toasts.clear_errors()
            self._end_missing(target)
            window.notices.dismiss(_SUSPECT)
            window.notices.dismiss(_SILENT)
        if stored in (STARTER, target.reference):
            self._keeper.note(target=stored, target_identity="" if stored == STARTER else target.identity)
        self._loading = None
        window.target_bar.set_target(target)
        window.prompt_box.set_target_name(target.name, target.completes)
        window.transcript.welcome.show_place("" if target.server is None else host_words(target.server.address))
        window.prompt_box.set_ready(True)
        window.prompt_box.show_thinking(
            None if target.thinks is None else self._keeper.settings.thinking.get(target.identity, target.thinks)
        )
        if target.notice:
            window.toasts.show_info(target.notice)

    def _on_failed(self, order: LoadOrder, failure: Failure) -> None:
        if self._loading is None or self._loading.order is not order:
            return  # another one was chosen meanwhile
        is_stopped, is_suspect = failure.is_stopped, issubclass(failure.error, TargetSuspect)
        self._loading = None
        window = self._window
        window.target_bar.set_target(self.in_use)
        if is_stopped:
            window.toasts.show_info(failure.sentence)
        elif issubclass(failure.error, TargetMissing) and order.target != STARTER:
            self._show_missing(order)
        elif is_suspect:
            self._show_suspect(order)
        elif order.by_itself and is_reference(order.target):
            self._show_silent(order, failure.sentence)
        else:
            window.toasts.show_error(failure.sentence)
        if self.in_use is not None:
            window.prompt_box.set_ready(True)
        else:
            window.prompt_box.set_ready(False, failure.sentence)
            if order.target != STARTER and not is_stopped:
                self.load(STARTER, by_itself=True)
        if not (is_stopped or is_suspect):
            self.refused.emit(order)

    # In another window

    def kept(self) -> tuple[str, ...]:
        """The notices that are shown."""
        return tuple(each for each in (_MISSING, _SUSPECT, _SILENT) if each in self._window.notices.shown)

    def resume(self, kept: tuple[str, ...]) -> None:
        failed = next((each for each in self._bridge.facts if isinstance(each, TargetRefused)), None)
        if failed is None:
            return
        if self.in_use is None:
            self._window.prompt_box.set_ready(False, failed.sentence)
        if _MISSING in kept:
            self._show_missing(failed.order)
        if _SUSPECT in kept:
            self._show_suspect(failed.order)
        if _SILENT in kept:
            self._show_silent(failed.order, failed.sentence)

    # A model that the program did not survive

    def _show_suspect(self, order: LoadOrder) -> None:
        words = self.tr(
            "Slipstream ended unexpectedly while {model} was loading or writing its first reply, so it was not "
            "opened this time. {answers}"
        ).format(model=name_in(order.target), answers=self._who_answers())
        open_again = partial(self.choose, order.target, order.anyway)
        self._window.notices.show_notice(_SUSPECT, words, ((self.tr("Open it again"), open_again),))

    # A model whose file is gone

    def _show_missing(self, order: LoadOrder) -> None:
        self._missing, self._located = order, ""
        path = Path(order.target)
        words = self.tr("The file of {model} is no longer in {folder}. {answers} If you moved it, show where it is.")
        if not path.is_absolute():  # a name, given on the order line
            words = self.tr("The library has no model {model}. {answers} If you have its file, show where it is.")
        words = words.format(model=path.stem, folder=path.parent, answers=self._who_answers())
        self._window.notices.show_notice(_MISSING, words, ((self.tr("Locate…"), self._locate),))

    def _who_answers(self) -> str:
        if self.in_use is None:
            return self.tr("The starter model answers instead.")
        return self.tr("{model} keeps answering.").format(model=self.in_use.name)

    # A server that does not answer at the start

    def _show_silent(self, order: LoadOrder, sentence: str) -> None:
        words = self.tr("{model} cannot be used now. {reason} {answers}").format(
            model=name_in(order.target), reason=sentence, answers=self._who_answers()
        )
        again = self.tr("Try again"), partial(self.choose, order.target)
        servers = self.tr("Model servers…"), self._window.servers_action.trigger
        self._window.notices.show_notice(_SILENT, words, (again, servers))

    @Slot()
    def _locate(self) -> None:
        """Asks for the file. The library keeps the model's settings if it is the same model, and adds it otherwise."""
        if self._missing is None:
            return
        gone = Path(self._missing.target)
        title = self.tr("Where is {model}?").format(model=gone.stem)
        folder = gone.parent if gone.is_absolute() and gone.parent.is_dir() else expanded("~")
        path, _ = QFileDialog.getOpenFileName(self._window, title, str(folder), model_files())
        if path:
            self._located = path
            self.choose(path)

    def _end_missing(self, target: TargetInfo) -> None:
        """Ends the notice: the user has chosen a model that is there."""
        missing, self._missing = self._missing, None
        self._window.notices.dismiss(_MISSING)
        is_located = missing is not None and self._located != "" and Path(self._located) == Path(target.path)
        if is_located and missing is not None and missing.identity not in ("", target.identity):
            words = self.tr("{model} is a different model from {missing}; it was added to the library.")
            words = words.format(model=target.name, missing=Path(missing.target).stem)
            self._window.toasts.show_info(words)
