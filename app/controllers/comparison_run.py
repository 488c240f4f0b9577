"""Has the engine write the replies of a comparison, and shows them where it was asked for."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot

from app.controllers.controller import Controller
from app.dialogs.compare_wording import NUM_REPLIES, progress_words, reasons, result, running_words, side_words
from app.dialogs.compared_sides import ComparedSides
from app.engine_bridge import EngineBridge, Posted
from app.main_window import MainWindow
from engine import Compare
from engine.messages.comparison import Side
from engine.messages.events import CompareFinished, CompareText, Event, Failed


class ComparisonRun(Controller):
    """One comparison at a time. It is stopped when the model is needed for something else.

    Signals:
        compared(object, object): the sides that show it, and the `Comparison`.
    """

    compared = Signal(object, object)

    def __init__(self, window: MainWindow, bridge: EngineBridge) -> None:
        super().__init__(window, bridge)
        self._request: Posted | None = None  # the comparison under way
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

    def start(self, command: Compare, sides: ComparedSides) -> None:
        """Does nothing while another one is under way."""
        if self._request is not None:
            return
        self._sides, self._num_tokens, self._num_finished = sides, command.num_tokens, 0
        sides.clear()
        sides.show_running(True)
        sides.show_result(self.tr("Waiting for the model: it is reading the prompt or finishing a reply."), ())
        self._request = self._bridge.post(command)
        self._request.failed.connect(self._on_failed)

    @Slot()
    def stop(self) -> None:
        if self._request is not None:
            self._request.stop()

    def _on_event(self, event: Event) -> None:
        sides = self._sides
        if sides is None:
            return
        match event:
            case CompareText():
                self._on_text(event, sides)
            case CompareFinished(_, comparison):
                self._end(sides)
                sides.show_figures(Side.PLAIN, side_words(comparison.plain))
                sides.show_figures(Side.SPED_UP, side_words(comparison.sped_up))
                sides.show_result(result(comparison), reasons(comparison))
                if comparison.plain and comparison.sped_up:
                    sides.mark_difference()
                self.compared.emit(sides, comparison)

    @Slot(object)
    def _on_failed(self, failed: Failed) -> None:
        assert self._sides is not None
        self._end(self._sides)
        self._sides.show_result(failed.sentence, ())

    def _on_text(self, event: CompareText, sides: ComparedSides) -> None:
        if event.is_finished:
            self._num_finished += 1
        else:
            if event.turn == 0:  # the second time it is the same text, or one like it
                sides.add_text(event.side, event.text)
            sides.show_result(progress_words(event.side, event.turn, self._num_finished + 1), ())
        if event.figures.num_tokens > 1:  # one token has no speed yet
            sides.show_figures(event.side, running_words(event.figures))
        written = 0.0 if event.is_finished else min(1.0, event.figures.num_tokens / self._num_tokens)
        sides.show_progress((self._num_finished + written) / NUM_REPLIES)

    def _end(self, sides: ComparedSides) -> None:
        self._request = None
        sides.show_running(False)
