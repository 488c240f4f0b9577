"""Sends prompts, and shows the replies as they grow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from PySide6.QtCore import Signal, Slot

from app.engine_bridge import EngineBridge, Request
from app.features.chat.answer import Answer, num_left_out, with_finished
from app.features.chat.answer_signs import KeptWords, LeftOutNote, WritingSign
from app.features.chat.chat_tools import ChatTools
from app.features.chats.conversations import ConversationsController
from app.features.controller import Controller
from app.features.library.target import TargetController
from app.main_window import MainWindow
from app.settings.keeper import SettingsKeeper
from app.text.places import host_words
from app.text.tool_calls import CallPhase
from app.widgets.transcript.answers import Siblings
from app.widgets.transcript.growing_answer import show_all, show_progress
from app.widgets.transcript.virtual_column import RowPlace
from engine import OwnSampling, ReplySettings
from engine.values.comparison import ChatSampling
from engine.values.conversations import Message
from engine.values.errors import Cancelled
from engine.values.events import (
    ConversationForgotten,
    ConversationOpened,
    EverythingForgotten,
    MessageDeleted,
    MessageStored,
    PromptStored,
    ReplyFinished,
    ToolFinished,
)
from engine.values.growing_reply import ReplySoFar, TextPiece
from engine.values.orders import ContinueReply, EditPrompt, Regenerate, ReplyOrder, Send
from engine.values.replies import Thought
from engine.values.requests import Failure
from engine.values.tools import Outcome, ToolCall


@dataclass(frozen=True)
class NextChat:
    """The settings of a chat that is not begun yet."""

    system_prompt: str
    sampling: OwnSampling = OwnSampling()


@dataclass(frozen=True)
class _Kept:
    next_chat: NextChat | None
    finished: tuple[Message, ...]
    messages: tuple[Message, ...]
    siblings: Siblings
    revisions: Mapping[int, str]
    place: RowPlace | None  # in the chat


class ChatController(Controller):
    """Has prompts answered, one at a time, and shows the open conversation with the reply that is written in it. Two
    other controllers decide which conversation is open and which target answers."""

    next_chat_changed = Signal()  # the next chat begins with other settings, or others are the defaults
    began = Signal()  # an answer was asked for
    writing_began = Signal()  # the first word of a reply is there
    repeats = Signal(int)  # the reply that is being written in this conversation repeats itself without end
    ended = Signal(object)  # the answer is there: None, or the Failure that ended it

    def __init__(
        self,
        window: MainWindow,
        bridge: EngineBridge,
        conversations: ConversationsController,
        target: TargetController,
        keeper: SettingsKeeper,
        tools: ChatTools,
    ) -> None:
        super().__init__(window, bridge)
        self._next_chat: NextChat | None = None
        self._conversations = conversations
        self._target = target
        self._keeper = keeper
        self._reply: Answer | None = None
        self._tools = tools
        self._finished: list[Message] = []  # of the last answer
        self._kept_words = KeptWords(window, conversations)
        self._left_out = LeftOutNote(window)
        self._writing = WritingSign(window, conversations)
        conversations.moved.connect(self._on_moved)
        keeper.changed.connect(self.next_chat_changed)
        window.prompt_box.submitted.connect(self._send)
        window.prompt_box.stop_requested.connect(self._stop)
        window.conversations.deleted.connect(self._stop_reply_in)
        bridge.listen(ConversationOpened, self._on_opened)
        bridge.listen(ConversationForgotten, self._on_forgotten)
        bridge.listen(EverythingForgotten, self._on_everything_forgotten)
        bridge.listen(MessageDeleted, self._on_deleted)
        bridge.listen(PromptStored, self._on_prompt_stored)
        bridge.listen(MessageStored, self._on_stored)
        bridge.listen(ReplyFinished, self._on_finished)
        bridge.listen(ToolFinished, self._on_result)

    @property
    def reply_settings(self) -> ReplySettings:
        """For the next reply in the open chat."""
        settings, target = self._keeper.settings, self._target.in_use
        thinks = None if target is None or target.thinks is None else settings.thinking.get(target.identity)
        return replace(settings.reply_settings(), thinks=thinks, tools=self._tools.chosen)

    @property
    def system_prompt(self) -> str:
        """The system prompt of all chats that begin from now on."""
        return self._keeper.settings.system_prompt

    @property
    def next_chat(self) -> NextChat | None:
        """Settings of the next one alone; None: the same as for all."""
        return self._next_chat

    @next_chat.setter
    def next_chat(self, settings: NextChat | None) -> None:
        self._next_chat = settings
        self.next_chat_changed.emit()

    @property
    def new_chat(self) -> NextChat:
        """What the next chat begins with."""
        return self.next_chat or NextChat(self.system_prompt)

    @property
    def sampling(self) -> ChatSampling:
        """Where the open chat has its own sampling from."""
        return ChatSampling(self._conversations.open_id, self.new_chat.sampling)

    @property
    def is_answering(self) -> bool:
        """Whether a reply is being written in the open conversation."""
        return self._reply is not None and self._reply.conversation_id == self._conversations.open_id

    def answer(
        self,
        order: Regenerate | EditPrompt | ContinueReply,
        prompt_id: int | None = None,
        begun: str = "",
        thoughts: tuple[Thought, ...] = (),
        calls: tuple[ToolCall, ...] = (),
    ) -> Request[None] | None:
        """Has a reply written in the open conversation; None if one is under way or no model is loaded. `prompt_id` is
        the message that is answered, if it is stored already, and `begun` the reply that is continued, with its
        `thoughts`. `calls` are carried out first."""
        if self._reply is not None:
            self._window.toasts.show_info(self.tr("Wait for the reply to end, or stop it with Esc."))
            return None
        if self._target.in_use is None:
            self._window.toasts.show_info(self.tr("The model is still loading; try again when it is ready."))
            return None
        open_id = self._conversations.open_id
        reply = self._asked(order, open_id, prompt_id=prompt_id, begun=begun, thoughts=thoughts)
        reply.is_between = bool(calls)
        self._await(reply, calls)
        self._begin_reply(reply)
        return reply.request

    # What the user wants

    @Slot(object)
    def _send(self, prompt: str) -> None:
        open_id = self._conversations.open_id
        new = self.new_chat
        incognito = self._conversations.is_incognito and open_id is None
        order = Send(
            prompt,
            open_id,
            self.reply_settings,
            new.system_prompt,
            incognito,
            new.sampling,
            has_own_system_prompt=new.system_prompt != self.system_prompt,
            pictures=self._window.pictures.fresh_in(prompt),
            folder_id=self._conversations.folder_id,
        )
        self._begin_reply(self._asked(order, open_id, incognito, prompt))

    @Slot()
    def _stop(self) -> None:
        if self._reply is not None:
            self._reply.request.stop()

    @Slot(object)
    def _stop_reply_in(self, conversation_ids: tuple[int, ...]) -> None:
        if self._reply is not None and self._reply.conversation_id in conversation_ids:
            self._reply.request.stop()

    @Slot(object)
    def _on_moved(self, conversation_id: int | None) -> None:
        self._writing.show(self._reply)
        if conversation_id is None:
            self._left_out.reset()
            self._window.transcript.clear()
            self._show_speed()

    # What the engine says

    def _on_forgotten(self, event: ConversationForgotten) -> None:
        if self._reply is not None and self._reply.conversation_id == event.conversation.id:
            self._reply.request.stop()
            self._reply.is_forgotten = True

    def _on_everything_forgotten(self, _event: EverythingForgotten) -> None:
        self._finished.clear()
        self.next_chat = None

    def _on_deleted(self, _event: MessageDeleted) -> None:
        self._finished.clear()  # it may be one of them

    @Slot(object)
    def _on_progress(self, so_far: ReplySoFar) -> None:
        reply = self._reply
        if reply is None:
            return
        before, reply.so_far = reply.so_far, so_far
        if not so_far.waits_for:
            if reply.prompt_id is None or reply.is_between:
                reply.prompt_id = so_far.prompt_id
            reply.is_between = False
        pieces = so_far.since(before.num_pieces)
        reply.origins += [run for each in pieces if isinstance(each, TextPiece) for run in each.origins]
        if so_far.conversation_id == self._conversations.open_id:
            self._left_out.show(so_far.num_left_out)
            show_progress(self._window.transcript, before, so_far)
            if pieces and (target := self._target.in_use) is not None:
                host = "" if target.server is None else target.server.host
                self._window.meter.show_live(so_far.figures, target.context_size, reply.origins, host)
        if pieces and not before.num_pieces:
            self.writing_began.emit()
        if so_far.repeats and not before.repeats:
            self.repeats.emit(so_far.conversation_id)

    def kept(self) -> _Kept:
        transcript = self._window.transcript
        return _Kept(
            self.next_chat,
            tuple(self._finished),
            transcript.messages,
            transcript.rows.siblings,
            transcript.rows.revisions,
            transcript.column.place,
        )

    def resume(self, kept: _Kept) -> None:
        self.next_chat, self._finished = kept.next_chat, [*kept.finished]
        self._window.transcript.show_messages(kept.messages, kept.siblings, kept.revisions)
        self._show_speed()
        self._left_out.reset(num_left_out(kept.messages))
        self._window.transcript.column.go_to(kept.place)

    def _on_opened(self, event: ConversationOpened) -> None:
        conversation = event.conversation
        conversation_id, messages = conversation.summary.id, conversation.messages
        if conversation_id != self._conversations.open_id:
            return
        reply = self._reply
        messages = with_finished(self._finished, conversation_id, messages, self.is_answering)
        ids = [message.id for message in messages]
        is_answered = reply is not None and reply.prompt_id in ids
        if reply is not None and reply.prompt_id in ids:
            messages = messages[: ids.index(reply.prompt_id) + 1]  # the rest is being written again
        transcript = self._window.transcript
        shown = transcript.messages
        is_same = bool(shown) and shown[0].conversation_id == conversation_id
        (transcript.change_messages if is_same else transcript.show_messages)(messages, conversation.siblings)
        self._show_speed()
        self._left_out.reset(num_left_out(messages))
        if reply is not None and is_answered:
            transcript.resume_answer()
            if not (reply.is_between and reply.calls):
                transcript.begin_reply(reply.begun, reply.thoughts)
                show_all(transcript, reply.so_far)

    def _on_prompt_stored(self, event: PromptStored) -> None:
        reply, message = self._reply, event.message
        if reply is None:  # it was stopped before the store had it
            if message.conversation_id == self._conversations.open_id:
                self._conversations.read(message.conversation_id)
            return
        if reply.conversation_id is None:
            if self._conversations.open_id is None:
                self._conversations.name_chat(message.conversation_id, reply.incognito)
            self.next_chat = None  # also if another conversation is open by now
        reply.conversation_id = message.conversation_id
        reply.prompt_id = message.id
        self._writing.show(self._reply)
        self._window.toasts.clear_errors()
        if message.conversation_id != self._conversations.open_id:
            return
        if not self._is_shown(message):
            if not self._window.transcript.cut_after(message.parent_id):
                self._conversations.read(message.conversation_id)  # another branch is shown
                return
            self._window.transcript.append_message(message, event.siblings)
        self._window.transcript.begin_reply()

    def _on_stored(self, event: MessageStored) -> None:
        """Gives a message that was held its id in the store."""
        held_id, message = event.held_id, event.message
        if self._reply is not None and self._reply.prompt_id == held_id:
            self._reply.prompt_id = message.id
        self._finished = [message if each.id == held_id else each for each in self._finished]
        if message.conversation_id == self._conversations.open_id:
            self._window.transcript.update_message(held_id, message, event.siblings)

    def _on_finished(self, event: ReplyFinished) -> None:
        message = event.message
        if self._reply is not None and self._reply.conversation_id != message.conversation_id:
            return  # a program's, while this one waits
        if self._reply is None or not (self._finished and self._finished[-1].id == message.parent_id):
            self._finished.clear()  # it is no part of the answer that is being written
        self._finished.append(message)
        if self._reply is not None and message.calls:
            self._reply.rest(message)
            self._await(self._reply, message.calls)
        else:
            self._end_reply()
        if message.conversation_id == self._conversations.open_id and not self._is_shown(message):
            if self._is_elsewhere(message):
                self._conversations.read(message.conversation_id)
                return
            self._window.transcript.finish_reply(message, event.siblings)
            self._show_speed()

    def _on_result(self, event: ToolFinished) -> None:
        message, reply = event.message, self._reply
        result = message.result
        if reply is None or result is None:
            return
        self._finished.append(message)
        reply.rest(message)
        reply.calls = tuple(each for each in reply.calls if each.id != result.call.id)
        if message.conversation_id != self._conversations.open_id or self._is_shown(message):
            return
        if self._is_elsewhere(message):
            self._conversations.read(message.conversation_id)
            return
        self._window.transcript.add_result(message, event.siblings)
        if not reply.calls and result.outcome is not Outcome.STOPPED:
            self._window.transcript.begin_reply()  # the next reply is being prepared

    @Slot(object)
    def _on_answered(self, _answer: None) -> None:
        if self._reply is not None and self._reply.request is self.sender():
            self._on_ended(self._reply)
        self.ended.emit(None)

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        reply = self._reply
        if reply is None or reply.request is not self.sender():  # the reply itself ended well
            self._window.toasts.show_error(failure.sentence)
        elif failure.is_stopped and issubclass(failure.error, Cancelled):
            self._on_ended(reply)
        else:
            self._on_broken(reply, failure.sentence)
        self.ended.emit(failure)

    def _on_ended(self, reply: Answer) -> None:
        self._end_reply()
        self._window.transcript.end_answer()
        self._show_speed()
        self._kept_words.give_back(reply)  # if it was stopped before it was stored
        if not self._finished and reply.conversation_id == self._conversations.open_id is not None:
            self._conversations.read(self._conversations.open_id)  # what was to be written again is back

    def _on_broken(self, reply: Answer, sentence: str) -> None:
        """Shows the prompt at least, and the reply that was there before regenerating."""
        self._end_reply()
        self._window.transcript.end_answer()
        if reply.is_forgotten:  # there is nothing to show or give back
            return
        self._kept_words.give_back(reply)
        if text := reply.so_far.text:
            self._kept_words.offer_reply(text)
        if reply.conversation_id is not None and reply.conversation_id == self._conversations.open_id:
            self._conversations.read(reply.conversation_id)
        self._window.toasts.show_error(sentence)

    # Helpers

    def _asked(
        self,
        order: ReplyOrder,
        conversation_id: int | None,
        incognito: bool = False,
        prompt: str | None = None,
        prompt_id: int | None = None,
        begun: str = "",
        thoughts: tuple[Thought, ...] = (),
    ) -> Answer:
        request = self._bridge.ask(self._bridge.engine.chat.answer, order)
        request.progressed.connect(self._on_progress)
        request.answered.connect(self._on_answered)
        request.failed.connect(self._on_failed)
        return Answer(request, conversation_id, incognito, prompt, prompt_id, begun, thoughts)

    def _begin_reply(self, reply: Answer) -> None:
        self._reply = reply
        self._finished = []
        self._show_speed()
        self._writing.show(self._reply)
        self._window.set_busy(True)
        self.began.emit()

    def _await(self, reply: Answer, calls: tuple[ToolCall, ...]) -> None:
        """These are about to be carried out."""
        reply.calls = calls
        for each in calls:
            self._window.transcript.calls.set_phase(each.id, CallPhase.NEXT)

    def _end_reply(self) -> None:
        self._reply = None
        self._window.transcript.calls.clear()
        self._show_speed()
        self._writing.show(self._reply)
        self._window.set_busy(False)

    def _is_shown(self, message: Message) -> bool:
        """It may have been read from the store before its own event came."""
        return any(shown.id == message.id for shown in self._window.transcript.messages)

    def _is_elsewhere(self, message: Message) -> bool:
        """Whether another branch of its conversation is shown."""
        last = next(reversed(self._window.transcript.messages), message)
        return last.conversation_id == message.conversation_id and last.id not in (message.id, message.parent_id)

    def _show_speed(self) -> None:
        """Shows the speed of the last reply, but not of the one before while another is being written."""
        answer = self._window.transcript.last_answer
        if self.is_answering:
            self._window.meter.begin_reply()
        elif answer is None:
            self._window.meter.clear()
        else:
            self._window.meter.show_reply(answer.statistics, host_words(answer.server))
