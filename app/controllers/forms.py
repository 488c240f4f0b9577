"""Forms of a model's weights: measured, compared and kept, as far as the user wants it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import Signal, Slot

from app.controllers.controller import Controller
from app.dialogs.form_wording import FormRow, advice_words, done_share, form_rows, progress_words, used_words
from app.dialogs.forms_dialog import FormsDialog
from app.dialogs.library.library_page import LibraryPage
from app.dialogs.parts import show_in_front
from app.engine_bridge import EngineBridge, Posted
from app.main_window import MainWindow
from app.models.target_rows import target_title
from engine import ListForms, MakeForm, ResetStarter, TuneStarter, TuneTarget
from engine.messages.commands import TuningCommand
from engine.messages.events import (
    Event,
    Failed,
    FormMade,
    FormsListed,
    StarterTuned,
    TargetReady,
    TargetsListed,
    TargetTuned,
    TuneProgress,
)
from engine.messages.forms import FormOffer
from engine.messages.targets import LibraryTarget


@dataclass(frozen=True)
class _Work:
    """What is being measured or made."""

    request: Posted
    target: LibraryTarget  # as it was when this began
    forms: Sequence[str]  # that are measured

    def done_share(self, event: TuneProgress) -> float:
        """0 … 1"""
        is_making = isinstance(self.request.command, MakeForm)
        return event.progress if is_making else done_share(event, self.forms)


class FormsController(Controller):
    """Decides what the dialog of forms shows, and has forms measured and made, one after the other. No model but the
    starter is ever used in another form unless the user chooses it.

    Signals:
        use_requested(str): the model with this reference is to be used.
    """

    use_requested = Signal(str)

    def __init__(self, window: MainWindow, page: LibraryPage, bridge: EngineBridge) -> None:
        super().__init__(window, bridge)
        self._targets: tuple[LibraryTarget, ...] = ()
        self._in_use = ""  # a reference
        self._shown: LibraryTarget | None = None
        self._offers: tuple[FormOffer, ...] = ()
        self._work: _Work | None = None
        self.dialog = FormsDialog(window)
        self.dialog.measure_requested.connect(self._measure)
        self.dialog.keep_requested.connect(self._keep)
        self.dialog.use_requested.connect(self.use_requested)
        self.dialog.starter_tune_requested.connect(self._tune_starter)
        self.dialog.starter_reset_requested.connect(self._reset_starter)
        self.dialog.cancel_requested.connect(self._cancel)
        page.forms_requested.connect(self._open)
        window.signs.measuring_requested.connect(partial(show_in_front, self.dialog))

    # What the user wants

    @Slot(object)
    def _open(self, path: Path) -> None:
        """While something is being done, its model stays the one that is shown."""
        if self._work is None:
            self._shown = next((target for target in self._targets if target.path == path), None)
            self._offers = ()
            self._show(is_new=True)
            self.dialog.show_words(self.tr("Checking which quantizations can be made…"))
            self._list()
        show_in_front(self.dialog)

    @Slot(tuple, bool)
    def _measure(self, forms: tuple[str, ...], own_prompts: bool) -> None:
        if self._shown is not None:
            self._begin(TuneTarget(self._shown.path, forms, own_prompts=own_prompts), forms)

    @Slot(str)
    def _keep(self, form: str) -> None:
        if self._shown is not None:
            self._begin(MakeForm(self._shown.path, form))

    @Slot()
    def _tune_starter(self) -> None:
        self._begin(TuneStarter())

    @Slot()
    def _reset_starter(self) -> None:
        self._begin(ResetStarter())

    @Slot()
    def _cancel(self) -> None:
        if self._work is not None:
            self._work.request.stop()

    def _begin(self, command: TuningCommand, forms: Sequence[str] = ()) -> None:
        if self._work is not None or self._shown is None:
            return
        request = self._bridge.post(command)
        request.failed.connect(self._on_failed)
        self._work = _Work(request, self._shown, forms)
        words = self.tr("{model} is being measured")
        if isinstance(command, MakeForm | ResetStarter):
            words = self.tr("A quantization of {model} is being made")
        self._window.signs.measuring.tell(words.format(model=target_title(self._shown)))
        self.dialog.show_busy(True)
        self.dialog.show_words(self.tr("Starts as soon as no reply is being written."))

    def _list(self) -> None:
        if self._shown is not None:
            self._bridge.post(ListForms(self._shown.path)).failed.connect(self._on_list_failed)

    # What the engine says

    def _on_event(self, event: Event) -> None:
        match event:
            case TargetsListed(targets):
                self._on_listed(targets)
            case TargetReady(target):
                self._in_use = target.reference
            case FormsListed(command, offers) if self._shown is not None and command.path == self._shown.path:
                self._on_offers(offers)
            case TuneProgress() if self._work is not None:
                self.dialog.show_progress(self._work.done_share(event))
                self.dialog.show_words(progress_words(target_title(self._work.target), event))
            case TargetTuned(command, report) if (work := self._work_on(command)) is not None:
                self._end(self.tr("Measured. Nothing was changed or kept."))
                words = self.tr("{name} was measured. {advice}")
                self._tell(words.format(name=target_title(work.target), advice=advice_words(report)))
            case FormMade(command, path) if self._work_on(command) is not None:
                words = self.tr("{name} is now in the library.").format(name=path.stem)
                self._end(words)
                self._tell(words, path)
            case StarterTuned(form):
                work = self._work_on(TuneStarter()) or self._work_on(ResetStarter())
                if work is not None:
                    self._on_starter(work, form)

    def _on_listed(self, targets: tuple[LibraryTarget, ...]) -> None:
        self._targets = targets
        if self._shown is None:
            return
        shown = self._shown
        same = (each for each in targets if (each.is_starter if shown.is_starter else each.path == shown.path))
        self._shown = next(same, shown)  # one that was removed stays, until another one is looked at
        self._show()

    def _on_offers(self, offers: tuple[FormOffer, ...]) -> None:
        if not self._offers and self._work is None:  # else the words say what came of the last wish
            self.dialog.show_words("")
        self._offers = offers
        self._show()

    def _on_starter(self, work: _Work, form: str) -> None:
        """The user wanted it, so a starter that is in use is loaded anew."""
        stays = self.tr(
            "The starter model keeps its original quantization: no other with practically the same words is clearly "
            "faster here."
        )
        now = self.tr("The starter model uses {form} from now on.").format(form=form)
        came = self.tr("The starter model uses its original quantization from now on.")
        is_reset = isinstance(work.request.command, ResetStarter)
        words = now if form else came if is_reset else stays
        self._end(words)
        self._tell(words)
        is_another = self._shown is not None and self._shown.path != work.target.path
        if is_another and self._shown is not None and self._in_use == work.target.reference:
            self.use_requested.emit(self._shown.reference)

    @Slot(object)
    def _on_failed(self, failed: Failed) -> None:
        """Also if it was cancelled."""
        self._end(failed.sentence)
        if not self.dialog.isVisible() and not failed.is_stopped:
            self._window.toasts.show_error(failed.sentence)

    @Slot(object)
    def _on_list_failed(self, failed: Failed) -> None:
        if self._work is None and self._shown is not None and failed.command == ListForms(self._shown.path):
            self.dialog.show_words(failed.sentence)

    # What is shown

    def _work_on(self, command: TuningCommand) -> _Work | None:
        return self._work if self._work is not None and self._work.request.command == command else None

    def _end(self, words: str) -> None:
        """`words` say what came of it."""
        self._work = None
        self._window.signs.measuring.tell("")
        self.dialog.show_busy(False)
        self.dialog.show_words(words)
        self._list()  # there is another file now, or less room

    def _tell(self, words: str, made: Path | None = None) -> None:
        """While the dialog is closed; `made` is the file of a new form."""
        if self.dialog.isVisible():
            return
        if made is None:
            self._window.toasts.show_info(words)
        else:
            self._window.toasts.show_info(words, self.tr("Use it now"), partial(self.use_requested.emit, str(made)))

    def _show(self, is_new: bool = False) -> None:
        target = self._shown
        if target is None:
            return
        report = target.tuned
        own = "" if target.details is None or target.starter_form else target.details.quantization
        size = 0 if target.starter_form else target.size_bytes
        if report is not None:
            own, size = report.original.form, report.original.size_bytes
        figures = None if report is None else report.original
        starter = used_words(target.starter_form, own, report) if target.is_starter else ""
        self.dialog.show_model(target_title(target), starter, bool(target.starter_form))
        original = FormRow(own, size, figures, is_original=True, is_used=not target.starter_form)
        here = (each.path for each in self._targets)
        rows = form_rows(original, self._offers, report, here, target.starter_form)
        self.dialog.show_forms(rows, report, is_new)
