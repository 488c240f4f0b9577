"""Sends prompts, and shows the replies as they grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QGuiApplication

from app.engine_bridge import EngineBridge, Request
from app.features.chat.chat_tools import ChatTools
from app.features.chats.conversations import UNDO_MS, ConversationsController
from app.features.controller import Controller
from app.features.library.target import TargetController
from app.main_window import MainWindow
from app.models.conversations import title_words
from app.settings.keeper import SettingsKeeper
from app.text.places import host_words
from app.text.tool_calls import CallPhase
from app.widgets.transcript.answers import Siblings
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
from engine.values.growing_reply import Piece, ReplySoFar, TextPiece
from engine.values.orders import ContinueReply, EditPrompt, Regenerate, ReplyOrder, Send
from engine.values.prompts import MOST_FILES, MOST_PASTED, with_names
from engine.values.replies import OriginRun, Thought
from engine.values.requests import Failure
from engine.values.tools import Outcome, ToolCall


@dataclass
class _Answer:
    """What was asked, until it is answered: by one reply, or by several with calls of tools between them."""

    number: int
    request: Request[None]
    conversation_id: int | None  # None until a new conversation is stored
    incognito: bool = False  # if it begins a conversation
    prompt: str | None = None  # that was sent; None if an earlier one is answered
    prompt_id: int | None = None  # of the message being answered, once it is known: a prompt, or the result of a call
    begun: str = ""  # the reply that it continues
    thoughts: tuple[Thought, ...] = ()  # of that
    is_forgotten: bool = False  # with its conversation
    so_far: ReplySoFar = ReplySoFar()  # of the reply that is being written
    origins: list[OriginRun] = field(default_factory=list)  # of its text
    calls: tuple[ToolCall, ...] = ()  # of the reply before, that have no result yet
    is_between: bool = False  # nothing is being written: calls are carried out

    def rest(self, message: Message) -> None:
        """A part of the answer is whole, and others follow."""
        self.prompt_id, self.begun, self.thoughts = message.id, "", ()
        self.so_far, self.origins, self.is_between = ReplySoFar(), [], True


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
    other controllers decide which conversation is open and which target answers.

    Signals:
        next_chat_changed(): the next chat begins with other settings, or others are the defaults.
        began(): an answer was asked for.
        writing_began(): the first word of a reply is there.
        repeats(int): the reply that is being written, in this conversation, repeats itself without end.
        ended(object): the answer is there, or the Failure that ended it.
    """

    next_chat_changed = Signal()
    began = Signal()
    writing_began = Signal()
    repeats = Signal(int)
    ended = Signal(object)

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
        self._reply: _Answer | None = None
        self._numbers = count()
        self._tools = tools
        self._finished: list[Message] = []  # of the last answer
        self._shown_left_out = 0  # messages of the open conversation, as the user was shown
        conversations.moved.connect(self._on_moved)
        keeper.changed.connect(self.next_chat_changed)
        window.prompt_box.submitted.connect(self._send)
        window.prompt_box.stop_requested.connect(self._stop)
        window.conversations.deleted.connect(self._stop_reply_in)
        window.signs.writing_requested.connect(self._open_written)
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
        """Of the next reply in the open chat."""
        settings, target = self._keeper.settings, self._target.in_use
        thinks = None if target is None or target.thinks is None else settings.thinking.get(target.identity)
        return replace(settings.reply_settings(), thinks=thinks, tools=self._tools.chosen)

    @property
    def system_prompt(self) -> str:
        """Of all chats that begin from now on."""
        return self._keeper.settings.system_prompt

    @property
    def next_chat(self) -> NextChat | None:
        """Of the next one alone; None: the same as for all."""
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
        self._show_writing()
        if conversation_id is None:
            self._shown_left_out = 0
            self._window.transcript.clear()
            self._show_speed()

    @Slot()
    def _open_written(self) -> None:
        if self._reply is not None and self._reply.conversation_id is not None:
            self._window.conversations.chosen.emit(self._reply.conversation_id)

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
        self._show_left_out(so_far.conversation_id, so_far.num_left_out)
        if so_far.conversation_id == self._conversations.open_id:
            self._show_progress(before, so_far, pieces, reply.origins)
        if pieces and not before.num_pieces:
            self.writing_began.emit()
        if so_far.repeats and not before.repeats:
            self.repeats.emit(so_far.conversation_id)

    def _show_progress(
        self, before: ReplySoFar, so_far: ReplySoFar, pieces: Sequence[Piece], origins: list[OriginRun]
    ) -> None:
        transcript, target = self._window.transcript, self._target.in_use
        if so_far.waits_for != before.waits_for:
            transcript.show_waiting(so_far.waits_for)
        if so_far.num_read != before.num_read:
            transcript.show_prompt_progress(so_far.num_read, so_far.num_to_read)
        for piece in pieces:
            self._show_piece(piece)
        if so_far.is_calling and not before.is_calling:
            transcript.show_calling()
        if pieces and target is not None:
            host = "" if target.server is None else target.server.host
            self._window.meter.show_live(so_far.figures, target.context_size, origins, host)

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
        last = kept.messages[-1] if kept.messages else None
        if last is not None and last.statistics is not None:
            self._show_left_out(last.conversation_id, last.statistics.left_out_messages)
        self._window.transcript.column.go_to(kept.place)

    def _on_opened(self, event: ConversationOpened) -> None:
        conversation = event.conversation
        conversation_id, messages = conversation.summary.id, conversation.messages
        if conversation_id != self._conversations.open_id:
            return
        reply = self._reply
        messages = self._with_finished(conversation_id, messages)
        ids = [message.id for message in messages]
        is_answered = reply is not None and reply.prompt_id in ids
        if reply is not None and reply.prompt_id in ids:
            messages = messages[: ids.index(reply.prompt_id) + 1]  # the rest is being written again
        transcript = self._window.transcript
        shown = transcript.messages
        is_same = bool(shown) and shown[0].conversation_id == conversation_id
        (transcript.change_messages if is_same else transcript.show_messages)(messages, conversation.siblings)
        last = messages[-1] if messages else None
        self._show_speed()
        self._shown_left_out = 0
        if last is not None and last.statistics is not None:
            self._show_left_out(conversation_id, last.statistics.left_out_messages)
        if reply is not None and is_answered:
            self._show_growing(reply)

    def _with_finished(self, conversation_id: int, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """And what ended while the conversation was being read."""
        for message in self._finished:
            ids = [each.id for each in messages]
            if message.conversation_id != conversation_id or message.id in ids:
                continue
            if ids and ids[-1] == message.parent_id:
                messages = (*messages, message)
            elif self.is_answering and message.parent_id in ids:  # another branch was read, which is being left
                messages = (*messages[: ids.index(message.parent_id) + 1], message)
        return messages

    def _show_growing(self, reply: _Answer) -> None:
        transcript = self._window.transcript
        transcript.resume_answer()
        if reply.is_between and reply.calls:
            return
        transcript.begin_reply(reply.begun, reply.thoughts)
        for piece in reply.so_far.since(0):
            self._show_piece(piece)
        transcript.show_pending()
        if reply.so_far.is_calling:
            transcript.show_calling()
        if reply.so_far.waits_for:
            transcript.show_waiting(reply.so_far.waits_for)

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
        self._show_writing()
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
        """It is another message now only by its id."""
        held_id, message = event.held_id, event.message
        if self._reply is not None and self._reply.prompt_id == held_id:
            self._reply.prompt_id = message.id
        self._finished = [message if each.id == held_id else each for each in self._finished]
        if message.conversation_id == self._conversations.open_id:
            self._window.transcript.update_message(held_id, message, event.siblings)

    def _show_piece(self, piece: Piece) -> None:
        if isinstance(piece, TextPiece):
            self._window.transcript.append_reply_text(piece.text, piece.origins)
        else:
            self._window.transcript.append_thought(piece)

    def _on_finished(self, event: ReplyFinished) -> None:
        message = event.message
        if self._reply is not None and self._reply.conversation_id != message.conversation_id:
            return  # a program's, while this one waits
        if self._reply is None or not self._is_part(message):
            self._finished.clear()
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

    def _on_answered(self, number: int, _answer: None) -> None:
        self._on_ended(number)
        self.ended.emit(None)

    def _on_failed(self, number: int, failure: Failure) -> None:
        if failure.is_stopped and issubclass(failure.error, Cancelled):
            self._on_ended(number)
        elif self._reply is None or self._reply.number != number:  # the reply itself ended well
            self._window.toasts.show_error(failure.sentence)
        else:
            self._on_broken(self._reply, failure.sentence)
        self.ended.emit(failure)

    def _on_ended(self, number: int) -> None:
        """Also where the last reply called tools and none followed, or it was stopped before its first word."""
        reply = self._reply
        if reply is None or reply.number != number:
            return
        self._end_reply()
        self._window.transcript.end_answer()
        self._show_speed()
        if reply.prompt is not None and reply.prompt_id is None and not reply.is_forgotten:
            self._give_back(reply, reply.prompt)  # it was stopped before it was stored
        if not self._finished and reply.conversation_id == self._conversations.open_id is not None:
            self._conversations.read(self._conversations.open_id)  # what was to be written again is back

    def _on_broken(self, reply: _Answer, sentence: str) -> None:
        self._end_reply()
        self._window.transcript.end_answer()
        if not reply.is_forgotten:  # else there is nothing to show or give back
            self._show_stored(reply)
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
    ) -> _Answer:
        request, number = self._bridge.ask(self._bridge.engine.chat.answer, order), next(self._numbers)
        request.progressed.connect(self._on_progress)
        request.answered.connect(partial(self._on_answered, number))
        request.failed.connect(partial(self._on_failed, number))
        return _Answer(number, request, conversation_id, incognito, prompt, prompt_id, begun, thoughts)

    def _begin_reply(self, reply: _Answer) -> None:
        self._reply = reply
        self._finished = []
        self._show_speed()
        self._show_writing()
        self._window.set_busy(True)
        self.began.emit()

    def _await(self, reply: _Answer, calls: tuple[ToolCall, ...]) -> None:
        """These are about to be carried out."""
        reply.calls = calls
        for each in calls:
            self._window.transcript.calls.set_phase(each.id, CallPhase.NEXT)

    def _end_reply(self) -> None:
        self._reply = None
        self._window.transcript.calls.clear()
        self._show_speed()
        self._show_writing()
        self._window.set_busy(False)

    def _show_stored(self, reply: _Answer) -> None:
        """After a failure: the prompt at least, and the reply that was there before regenerating."""
        if reply.prompt is not None and reply.prompt_id is None:
            self._give_back(reply, reply.prompt)
        if text := reply.so_far.text:
            self._offer_copy(self.tr("The unfinished reply was not kept."), text)
        if reply.conversation_id is not None and reply.conversation_id == self._conversations.open_id:
            self._conversations.read(reply.conversation_id)

    def _give_back(self, reply: _Answer, prompt: str) -> None:
        """To the prompt box, but never in another chat."""
        open_id = self._conversations.open_id
        is_same_kind = open_id is not None or reply.incognito == self._conversations.is_incognito
        fits = len(prompt) <= MOST_FILES * MOST_PASTED
        if fits and reply.conversation_id == open_id and is_same_kind and not self._window.prompt_box.text:
            self._window.prompt_box.set_text(prompt)
        else:
            self._offer_copy(self.tr("Your message was not sent."), with_names(prompt))

    def _offer_copy(self, sentence: str, text: str) -> None:
        self._window.toasts.show_info(
            sentence, self.tr("Copy it"), lambda: QGuiApplication.clipboard().setText(text), UNDO_MS
        )

    def _is_shown(self, message: Message) -> bool:
        """It may have been read from the store before its own event came."""
        return any(shown.id == message.id for shown in self._window.transcript.messages)

    def _is_part(self, message: Message) -> bool:
        """Whether it goes on with the answer that is being written."""
        return bool(self._finished) and self._finished[-1].id == message.parent_id

    def _is_elsewhere(self, message: Message) -> bool:
        """Whether another branch of its conversation is shown."""
        shown = self._window.transcript.messages
        return (
            bool(shown) and shown[-1].conversation_id == message.conversation_id and shown[-1].id != message.parent_id
        )

    def _show_left_out(self, conversation_id: int, num_left_out: int) -> None:
        """Once each time that more messages leave the context."""
        if conversation_id != self._conversations.open_id or num_left_out <= self._shown_left_out:
            return
        self._shown_left_out = num_left_out
        words = self.tr(
            "The (oldest message no longer fits|%n oldest messages no longer fit) into the model's context; it no "
            "longer sees (it|them).",
            "",
            num_left_out,
        )
        self._window.transcript.show_note(words)

    def _show_writing(self) -> None:
        """In the list, which chat a reply is written in; beside the model's name, the way there from another."""
        written = None if self._reply is None else self._reply.conversation_id
        self._window.conversations.set_written(written)
        summary = None if written is None else self._window.conversations.model.find(written)
        words = ""
        if summary is not None and written != self._conversations.open_id:
            words = self.tr("Go to “{title}”, where a reply is being written").format(title=title_words(summary.title))
        self._window.signs.writing.tell(words)

    def _show_speed(self) -> None:
        """Of the reply that is shown last; nothing of the one before, while another is being written."""
        answer = self._window.transcript.last_answer
        if self.is_answering:
            self._window.meter.begin_reply()
        elif answer is None:
            self._window.meter.clear()
        else:
            self._window.meter.show_reply(answer.statistics, host_words(answer.server))
