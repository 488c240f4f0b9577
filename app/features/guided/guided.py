"""The guided start: measures this computer, has one prompt answered both ways, and says what to expect here."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import psutil
from PySide6.QtCore import Signal, Slot

from app.engine_bridge import EngineBridge, Request
from app.features.controller import Controller, free_disk
from app.features.guided.guided_dialog import GuidedDialog
from app.features.guided.steps import Prospect, State
from app.features.speed.compare import GREEDY, ComparisonRun
from app.features.speed.compared_sides import ComparedSides
from app.main_window import MainWindow
from app.settings.keeper import SettingsKeeper
from app.text.outlooks import (
    advice_of,
    best_words,
    compared_words,
    fit_words,
    in_use_words,
    machine_facts,
    outlook_words,
)
from app.text.suggestions import SuggestionAdvice
from app.widgets.dialog_parts import show_in_front
from engine.values.comparison import Comparison, ComparisonOrder
from engine.values.events import TargetReady
from engine.values.outlook import ExpectedSpeeds, MachineFigures, Outlook
from engine.values.requests import Failure
from engine.values.targets import HubFile

SUBJECT = "guided"  # of the notice
_REPLY_S = 12.0  # that a reply may take without speed-up: four of them fill most of a minute
_TOKENS = (48, 256)  # fewest and most


class GuidedController(Controller):
    """Offered once at the first start, after the tour; in Help at any time. It goes on where it was left."""

    model_requested = Signal(HubFile)  # show this one among those to download

    def __init__(
        self, window: MainWindow, bridge: EngineBridge, keeper: SettingsKeeper, run: ComparisonRun, folder: Path
    ) -> None:
        """`folder` is on the disk where models are stored."""
        super().__init__(window, bridge)
        self._keeper = keeper
        self._run = run
        self._folder = folder
        self._request: Request[MachineFigures] | None = None  # to measure
        self.machine: MachineFigures | None = None
        self._outlooks: tuple[Outlook, ...] = ()
        self.comparison: Comparison | None = None
        self.dialog: GuidedDialog | None = None  # once it was opened
        window.guided_action.triggered.connect(self.open)
        run.compared.connect(self._on_compared)
        bridge.listen(TargetReady, self._on_ready)

    @Slot()
    def offer(self, at_once: bool) -> None:
        """Offers the guide to users who have not seen it: `at_once`, or in a notice that can be dismissed."""
        if self._keeper.settings.guided_seen:
            return
        if at_once:
            self.open()
            return
        sentence = self.tr("See in two minutes what speed-up does on this computer, and which model suits it.")
        start = self.tr("Guided start"), self.open
        self._window.notices.show_notice(SUBJECT, sentence, (start,)).closed.connect(self._on_seen)

    @Slot()
    def open(self) -> None:
        """Opens the dialog at the step where it was left."""
        self._on_seen()
        if self.dialog is None:
            dialog = self.dialog = GuidedDialog(self._window)
            dialog.begun.connect(self._begin)
            dialog.stopped.connect(self._stop)
            dialog.finished.connect(self._stop)
            dialog.turned.connect(lambda step: self._keeper.note(guided_step=step))
            dialog.completed.connect(lambda: self._keeper.note(guided_step=0))
            dialog.machine.again_requested.connect(self._begin)
            dialog.outlook.model_requested.connect(self.model_requested)
        if not self.dialog.isVisible():
            self.dialog.show_step(self._step)
        show_in_front(self.dialog)
        self.dialog.main_button.setFocus()

    @property
    def _step(self) -> int:
        """The step to continue with; nothing measured survives a restart."""
        assert self.dialog is not None
        return min(self._keeper.settings.guided_step, len(self.dialog.pages) - 1) if self.machine else 0

    @Slot()
    def _on_seen(self) -> None:
        self._window.notices.dismiss(SUBJECT)
        if not self._keeper.settings.guided_seen:
            self._keeper.note(guided_seen=True)

    def kept(self) -> bool:
        """Measurements are not kept, as after a restart."""
        return SUBJECT in self._window.notices.shown

    def resume(self, kept: bool) -> None:
        if kept:
            self.offer(at_once=False)

    # What is done

    @Slot()
    def _begin(self) -> None:
        assert self.dialog is not None
        if self.dialog.page is self.dialog.machine:
            self._measure(self.dialog)
        else:
            self._compare(self.dialog)

    @Slot()
    def _stop(self) -> None:
        if self._request is not None:
            self._request.stop()
        if self.dialog is not None and self.dialog.proof.state is State.RUNNING:
            self._run.stop()

    def _measure(self, dialog: GuidedDialog) -> None:
        if self._request is None:
            dialog.machine.show_running(0.0)
            self._request = self._bridge.ask(self._bridge.engine.trials.measure_machine)
            self._request.progressed.connect(dialog.machine.show_running)
            self._request.answered.connect(self._on_measured)
            self._request.failed.connect(self._on_failed)

    def _compare(self, dialog: GuidedDialog) -> None:
        if self._run.is_running:
            self._run.stop()  # that of another window; the user presses again
            return
        speed = self.machine.tokens_per_s if self.machine else 0.0
        fewest, most = _TOKENS
        num_tokens = max(fewest, min(most, round(speed * _REPLY_S))) if speed else most
        self._run.start(ComparisonOrder(dialog.proof.words, None, GREEDY, num_tokens), dialog.proof.sides)

    # What the engine says

    def _on_ready(self, event: TargetReady) -> None:
        is_measured = self.machine is not None and event.target.identity == self.machine.identity
        if self.dialog is not None and self.machine is not None and not is_measured:
            self._forget(self.dialog)

    def _on_measured(self, machine: MachineFigures) -> None:
        self._request = None
        self.machine = machine
        request = self._bridge.ask(self._bridge.engine.library.expect_speeds, machine)
        request.answered.connect(partial(self._on_expected, machine))
        request.failed.connect(self._on_failed)

    def _on_expected(self, machine: MachineFigures, expected: ExpectedSpeeds) -> None:
        if self.dialog is not None and machine is self.machine:  # else another model is in use now
            self._outlooks = expected.outlooks
            self.dialog.machine.finish(machine_facts(machine, expected.step_s), machine.is_busy)
            self._show_outlooks()

    @Slot(object)
    def _on_failed(self, failed: Failure) -> None:
        self._request = None
        if self.dialog is not None:
            self.dialog.machine.show_failure(failed.sentence)

    @Slot(object, object)
    def _on_compared(self, sides: ComparedSides, comparison: Comparison) -> None:
        if self.dialog is not None and sides is self.dialog.proof.sides and comparison.ratio is not None:
            self.comparison = comparison
            self.dialog.proof.finish()
            self._show_outlooks()

    def _forget(self, dialog: GuidedDialog) -> None:
        """Drops all measurements, which belong to another model."""
        self.machine, self._outlooks, self.comparison = None, (), None
        dialog.machine.show_facts(())
        dialog.machine.set_state(State.OPEN)
        dialog.proof.sides.clear()
        dialog.proof.set_state(State.OPEN)
        self._show_outlooks()

    # What is shown

    def _show_outlooks(self) -> None:
        assert self.dialog is not None
        page = self.dialog.outlook
        advice = advice_of(self._outlooks, psutil.virtual_memory().total, free_disk(self._folder))
        by_file = {each.suggestion.file: each for each in advice}
        page.show_prospects([self._prospect(each, by_file) for each in self._outlooks])
        best = next((each for each in advice if each.is_best), None)
        if best is None:
            page.show_best("", "", None)
        else:
            action = self.tr("Look at {model}…").format(model=best.suggestion.name)
            page.show_best(best_words(best), action, best.suggestion.file)

    def _prospect(self, outlook: Outlook, advice: dict[HubFile, SuggestionAdvice]) -> Prospect:
        suggestion = outlook.suggestion
        if suggestion is None:
            note = "" if self.comparison is None else compared_words(self.comparison)
            return Prospect(in_use_words(outlook), outlook_words(outlook), note)
        return Prospect(outlook.name, outlook_words(outlook), fit_words(advice[suggestion.file]))
