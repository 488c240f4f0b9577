"""Has one prompt answered with drafts and without them, and shows how much faster that was."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Slot

from app.controllers.chat import ChatController
from app.controllers.controller import Controller
from app.dialogs.compare_dialog import CompareDialog
from app.dialogs.compare_wording import NUM_REPLIES, progress_words, reasons, result, running_words, side_words
from app.dialogs.parts import show_in_front
from app.engine_bridge import EngineBridge, Request
from app.main_window import MainWindow
from engine import ChatSampling, Compare, ReplySettings, SamplingSettings
from engine.messages.comparison import Side
from engine.messages.conversations import Message, Role
from engine.messages.events import (
    CompareFinished,
    CompareText,
    ConversationForgotten,
    Event,
    EverythingForgotten,
    Failed,
)
from engine.messages.prompts import split_pictures

_GREEDY = ReplySettings(SamplingSettings(temperature=0))


class CompareController(Controller):
    """Decides what the dialog of a comparison shows, and stops a comparison when the model is needed for something
    else. The settings are those of `chat`."""

    def __init__(self, window: MainWindow, bridge: EngineBridge, chat: ChatController) -> None:
        super().__init__(window, bridge)
        self._chat = chat
        self._conversation_id: int | None = None  # from which the prompt was taken
        self._request: Request | None = None  # the comparison under way
        self._num_finished = 0  # replies of it
        self.dialog = CompareDialog(window)
        self.dialog.start_requested.connect(self._start)
        self.dialog.stop_requested.connect(self.stop)
        self.dialog.finished.connect(self.stop)
        window.compare_action.triggered.connect(self.open)
        window.prompt_box.submitted.connect(self.stop)  # a reply never waits for a comparison
        window.prompt_box.stop_requested.connect(self.stop)
        window.transcript.regenerate_requested.connect(self.stop)
        window.transcript.continue_requested.connect(self.stop)
        window.transcript.revision_submitted.connect(self.stop)

    @Slot()
    def open(self) -> None:
        """With the last prompt of the open chat."""
        if not self.dialog.isVisible() and self._request is None:
            prompts = [message for message in self._window.transcript.messages if message.role is Role.USER]
            self._offer(prompts[-1] if prompts else None)
        show_in_front(self.dialog)

    def _offer(self, prompt: Message | None) -> None:
        """An example, if there is no prompt. Pictures are not compared."""
        self._conversation_id = prompt.conversation_id if prompt else None
        example = self.tr(
            "Write a Python class for a stack with push, pop and peek, and then the same class with type hints."
        )
        words = split_pictures(prompt.text)[1] if prompt else ""
        self.dialog.show_prompt(words or example, prompt is not None)
        self.dialog.clear()

    @Slot()
    def _start(self) -> None:
        if self._request is not None:
            return
        dialog, chat = self.dialog, self._chat
        self._num_finished = 0
        dialog.clear()
        dialog.show_running(True)
        dialog.show_result(
            self.tr("Waiting for the model: it reads the prompt, or finishes what it writes for you."), ()
        )
        in_chat = self._conversation_id if dialog.in_chat.isChecked() else None
        own = dialog.own_sampling.isChecked()
        self._request = self._bridge.post(
            Compare(
                prompt=dialog.prompt.toPlainText().strip(),
                conversation_id=in_chat,
                settings=replace(chat.reply_settings, tools=()) if own else _GREEDY,
                num_tokens=dialog.num_tokens,
                system_prompt=chat.system_prompt,
                sampled_as=(chat.sampling if in_chat is None else ChatSampling(in_chat)) if own else None,
            )
        )
        self._request.failed.connect(self._on_failed)

    @Slot()
    def stop(self) -> None:
        if self._request is not None:
            self._request.stop()

    def _on_event(self, event: Event) -> None:
        match event:
            case CompareText():
                self._on_text(event)
            case CompareFinished(_, comparison):
                self._end()
                self.dialog.show_figures(Side.PLAIN, side_words(comparison.plain))
                self.dialog.show_figures(Side.SPED_UP, side_words(comparison.sped_up))
                self.dialog.show_result(result(comparison), reasons(comparison))
                if comparison.plain and comparison.sped_up:
                    self.dialog.mark_difference()
            case ConversationForgotten(summary) if summary.id == self._conversation_id:
                self._drop_prompt()
            case EverythingForgotten():
                self._drop_prompt()

    @Slot(object)
    def _on_failed(self, failed: Failed) -> None:
        self._end()
        self.dialog.show_result(failed.sentence, ())

    def _on_text(self, event: CompareText) -> None:
        dialog = self.dialog
        if event.is_finished:
            self._num_finished += 1
        else:
            if event.turn == 0:  # the second time it is the same text, or one like it
                dialog.add_text(event.side, event.text)
            dialog.show_result(progress_words(event.side, event.turn, self._num_finished + 1), ())
        if event.figures.num_tokens > 1:  # one token has no speed yet
            dialog.show_figures(event.side, running_words(event.figures))
        written = 0.0 if event.is_finished else min(1.0, event.figures.num_tokens / dialog.num_tokens)
        dialog.show_progress((self._num_finished + written) / NUM_REPLIES)

    def _drop_prompt(self) -> None:
        """The chat that it came from is gone."""
        self.stop()
        self._offer(None)

    def _end(self) -> None:
        self._request = None
        self.dialog.show_running(False)
