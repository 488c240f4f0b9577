"""Has one prompt answered with drafts and without them, and shows how much faster that was."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Slot

from app.engine_bridge import EngineBridge
from app.features.chat.chat import ChatController
from app.features.controller import Controller
from app.features.speed.compare_dialog import CompareDialog
from app.features.speed.comparison_run import ComparisonRun
from app.main_window import MainWindow
from app.widgets.dialog_parts import show_in_front
from engine import ReplySettings, SamplingSettings
from engine.values.comparison import ChatSampling, ComparisonOrder
from engine.values.conversations import Message, Role
from engine.values.events import ConversationForgotten, EverythingForgotten
from engine.values.prompts import split_pictures

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
        """With the last prompt of the open chat."""
        if not self.dialog.isVisible() and not self.run.is_running:
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
        """The chat that it came from is gone."""
        self.stop()
        self._offer(None)
