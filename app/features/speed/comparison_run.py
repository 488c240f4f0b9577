"""Has the engine write the replies of a comparison, and shows them where it was asked for."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot

from app.engine_bridge import EngineBridge, Request
from app.features.controller import Controller
from app.features.speed.compare_wording import NUM_REPLIES, progress_words, reasons, result, running_words, side_words
from app.features.speed.compared_sides import ComparedSides
from app.main_window import MainWindow
from engine.values.comparison import Comparison, ComparisonOrder, ComparisonStep, Side
from engine.values.requests import Failure


class ComparisonRun(Controller):
    """One comparison at a time. It is stopped when the model is needed for something else.

    Signals:
        compared(object, object): the sides that show it, and the `Comparison`.
    """

    compared = Signal(object, object)

    def __init__(self, window: MainWindow, bridge: EngineBridge) -> None:
        super().__init__(window, bridge)
        self._request: Request[Comparison] | None = None  # the comparison under way
        self._sides: ComparedSides | None = None  # that show it
        self._num_tokens = 1
        self._num_finished = 0  # replies of it
        window.prompt_box.submitted.connect(self.stop)  # a reply never waits for a comparison
        window.prompt_box.stop_requested.connect(self.stop)
        window.transcript.regenerate_requested.connect(self.stop)
        window.transcript.continue_requested.connect(self.stop)
        window.transcript.revision_submitted.connect(self.stop)

    @property
    def is_running(self) -> bool:
        return self._request is not None

    def start(self, order: ComparisonOrder, sides: ComparedSides) -> None:
        """Does nothing while another one is under way."""
        if self._request is not None:
            return
        self._sides, self._num_tokens, self._num_finished = sides, order.num_tokens, 0
        sides.clear()
        sides.show_running(True)
        sides.show_result(self.tr("Waiting for the model: it is reading the prompt or finishing a reply."), ())
        self._request = self._bridge.ask(self._bridge.engine.trials.compare, order)
        self._request.progressed.connect(self._show_step)
        self._request.answered.connect(self._show)
        self._request.failed.connect(self._on_failed)

    @Slot()
    def stop(self) -> None:
        if self._request is not None:
            self._request.stop()

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self._end().show_result(failure.sentence, ())

    @Slot(object)
    def _show_step(self, step: ComparisonStep) -> None:
        sides = self._sides
        assert sides is not None
        if step.is_finished:
            self._num_finished += 1
        else:
            if step.turn == 0:  # the second time it is the same text, or one like it
                sides.add_text(step.side, step.text)
            sides.show_result(progress_words(step.side, step.turn, self._num_finished + 1), ())
        if step.figures.num_tokens > 1:  # one token has no speed yet
            sides.show_figures(step.side, running_words(step.figures))
        written = 0.0 if step.is_finished else min(1.0, step.figures.num_tokens / self._num_tokens)
        sides.show_progress((self._num_finished + written) / NUM_REPLIES)

    def _show(self, comparison: Comparison) -> None:
        sides = self._end()
        sides.show_figures(Side.PLAIN, side_words(comparison.plain))
        sides.show_figures(Side.SPED_UP, side_words(comparison.sped_up))
        sides.show_result(result(comparison), reasons(comparison))
        if comparison.plain and comparison.sped_up:
            sides.mark_difference()
        self.compared.emit(sides, comparison)

    def _end(self) -> ComparedSides:
        assert self._sides is not None
        self._request = None
        self._sides.show_running(False)
        return self._sides
