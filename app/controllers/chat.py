"""Decides what the window shows when the engine tells something, and what the engine does when the user wants
something."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication

from app.engine_bridge import EngineBridge
from app.main_window import MainWindow
from engine import (
    STARTER,
    AddTargets,
    ChangeTargetOptions,
    ChatSampling,
    CheckForUpdate,
    Compare,
    ContinueReply,
    CountTokens,
    DeleteConversation,
    DiscardDownload,
    DownloadTarget,
    EditPrompt,
    EstimateMemory,
    FetchDrafter,
    ForgetConversation,
    ImportConversations,
    KeepDraft,
    ListConversations,
    ListDownloads,
    ListHubFiles,
    ListTargets,
    LoadTarget,
    OpenConversation,
    OwnSampling,
    PersonalCommand,
    ReadHistory,
    ReadRuntime,
    Regenerate,
    RemoveTarget,
    RenameConversation,
    ReplySettings,
    RestoreConversation,
    SearchHub,
    Send,
    StopSignal,
    TargetSettings,
)
from engine.messages.conversations import Conversation, ConversationSummary, Message
from engine.messages.events import (
    ContextTrimmed,
    ConversationChanged,
    ConversationDeleted,
    ConversationForgotten,
    ConversationOpened,
    ConversationsListed,
    Event,
    EverythingForgotten,
    Failed,
    PromptKept,
    PromptProgress,
    ReplyFinished,
    ReplyStarted,
    ReplyText,
    SpeculationChanged,
    TargetInfo,
    TargetLoading,
    TargetReady,
)
from engine.messages.replies import OriginRun

_UNDO_MS = 20_000  # after that, the menu still brings a deleted conversation back
# Where drafters, models and files are chosen, and where figures are asked for; what nobody asked for, nobody misses.
_TOLD_ELSEWHERE = (
    FetchDrafter
    | ImportConversations
    | CountTokens
    | KeepDraft
    | ReadHistory
    | Compare
    | PersonalCommand
    | ListTargets
    | AddTargets
    | RemoveTarget
    | ChangeTargetOptions
    | EstimateMemory
    | SearchHub
    | ListHubFiles
    | DownloadTarget
    | DiscardDownload
    | ListDownloads
    | CheckForUpdate
    | ReadRuntime
)


@dataclass
class _ReplyUnderWay:
    stop: StopSignal
    conversation_id: int | None  # None until a new conversation is kept
    incognito: bool = False  # where it begins a conversation
    prompt_id: int | None = None  # of the message being answered, once it is known
    is_forgotten: bool = False  # with its conversation
    begun: str = ""  # the reply that it goes on from
    pieces: list[str] = field(default_factory=list)
    origins: list[OriginRun] = field(default_factory=list)  # of the pieces


@dataclass
class _Loading:
    command: LoadTarget
    stop: StopSignal
    chosen: bool = False  # by the user, in the window


@dataclass(frozen=True)
class NextChat:
    """What a chat that is not begun yet is to have of its own."""

    system_prompt: str
    sampling: OwnSampling


class ChatController(QObject):
    """Connects one window with one engine.

    Signals:
        moved(int | None): another conversation is open, or None: a new chat.
        begun(int): the new chat is kept, under this id.
        loading_begun(TargetSettings): a target is being loaded, with these settings for all.
    """

    moved = Signal(object)
    begun = Signal(int)
    loading_begun = Signal(TargetSettings)

    def __init__(
        self,
        window: MainWindow,
        bridge: EngineBridge,
        reply_settings: ReplySettings,
        target_settings: TargetSettings,
        system_prompt: str,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._window = window
        self._bridge = bridge
        self._reply_settings = reply_settings
        self._target_settings = target_settings
        self._system_prompt = system_prompt
        self._own_settings: dict[str, TargetSettings] = {}  # of single targets, by name or path
        self._target: TargetInfo | None = None
        self._loading: _Loading | None = None
        self._open_id: int | None = None
        self._incognito = False  # what is open, or begins with the next prompt
        self._reply: _ReplyUnderWay | None = None
        self._last_finished: Message | None = None
        self._deleted: list[ConversationSummary] = []  # can be brought back until the next start
        self._has_listed = False  # the conversations, at least once
        self._told_left_out = 0  # messages of the open conversation that the user knows to be left out
        self.next_chat: NextChat | None = None  # for one new chat; None: as all
        self.chosen_target: str | None = None  # in this window; None: the choice of before stands
        self._connect()

    @property
    def is_incognito(self) -> bool:
        """Whether what is open, or begins with the next prompt, leaves no trace."""
        return self._incognito

    def set_reply_settings(self, settings: ReplySettings) -> None:
        """From the next reply on."""
        self._reply_settings = settings

    def set_system_prompt(self, system_prompt: str) -> None:
        """Of chats that begin from now on."""
        self._system_prompt = system_prompt

    def set_target_settings(self, settings: TargetSettings) -> None:
        """From the next loading on."""
        self._target_settings = settings

    @Slot()
    def load_again(self) -> None:
        """The target in use, or the one being loaded, with the settings that hold now."""
        if self._loading is not None:
            chosen = self._loading.chosen
            self.load_target(self._loading.command.target)
            self._loading.chosen = chosen
        elif self._target is not None:
            self.load_target(self._target.path)

    def start(self, target: str) -> None:
        """Lists what was kept and loads the target."""
        self._bridge.post(ListConversations())
        self.load_target(target)

    @property
    def open_id(self) -> int | None:
        """Of the conversation that is shown; None for a new chat."""
        return self._open_id

    @property
    def sampling(self) -> ChatSampling:
        """Where the chat that is shown has its own sampling from."""
        return ChatSampling(self._open_id, self.next_chat.sampling if self.next_chat else OwnSampling())

    @property
    def reply_settings(self) -> ReplySettings:
        return self._reply_settings

    @property
    def system_prompt(self) -> str:
        return self._system_prompt

    @property
    def is_answering(self) -> bool:
        """Whether the conversation that is shown is being answered."""
        return self._reply is not None and self._reply.conversation_id == self._open_id

    def answer(
        self, command: Regenerate | EditPrompt | ContinueReply, prompt_id: int | None = None, begun: str = ""
    ) -> bool:
        """Has a reply written in the conversation that is shown, unless one is under way or no model is there.
        `prompt_id` is of the message that is answered, where it is kept already, and `begun` the reply that it goes on
        from."""
        if self._reply is not None:
            self._window.toasts.show_info(self.tr("Wait for the reply to end, or stop it with Esc."))
            return False
        if self._target is None:
            self._window.toasts.show_info(self.tr("The model is still loading; try again when it is ready."))
            return False
        stop = self._bridge.post(command)
        self._begin_reply(_ReplyUnderWay(stop, self._open_id, prompt_id=prompt_id, begun=begun))
        return True

    @Slot(str)
    def load_target(self, target: str, anyway: bool = False) -> None:
        self._cancel_loading()
        own = self._own_settings.get(target, TargetSettings())
        command = LoadTarget(target, own, anyway, self._target_settings)
        self._loading = _Loading(command, self._bridge.post(command))
        self.loading_begun.emit(self._target_settings)
        if self._reply is None:
            self._window.target_bar.show_loading(Path(target).stem, 0.0)
        else:
            self._window.target_bar.show_waiting(Path(target).stem)
        self._window.prompt_box.set_ready(False)  # a prompt sent now would wait, unseen, for the new target

    @Slot(dict)
    def use_own_settings(self, settings: dict[str, TargetSettings]) -> None:
        """What holds for single targets when they are loaded, by path; the starter's also by its name."""
        self._own_settings = settings

    def _connect(self) -> None:
        window = self._window
        self._bridge.happened.connect(self._on_event, Qt.ConnectionType.QueuedConnection)
        window.prompt_box.submitted.connect(self._send)
        window.prompt_box.stop_requested.connect(self._stop)
        window.conversations.new_requested.connect(self._begin_chat)
        window.conversations.incognito_requested.connect(self._begin_incognito)
        window.conversations.chosen.connect(self._open)
        window.conversations.renamed.connect(self._rename)
        window.conversations.deleted.connect(self._delete)
        window.restore_action.triggered.connect(self._bring_back)
        window.starter_action.triggered.connect(self._use_starter)
        window.target_bar.target_chosen.connect(self.choose_target)
        window.target_bar.cancel_requested.connect(self._cancel_loading)
        window.prompt_box.set_ready(False)

    # What the user wants

    @Slot(str)
    def _send(self, prompt: str) -> None:
        new = self.next_chat or NextChat(self._system_prompt, OwnSampling())
        incognito = self._incognito and self._open_id is None
        command = Send(
            prompt,
            self._open_id,
            self._reply_settings,
            new.system_prompt,
            incognito,
            new.sampling,
            has_own_system_prompt=new.system_prompt != self._system_prompt,
        )
        stop = self._bridge.post(command)
        self._begin_reply(_ReplyUnderWay(stop, self._open_id, incognito))

    @Slot()
    def _stop(self) -> None:
        if self._reply is not None:
            self._reply.stop.set()

    @Slot()
    def _begin_chat(self) -> None:
        self._begin(incognito=False)

    @Slot()
    def _begin_incognito(self) -> None:
        self._begin(incognito=True)

    def _begin(self, incognito: bool) -> None:
        self._open_id = None
        self._show_incognito(incognito)
        self._told_left_out = 0
        self._window.conversations.set_chosen(None)
        self._window.transcript.clear()
        self._window.meter.clear()
        self.moved.emit(None)

    @Slot(int)
    def _open(self, conversation_id: int) -> None:
        if conversation_id != self._open_id:
            self._open_id = conversation_id
            self._window.conversations.set_chosen(conversation_id)
            self._bridge.post(OpenConversation(conversation_id))
            self.moved.emit(conversation_id)

    @Slot(int, str)
    def _rename(self, conversation_id: int, title: str) -> None:
        self._bridge.post(RenameConversation(conversation_id, title))

    @Slot(int)
    def _delete(self, conversation_id: int) -> None:
        if self._reply is not None and self._reply.conversation_id == conversation_id:
            self._reply.stop.set()
        self._bridge.post(DeleteConversation(conversation_id))

    @Slot()
    def _bring_back(self) -> None:
        if self._deleted:
            self._restore(self._deleted[-1])

    @Slot()
    def _use_starter(self) -> None:
        self.choose_target(STARTER)

    @Slot(str)
    @Slot(str, bool)
    def choose_target(self, target: str, anyway: bool = False) -> None:
        """The user's own choice: the next start will load it too."""
        self.load_target(target, anyway)
        if self._loading is not None:
            self._loading.chosen = True

    @Slot()
    def _cancel_loading(self) -> None:
        if self._loading is None:
            return
        self._loading.stop.set()
        if self._reply is not None and self._target is not None:  # it waits, and would be told of only after the reply
            self._loading = None
            self._window.target_bar.set_target(self._target)
            self._window.prompt_box.set_ready(True)

    # What the engine tells

    @Slot(object)
    def _on_event(self, event: Event) -> None:
        match event:
            case TargetLoading(name, progress):
                self._window.target_bar.show_loading(name, progress)
            case TargetReady(target, command):
                self._on_target_ready(target, command)
            case SpeculationChanged(name, sentence):
                if self._target is not None and self._target.name == name:
                    self._window.meter.set_words(sentence)
            case ConversationsListed(conversations):
                self._has_listed = True
                self._window.conversations.set_conversations(conversations)
            case ConversationChanged(summary):
                self._window.conversations.upsert(summary)
            case ConversationDeleted(summary):
                self._on_deleted(summary)
            case EverythingForgotten():
                self._on_everything_forgotten()
            case ConversationOpened(conversation):
                if conversation.summary.id == self._open_id:
                    self._show_incognito(conversation.summary.incognito)
                self._on_opened(conversation)
            case ConversationForgotten(summary):
                self._on_forgotten(summary)
            case PromptKept(message, siblings):
                self._on_prompt_kept(message, siblings)
            case ReplyStarted():
                if self._reply is not None:
                    self._reply.prompt_id = event.parent_id
                self._tell_left_out(event.conversation_id, event.left_out_messages)
            case ContextTrimmed(conversation_id, left_out_messages):
                self._tell_left_out(conversation_id, left_out_messages)
            case PromptProgress():
                if event.conversation_id == self._open_id:
                    self._window.transcript.show_prompt_progress(event.num_evaluated, event.num_total)
            case ReplyText():
                self._on_text(event)
            case ReplyFinished(message, siblings):
                self._on_reply_finished(message, siblings)
            case Failed():
                self._on_failed(event)

    def _on_target_ready(self, target: TargetInfo, command: LoadTarget) -> None:
        self._target = target
        if self._loading is not None and self._loading.command is not command:
            return  # another one was chosen meanwhile, and is being loaded now
        if self._loading is not None and self._loading.chosen:
            self.chosen_target = STARTER if command.target == STARTER else target.path
            self._window.toasts.clear_errors()
        self._loading = None
        window = self._window
        window.target_bar.set_target(target)
        window.prompt_box.set_target_name(target.name)
        window.prompt_box.set_ready(True)
        window.meter.set_words(target.speculation)
        if target.notice:
            window.toasts.show_info(target.notice)

    def _on_deleted(self, summary: ConversationSummary) -> None:
        self._take_away(summary)
        self._deleted.append(summary)
        self._window.restore_action.setEnabled(True)
        undo = partial(self._restore, summary)
        words = self.tr("“{title}” was deleted.").format(title=summary.title)
        self._window.toasts.show_info(words, self.tr("Undo"), undo, _UNDO_MS)

    def _on_everything_forgotten(self) -> None:
        self._deleted.clear()
        self._last_finished = None
        self.next_chat = None
        self._window.restore_action.setEnabled(False)
        self._window.toasts.clear()  # some of them would bring a conversation back
        self._window.prompt_box.set_text("")
        self._begin_chat()

    def _on_forgotten(self, summary: ConversationSummary) -> None:
        if self._reply is not None and self._reply.conversation_id == summary.id:
            self._reply.stop.set()
            self._reply.is_forgotten = True
        self._take_away(summary)

    def _take_away(self, summary: ConversationSummary) -> None:
        was_open = summary.id == self._open_id
        self._window.conversations.remove(summary.id)
        if was_open:
            self._begin_chat()

    def _on_opened(self, conversation: Conversation) -> None:
        conversation_id, messages = conversation.summary.id, conversation.messages
        if conversation_id != self._open_id:
            return  # the user has moved on
        reply, finished = self._reply, self._last_finished
        ids = [message.id for message in messages]
        if reply is not None and reply.prompt_id in ids:
            messages = messages[: ids.index(reply.prompt_id) + 1]  # what follows is being written anew
        elif finished is not None and ids and finished.parent_id == ids[-1]:
            messages = (*messages, finished)  # it ended while the conversation was being read
        transcript = self._window.transcript
        shown = transcript.messages
        is_same = bool(shown) and shown[0].conversation_id == conversation_id
        (transcript.change_messages if is_same else transcript.show_messages)(messages, conversation.siblings)
        self._window.conversations.set_chosen(conversation_id)
        last = messages[-1] if messages else None
        self._window.meter.clear()
        self._show_statistics(last)
        self._told_left_out = 0
        if last is not None and last.statistics is not None:
            self._tell_left_out(conversation_id, last.statistics.left_out_messages)
        if reply is not None and reply.prompt_id in ids:
            transcript.begin_reply(reply.begun)
            transcript.append_reply_text("".join(reply.pieces), tuple(reply.origins))

    def _on_prompt_kept(self, message: Message, siblings: tuple[int, ...]) -> None:
        reply = self._reply
        if reply is None:
            return
        if reply.conversation_id is None and self._open_id is None:
            self._open_id = message.conversation_id
            self._show_incognito(reply.incognito)
            self._window.conversations.set_chosen(message.conversation_id)
            self.begun.emit(message.conversation_id)
        if reply.conversation_id is None:
            self.next_chat = None  # also where the user has gone elsewhere meanwhile
        reply.conversation_id = message.conversation_id
        reply.prompt_id = message.id
        self._window.toasts.clear_errors()
        if message.conversation_id != self._open_id:
            return
        if not self._is_shown(message):
            if not self._window.transcript.cut_after(message.parent_id):
                self._bridge.post(OpenConversation(message.conversation_id))  # another branch is shown
                return
            self._window.transcript.append_message(message, siblings)
        self._window.transcript.begin_reply()

    def _on_text(self, event: ReplyText) -> None:
        if self._reply is not None:
            self._reply.pieces.append(event.text)
            self._reply.origins += event.origins
        if event.conversation_id == self._open_id:
            self._window.transcript.append_reply_text(event.text, event.origins)
            if self._target is not None:
                self._window.meter.show_live(event.figures, self._target.context_size)

    def _on_reply_finished(self, message: Message, siblings: tuple[int, ...]) -> None:
        self._last_finished = message
        self._end_reply()
        if message.conversation_id == self._open_id and not self._is_shown(message):
            if self._is_elsewhere(message):
                self._bridge.post(OpenConversation(message.conversation_id))
                return
            self._window.transcript.finish_reply(message, siblings)
            self._show_statistics(message)

    def _on_failed(self, event: Failed) -> None:
        window = self._window
        if isinstance(event.command, _TOLD_ELSEWHERE):
            return
        match event.command:
            case Send() | Regenerate() | EditPrompt() | ContinueReply() if self._reply and self._reply.is_forgotten:
                self._end_reply()  # there is nothing to tell, and nothing to bring back
                return
            case LoadTarget():
                self._on_loading_failed(event.command, event.sentence)
                return
            case Send(prompt):
                if self._reply is not None and self._reply.prompt_id is None:
                    self._give_back(prompt, self._reply)
                self._on_reply_failed()
            case Regenerate() | EditPrompt() | ContinueReply():
                self._on_reply_failed()
            case OpenConversation(conversation_id) if conversation_id == self._open_id:
                self._begin_chat()
                self._bridge.post(ListConversations())
            case RenameConversation() | DeleteConversation() | RestoreConversation() | ForgetConversation():
                self._bridge.post(ListConversations())  # what is shown may not be what is kept
            case ListConversations() if not self._has_listed:
                return  # told in a window of its own
            case _:
                pass
        window.toasts.show_error(event.sentence)

    def _give_back(self, prompt: str, reply: _ReplyUnderWay) -> None:
        """Nothing the user wrote is lost, and nothing gets into another chat."""
        is_same = reply.conversation_id == self._open_id and (
            self._open_id is not None or reply.incognito == self._incognito
        )
        if is_same and not self._window.prompt_box.text:
            self._window.prompt_box.set_text(prompt)
        else:
            copy = partial(QGuiApplication.clipboard().setText, prompt)
            self._window.toasts.show_info(self.tr("A message was not sent."), self.tr("Copy it"), copy, _UNDO_MS)

    def _on_reply_failed(self) -> None:
        """Shows what was kept: the prompt at least, and after regenerating the reply that was there before."""
        reply = self._reply
        self._end_reply()
        if reply is not None and reply.pieces:  # it could not be kept; it is still the user's
            text = "".join(reply.pieces)
            self._window.toasts.show_info(
                self.tr("The unfinished reply was not kept."),
                self.tr("Copy it"),
                lambda: QGuiApplication.clipboard().setText(text),
                _UNDO_MS,
            )
        if reply is not None and reply.conversation_id is not None and reply.conversation_id == self._open_id:
            self._bridge.post(OpenConversation(reply.conversation_id))

    def _on_loading_failed(self, command: LoadTarget, sentence: str) -> None:
        if self._loading is None or self._loading.command is not command:
            return  # another one was chosen meanwhile
        cancelled = self._loading.stop.is_set()
        self._loading = None
        window = self._window
        window.target_bar.set_target(self._target)
        if cancelled:
            window.toasts.show_info(sentence)
        else:
            window.toasts.show_error(sentence)
        if self._target is not None:
            window.prompt_box.set_ready(True)
            return
        window.prompt_box.set_ready(False, sentence)
        if command.target != STARTER and not cancelled:
            self.load_target(STARTER)

    # Helpers

    def _restore(self, summary: ConversationSummary) -> None:
        """Brings a deleted conversation back and shows it."""
        self._deleted = [other for other in self._deleted if other.id != summary.id]
        self._window.restore_action.setEnabled(bool(self._deleted))
        self._bridge.post(RestoreConversation(summary.id))
        self._open(summary.id)

    def _show_incognito(self, incognito: bool) -> None:
        self._incognito = incognito
        self._window.incognito_banner.setVisible(incognito)

    def _begin_reply(self, reply: _ReplyUnderWay) -> None:
        self._reply = reply
        self._window.set_busy(True)

    def _end_reply(self) -> None:
        self._reply = None
        self._window.meter.rest()
        self._window.set_busy(False)

    def _is_shown(self, message: Message) -> bool:
        """It may have been read from the store before its own event came."""
        return any(shown.id == message.id for shown in self._window.transcript.messages)

    def _is_elsewhere(self, message: Message) -> bool:
        """Whether another branch of its conversation is shown."""
        shown = self._window.transcript.messages
        return (
            bool(shown) and shown[-1].conversation_id == message.conversation_id and shown[-1].id != message.parent_id
        )

    def _tell_left_out(self, conversation_id: int, num_left_out: int) -> None:
        """Once for every time that more messages leave."""
        if conversation_id == self._open_id and num_left_out > self._told_left_out:
            self._told_left_out = num_left_out
            if num_left_out == 1:
                words = self.tr(
                    "The oldest message no longer fits into the model's context; it does not see them any more."
                )
            else:
                words = self.tr(
                    "The %n oldest messages no longer fit into the model's context; it does not see them any more.",
                    "",
                    num_left_out,
                )
            self._window.transcript.show_note(words)

    def _show_statistics(self, message: Message | None) -> None:
        if message is None or message.statistics is None:
            self._window.meter.clear()
        else:
            self._window.meter.show_reply(message.statistics)
