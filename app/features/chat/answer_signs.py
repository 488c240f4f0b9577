"""What the window says of an answer outside of the transcript's messages: what was not stored, what the model no longer
sees, and in which chat it is written."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QGuiApplication

from app.features.chat.answer import Answer
from app.features.chats.conversations import UNDO_MS, ConversationsController
from app.main_window import MainWindow
from app.models.conversations import title_words
from engine.values.prompts import MOST_FILES, MOST_PASTED, with_names


class KeptWords(QObject):
    def __init__(self, window: MainWindow, conversations: ConversationsController) -> None:
        super().__init__(window)
        self._window = window
        self._conversations = conversations

    def give_back(self, reply: Answer) -> None:
        """Puts a prompt that was not stored into the prompt box, but never in another chat."""
        if reply.prompt is None or reply.prompt_id is not None or reply.is_forgotten:
            return
        open_id, prompt = self._conversations.open_id, reply.prompt
        is_same_kind = open_id is not None or reply.incognito == self._conversations.is_incognito
        fits = len(prompt) <= MOST_FILES * MOST_PASTED
        if fits and reply.conversation_id == open_id and is_same_kind and not self._window.prompt_box.text:
            self._window.prompt_box.set_text(prompt)
        else:
            self._offer_copy(self.tr("Your message was not sent."), with_names(prompt))

    def offer_reply(self, text: str) -> None:
        """Offers the text of a reply that was not stored."""
        self._offer_copy(self.tr("The unfinished reply was not kept."), text)

    def _offer_copy(self, sentence: str, text: str) -> None:
        self._window.toasts.show_info(
            sentence, self.tr("Copy it"), lambda: QGuiApplication.clipboard().setText(text), UNDO_MS
        )


class LeftOutNote(QObject):
    """Says in the open conversation when messages no longer fit into the context."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._transcript = window.transcript
        self._num_shown = 0

    def reset(self, num_left_out: int = 0) -> None:
        """Another conversation is shown, of which this many messages do not fit."""
        self._num_shown = 0
        self.show(num_left_out)

    def show(self, num_left_out: int) -> None:
        """Says it once each time that more messages leave."""
        if num_left_out <= self._num_shown:
            return
        self._num_shown = num_left_out
        words = self.tr(
            "The (oldest message no longer fits|%n oldest messages no longer fit) into the model's context; it no "
            "longer sees (it|them).",
            "",
            num_left_out,
        )
        self._transcript.show_note(words)


class WritingSign(QObject):
    """Marks in the list the chat that a reply is written in, and leads back to it from another."""

    def __init__(self, window: MainWindow, conversations: ConversationsController) -> None:
        super().__init__(window)
        self._window = window
        self._conversations = conversations
        self._written: int | None = None
        window.signs.writing_requested.connect(self._open)

    def show(self, reply: Answer | None) -> None:
        self._written = None if reply is None else reply.conversation_id
        self._window.conversations.set_written(self._written)
        summary = None if self._written is None else self._window.conversations.model.find(self._written)
        words = ""
        if summary is not None and self._written != self._conversations.open_id:
            words = self.tr("Go to “{title}”, where a reply is being written").format(title=title_words(summary.title))
        self._window.signs.writing.tell(words)

    @Slot()
    def _open(self) -> None:
        if self._written is not None:
            self._window.conversations.chosen.emit(self._written)
