"""Has one prompt answered with drafts and without them, and shows how much faster that was."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Signal, Slot

from app.engine_bridge import EngineBridge, Request
from app.features.chat.chat import ChatController
from app.features.controller import Controller
from app.features.speed.compare_dialog import CompareDialog
from app.features.speed.compare_wording import NUM_REPLIES, progress_words, reasons, result, running_words, side_words
from app.features.speed.compared_sides import ComparedSides
from app.main_window import MainWindow
from app.settings.keeper import SettingsKeeper
from app.text.speed import multiple
from app.widgets.dialog_parts import show_in_front
from engine import ReplySettings, SamplingSettings
from engine.values.comparison import ChatSampling, Comparison, ComparisonOrder, ComparisonStep, Side
from engine.values.conversations import Message, Role
from engine.values.events import ConversationForgotten, EverythingForgotten, ReplyFinished
from engine.values.prompts import split_pictures
from engine.values.replies import ReplyStatistics
from engine.values.speed import SpeedOutcome


class ComparisonRun(Controller):
    """One comparison at a time. It is stopped when the model is needed for something else."""

    compared = Signal(object, object)  # the sides that show it, and the `Comparison`

    def __init__(self, window: MainWindow, bridge: EngineBridge) -> None:
        super().__init__(window, bridge)
        self._request: Request[Comparison] | None = None  # the comparison under way
        self._sides: ComparedSides | None = None  # that show it
        self._num_tokens = 1
        self._num_finished = 0  # replies of it
        window.prompt_box.submitted.connect(self.stop)  # a reply never waits for a comparison
        window.prompt_box.stop_requested.connect(self.stop)
        window.transcript.message_actions.regenerate_requested.connect(self.stop)
        window.transcript.message_actions.continue_requested.connect(self.stop)
        window.transcript.message_actions.revision_submitted.connect(self.stop)

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
        self._request.failed.connect(lambda failure: self._end().show_result(failure.sentence, ()))

    @Slot()
    def stop(self) -> None:
        if self._request is not None:
            self._request.stop()

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


GREEDY = ReplySettings(SamplingSettings(temperature=0))


class CompareController(Controller):
    """Decides what is compared in the dialog of a comparison. The settings are those of `chat`."""

    def __init__(self, window: MainWindow, bridge: EngineBridge, chat: ChatController) -> None:
        super().__init__(window, bridge)
        self._chat = chat
        bridge.listen(ConversationForgotten, self._on_forgotten)
        bridge.listen(EverythingForgotten, self._on_all_forgotten)
        self._conversation_id: int | None = None  # from which the prompt was taken
        self.run = ComparisonRun(window, bridge)
        self.dialog = CompareDialog(window)
        self.dialog.start_requested.connect(self._start)
        self.dialog.stop_requested.connect(self.stop)
        self.dialog.finished.connect(self.stop)
        window.compare_action.triggered.connect(self.open)

    @Slot()
    def open(self) -> None:
        """Offers the last prompt of the open chat."""
        if not self.dialog.isVisible() and not self.run.is_running:
            prompts = [message for message in self._window.transcript.messages if message.role is Role.USER]
            self._offer(prompts[-1] if prompts else None)
        show_in_front(self.dialog)

    def _offer(self, prompt: Message | None) -> None:
        """Offers a prompt without its pictures, or an example."""
        self._conversation_id = prompt.conversation_id if prompt else None
        example = self.tr(
            "Write a Python class for a stack with push, pop and peek, and then the same class with type hints."
        )
        words = split_pictures(prompt.text)[1] if prompt else ""
        self.dialog.show_prompt(words or example, prompt is not None)
        self.dialog.sides.clear()

    @Slot()
    def _start(self) -> None:
        dialog, chat = self.dialog, self._chat
        in_chat = self._conversation_id if dialog.in_chat.isChecked() else None
        own = dialog.own_sampling.isChecked()
        order = ComparisonOrder(
            prompt=dialog.prompt.toPlainText().strip(),
            conversation_id=in_chat,
            settings=replace(chat.reply_settings, tools=()) if own else GREEDY,
            num_tokens=dialog.num_tokens,
            system_prompt=chat.system_prompt,
            sampled_as=(chat.sampling if in_chat is None else ChatSampling(in_chat)) if own else None,
        )
        self.run.start(order, dialog.sides)

    @Slot()
    def stop(self) -> None:
        self.run.stop()

    def _on_forgotten(self, event: ConversationForgotten) -> None:
        if event.conversation.id == self._conversation_id:
            self._drop_prompt()

    def _on_all_forgotten(self, _event: EverythingForgotten) -> None:
        self._drop_prompt()

    def _drop_prompt(self) -> None:
        """Drops the prompt of a chat that is gone."""
        self.stop()
        self._offer(None)


SUBJECT = "proof"  # of the notice


class ProofOffer(Controller):
    """Shown once: following or dismissing it ends it for good."""

    def __init__(self, window: MainWindow, bridge: EngineBridge, keeper: SettingsKeeper) -> None:
        super().__init__(window, bridge)
        self._keeper = keeper
        self._offered: ReplyStatistics | None = None  # of the reply that the notice is about
        window.compare_action.triggered.connect(self._settle)
        bridge.listen(ReplyFinished, self._on_finished)

    def _on_finished(self, event: ReplyFinished) -> None:
        message = event.message
        if self._keeper.settings.proof_offered or message.server:
            return
        is_in_sight = message in self._window.transcript.messages  # others may be of other programs
        if is_in_sight and message.statistics is not None and came_again(message.statistics):
            self._offer(message.statistics)

    def _offer(self, statistics: ReplyStatistics) -> None:
        self._offered = statistics
        sentence = self.tr(
            "This reply was {ratio}× faster because it reuses earlier text. See it beside the same reply without "
            "speed-up."
        ).format(ratio=multiple(statistics.verdict))
        prove = self.tr("Prove it…"), self._window.compare_action.trigger
        notice = self._window.notices.show_notice(SUBJECT, sentence, (prove,))
        notice.closed.connect(self._settle)

    def kept(self) -> ReplyStatistics | None:
        return self._offered if SUBJECT in self._window.notices.shown else None

    def resume(self, kept: ReplyStatistics | None) -> None:
        if kept is not None:
            self._offer(kept)

    @Slot()
    def _settle(self) -> None:
        self._window.notices.dismiss(SUBJECT)
        if not self._keeper.settings.proof_offered:
            self._keeper.note(proof_offered=True)


def came_again(statistics: ReplyStatistics) -> bool:
    """True if most of the reply came from earlier text, clearly faster."""
    return statistics.verdict.outcome is SpeedOutcome.FASTER and statistics.reuses_text
