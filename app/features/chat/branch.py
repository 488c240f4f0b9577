"""Moves through the tree of a conversation: edited and deleted messages, replies written again or continued, and the
way between branches."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Slot

from app.engine_bridge import EngineBridge
from app.features.chat.chat import ChatController
from app.features.chat.consent import Consent
from app.features.chats.conversations import UNDO_MS, ConversationsController
from app.features.controller import Controller
from app.main_window import MainWindow
from app.widgets.toast import Toast
from app.widgets.transcript.answers import grouped, unanswered
from engine.values.conversations import Message, Role
from engine.values.events import ConversationForgotten, EverythingForgotten, MessageDeleted
from engine.values.orders import ContinueReply, EditPrompt, Regenerate
from engine.values.requests import Failure


class BranchController(Controller):
    """Acts on the buttons of the transcript's messages; `chat` has the replies written."""

    def __init__(
        self,
        window: MainWindow,
        bridge: EngineBridge,
        conversations: ConversationsController,
        chat: ChatController,
        consent: Consent,
    ) -> None:
        super().__init__(window, bridge)
        self._editor = bridge.engine.editor
        self._conversations = conversations
        self._chat = chat
        self._consent = consent
        self._transcript = window.transcript
        self._undo: Toast | None = None  # of the last message that was deleted
        self._deleted: list[tuple[int, int]] = []  # conversations and messages, last deleted last
        self._transcript.message_actions.regenerate_requested.connect(self._regenerate)
        self._transcript.message_actions.repeat_requested.connect(self._regenerate)
        self._transcript.message_actions.continue_requested.connect(self._continue)
        self._transcript.message_actions.revision_submitted.connect(self._edit_prompt)
        self._transcript.message_actions.branch_chosen.connect(self._show_branch)
        self._transcript.message_actions.delete_requested.connect(self._delete)
        bridge.listen(MessageDeleted, self._on_deleted)
        bridge.listen(ConversationForgotten, self._on_forgotten)
        bridge.listen(EverythingForgotten, self._on_everything_forgotten)

    @Slot(int)
    @Slot(int, object)
    def _regenerate(self, message_id: int, seed: int | None = None) -> None:
        message = self._shown(message_id)
        if message is not None and not self._consent.is_asked_first(partial(self._regenerate, message_id, seed)):
            order = Regenerate(message.conversation_id, self._chat.reply_settings, message_id, seed)
            self._write(order, self._prompt_of(message))

    def _prompt_of(self, message: Message) -> int | None:
        """The id of the prompt that the answer with this message replies to."""
        for group in grouped(self._transcript.messages):
            if message in group and message.role is not Role.USER:
                return group[0].parent_id
        return message.id

    @Slot()
    def _continue(self) -> None:
        messages = self._transcript.messages
        if not messages or messages[-1].role is Role.USER or self._consent.is_asked_first(self._continue):
            return
        last = messages[-1]
        order = ContinueReply(last.conversation_id, self._chat.reply_settings)
        if calls := unanswered(messages):
            if self._chat.answer(order, last.id, calls=calls):
                self._transcript.resume_answer()
        elif last.role is Role.TOOL:
            self._write(order, last.id)
        else:
            self._write(order, last.parent_id, last)

    def _write(self, order: Regenerate | ContinueReply, prompt_id: int | None, begun: Message | None = None) -> None:
        text, thoughts = ("", ()) if begun is None else (begun.text, begun.thoughts)
        if self._chat.answer(order, prompt_id, text, thoughts):
            self._transcript.cut_after(prompt_id)
            self._transcript.resume_answer()
            self._transcript.begin_reply(text, thoughts)

    @Slot(int, str)
    def _edit_prompt(self, message_id: int, prompt: str) -> None:
        message = self._shown(message_id)
        if message is None:
            return
        if prompt != message.text:
            if self._consent.is_asked_first(partial(self._edit_prompt, message_id, prompt)):
                return
            pictures = self._window.pictures.fresh_in(prompt)
            order = EditPrompt(message.conversation_id, message_id, prompt, self._chat.reply_settings, pictures)
            request = self._chat.answer(order)
            if request is None:
                return
            request.failed.connect(partial(self._revise_again, message_id, prompt))
        self._transcript.message_actions.end_revision(message_id)

    def _revise_again(self, message_id: int, prompt: str, _failure: Failure) -> None:
        """The prompt was not stored: nothing the user wrote is lost."""
        if self._shown(message_id):
            self._transcript.message_actions.revise(message_id, prompt)

    @Slot(int)
    def _show_branch(self, message_id: int) -> None:
        open_id = self._conversations.open_id
        if open_id is not None and not self._chat.is_answering:
            self._bridge.ask(self._editor.show_branch, open_id, message_id)

    @Slot(int)
    def _delete(self, message_id: int) -> None:
        if (message := self._shown(message_id)) and self._transcript.can_regenerate():
            self._bridge.ask(self._editor.delete_message, message.conversation_id, message_id)

    def _on_deleted(self, event: MessageDeleted) -> None:
        self._deleted.append((event.conversation_id, event.message_id))
        self._offer_undo(self.tr("The message was deleted."))

    def _on_forgotten(self, event: ConversationForgotten) -> None:
        self._deleted = [each for each in self._deleted if each[0] != event.conversation.id]
        self._end_undo()

    def _on_everything_forgotten(self, _event: EverythingForgotten) -> None:
        self._deleted.clear()
        self._end_undo()

    def kept(self) -> list[tuple[int, int]]:
        return self._deleted

    def resume(self, kept: list[tuple[int, int]]) -> None:
        self._deleted = kept

    def _offer_undo(self, words: str) -> None:
        """Offers to undo the last deletion, then the one before: a message may depend on one that was deleted later."""
        self._end_undo()
        if self._deleted:
            self._undo = self._window.toasts.show_info(words, self.tr("Undo"), self._restore, UNDO_MS)

    def _end_undo(self) -> None:
        if self._undo is not None:
            self._window.toasts.dismiss(self._undo)
            self._undo = None

    @Slot()
    def _restore(self) -> None:
        if self._chat.is_answering:  # the reply would leave the branch that is shown
            self._offer_undo(self.tr("You can undo this once the reply is written."))
        elif self._deleted:
            last = self._deleted[-1]
            request = self._bridge.ask(self._editor.restore_message, *last)
            request.answered.connect(partial(self._on_restored, last))
            request.failed.connect(lambda failure: self._offer_undo(failure.sentence))

    def _on_restored(self, restored: tuple[int, int], _nothing: None) -> None:
        if restored in self._deleted:  # not if it was forgotten meanwhile
            self._deleted.remove(restored)
        self._offer_undo(self.tr("The message is back. Another one was deleted before it."))

    def _shown(self, message_id: int) -> Message | None:
        return next((message for message in self._transcript.messages if message.id == message_id), None)
