"""Quantizations of a model's weights: measured, compared and kept, as far as the user wants it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import Signal, Slot

from app.engine_bridge import EngineBridge, Request
from app.features.controller import Controller
from app.features.library.library_page import LibraryPage
from app.features.library.quantization_wording import (
    QuantizationRow,
    advice_words,
    done_share,
    progress_words,
    quantization_rows,
    used_words,
)
from app.features.library.quantizations_dialog import QuantizationsDialog
from app.main_window import MainWindow
from app.models.target_rows import target_title
from app.widgets.dialog_parts import show_in_front
from engine.values.events import TargetReady, TargetsListed
from engine.values.quantizations import QuantizationOffer, TuneProgress, TuneReport
from engine.values.requests import Failure
from engine.values.targets import LibraryTarget


@dataclass(frozen=True)
class _Work:
    """What is being measured or made."""

    request: Request[Any]
    target: LibraryTarget  # as it was when this began
    quantizations: Sequence[str] | None  # that are measured; None: one is only made

    def done_share(self, now: TuneProgress) -> float:
        """0 … 1"""
        return now.progress if self.quantizations is None else done_share(now, self.quantizations)


class QuantizationsController(Controller):
    """Decides what the dialog of quantizations shows, and has quantizations measured and made, one after the other. No
    model but the starter is ever used in another quantization unless the user chooses it.

    Signals:
        use_requested(str): the model with this reference is to be used.
    """

    use_requested = Signal(str)

    def __init__(self, window: MainWindow, page: LibraryPage, bridge: EngineBridge) -> None:
        super().__init__(window, bridge)
        self._targets: tuple[LibraryTarget, ...] = ()
        self._in_use = ""  # a reference
        self._shown: LibraryTarget | None = None
        self._offers: tuple[QuantizationOffer, ...] = ()
        self._work: _Work | None = None
        self._listing: Request[tuple[QuantizationOffer, ...]] | None = None
        self._tuning = bridge.engine.tuning
        self.dialog = QuantizationsDialog(window)
        self.dialog.measure_requested.connect(self._measure)
        self.dialog.keep_requested.connect(self._keep)
        self.dialog.use_requested.connect(self.use_requested)
        self.dialog.starter_tune_requested.connect(self._tune_starter)
        self.dialog.starter_reset_requested.connect(self._reset_starter)
        self.dialog.cancel_requested.connect(self._cancel)
        page.quantizations_requested.connect(self._open)
        window.signs.measuring_requested.connect(partial(show_in_front, self.dialog))
        bridge.listen(TargetsListed, self._on_listed)
        bridge.listen(TargetReady, self._on_ready)

    # What the user wants

    @Slot(object)
    def _open(self, path: Path) -> None:
        """Opens the dialog for a model; while one is being worked on, that one stays shown."""
        if self._work is None:
            self._shown = next((target for target in self._targets if target.path == path), None)
            self._offers = ()
            self._show(is_new=True)
            self.dialog.show_words(self.tr("Checking which quantizations can be made…"))
            self._list()
        show_in_front(self.dialog)

    @Slot(tuple, bool)
    def _measure(self, quantizations: tuple[str, ...], own_prompts: bool) -> None:
        if (target := self._next) is not None:
            request = self._bridge.ask(self._tuning.tune, target.path, quantizations, own_prompts=own_prompts)
            request.answered.connect(partial(self._on_measured, target))
            self._begin(request, target, self.tr("{model} is being measured"), quantizations)

    @Slot(str)
    def _keep(self, quantization: str) -> None:
        if (target := self._next) is not None:
            request = self._bridge.ask(self._tuning.make, target.path, quantization)
            request.answered.connect(self._on_made)
            self._begin(request, target, self.tr("A quantization of {model} is being made"), None)

    @Slot()
    def _tune_starter(self) -> None:
        if (target := self._next) is not None:
            request = self._bridge.ask(self._tuning.tune_starter, is_quick=True)
            request.answered.connect(partial(self._on_starter_tuned, target))
            self._begin(request, target, self.tr("{model} is being measured"), ())

    @Slot()
    def _reset_starter(self) -> None:
        if (target := self._next) is not None:
            request = self._bridge.ask(self._tuning.reset_starter)
            request.answered.connect(partial(self._on_starter_reset, target))
            self._begin(request, target, self.tr("A quantization of {model} is being made"), None)

    @property
    def _next(self) -> LibraryTarget | None:
        """The model that work may begin on; None while other work is done."""
        return self._shown if self._work is None else None

    @Slot()
    def _cancel(self) -> None:
        if self._work is not None:
            self._work.request.stop()

    def _begin(
        self, request: Request[Any], target: LibraryTarget, words: str, quantizations: Sequence[str] | None
    ) -> None:
        request.progressed.connect(self._on_progress)
        request.failed.connect(self._on_failed)
        self._work = _Work(request, target, quantizations)
        self._window.signs.measuring.tell(words.format(model=target_title(target)))
        self.dialog.show_busy(True)
        self.dialog.show_words(self.tr("Starts as soon as no reply is being written."))

    def _list(self) -> None:
        if self._listing is not None:
            self._listing.drop()
        if self._shown is not None:
            self._listing = self._bridge.ask(self._tuning.offers, self._shown.path)
            self._listing.answered.connect(self._on_offers)
            self._listing.failed.connect(self._on_list_failed)

    # What the engine says

    def _on_ready(self, event: TargetReady) -> None:
        self._in_use = event.target.reference

    @Slot(object)
    def _on_progress(self, now: TuneProgress) -> None:
        if self._work is not None:
            self.dialog.show_progress(self._work.done_share(now))
            self.dialog.show_words(progress_words(target_title(self._work.target), now))

    def _on_measured(self, target: LibraryTarget, measured: tuple[TuneReport, tuple[Path, ...]]) -> None:
        report, _ = measured
        self._end(self.tr("Measured. Nothing was changed or kept."))
        words = self.tr("{name} was measured. {advice}")
        self._tell(words.format(name=target_title(target), advice=advice_words(report)))

    @Slot(object)
    def _on_made(self, path: Path) -> None:
        words = self.tr("{name} is now in the library.").format(name=path.stem)
        self._end(words)
        self._tell(words, path)

    def _on_listed(self, event: TargetsListed) -> None:
        self._targets = targets = event.targets
        if self._shown is None:
            return
        shown = self._shown
        same = (each for each in targets if (each.is_starter if shown.is_starter else each.path == shown.path))
        self._shown = next(same, shown)  # one that was removed stays, until another one is looked at
        self._show()

    @Slot(object)
    def _on_offers(self, offers: tuple[QuantizationOffer, ...]) -> None:
        if not self._offers and self._work is None:  # else the words say what came of the last wish
            self.dialog.show_words("")
        self._offers = offers
        self._show()

    def _on_starter_tuned(self, target: LibraryTarget, tuned: tuple[str, TuneReport | None]) -> None:
        quantization, _ = tuned
        stays = self.tr(
            "The starter model keeps its original quantization: no other with practically the same words is clearly "
            "faster here."
        )
        now = self.tr("The starter model uses {form} from now on.").format(form=quantization)
        self._end_starter(target, now if quantization else stays)

    def _on_starter_reset(self, target: LibraryTarget, _answer: None) -> None:
        self._end_starter(target, self.tr("The starter model uses its original quantization from now on."))

    def _end_starter(self, target: LibraryTarget, words: str) -> None:
        """Loads a starter that is in use again, as the user wanted another quantization of it."""
        self._end(words)
        self._tell(words)
        is_another = self._shown is not None and self._shown.path != target.path
        if is_another and self._shown is not None and self._in_use == target.reference:
            self.use_requested.emit(self._shown.reference)

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        """Also if it was cancelled."""
        self._end(failure.sentence)
        if not self.dialog.isVisible() and not failure.is_stopped:
            self._window.toasts.show_error(failure.sentence)

    @Slot(object)
    def _on_list_failed(self, failure: Failure) -> None:
        if self._work is None:
            self.dialog.show_words(failure.sentence)

    # What is shown

    def _end(self, words: str) -> None:
        """`words` say what came of it."""
        self._work = None
        self._window.signs.measuring.tell("")
        self.dialog.show_busy(False)
        self.dialog.show_words(words)
        self._list()  # there is another file now, or less room

    def _tell(self, words: str, made: Path | None = None) -> None:
        """Shows a toast if the dialog is closed; `made` is the file of a new quantization."""
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
        own = "" if target.details is None or target.starter_quantization else target.details.quantization
        size = 0 if target.starter_quantization else target.size_bytes
        if report is not None:
            own, size = report.original.quantization, report.original.size_bytes
        figures = None if report is None else report.original
        starter = used_words(target.starter_quantization, own, report) if target.is_starter else ""
        self.dialog.show_model(target_title(target), starter, bool(target.starter_quantization))
        original = QuantizationRow(own, size, figures, is_original=True, is_used=not target.starter_quantization)
        here = (each.path for each in self._targets)
        rows = quantization_rows(original, self._offers, report, here, target.starter_quantization)
        self.dialog.show_quantizations(rows, report, is_new)
