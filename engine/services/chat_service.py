"""Carries out what a user asks of the target: load it, answer, answer again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from engine.config import OwnSampling, ReplySettings, TargetOptions, TargetSettings
from engine.decoding.speculation import Speculation
from engine.drafter.choice import BUILT_IN
from engine.errors import Cancelled, ConversationMissing, NotPossible
from engine.library.loading import check_memory, effective_system_prompt
from engine.messages.commands import (
    ChatCommand,
    Command,
    Compare,
    ContinueReply,
    EditPrompt,
    LoadTarget,
    Regenerate,
    RememberMore,
    ReplyCommand,
    Send,
    UseDrafter,
)
from engine.messages.conversations import ChatTurn, Conversation, Message, Role
from engine.messages.events import (
    CompareFinished,
    ContextTrimmed,
    ConversationChanged,
    Listener,
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
from engine.messages.origins import TARGET
from engine.messages.prompts import title_of
from engine.messages.replies import OriginRun, StopReason
from engine.messages.speed import LiveFigures
from engine.messages.targets import TargetSource
from engine.replies.reply import PreparedReply, Reply, ReplyWriter
from engine.services.comparing import compare
from engine.services.learning_service import LearningService
from engine.services.recall import Recall
from engine.services.token_counter import TokenCounter
from engine.stop_signal import StopSignal
from engine.storage import Repository
from engine.target.interface import Interrupted, Target, TargetFeature
from engine.target.sources import resolve_target

_logger = logging.getLogger("slipstream.chat")

LoadSource = Callable[[TargetSource, TargetSettings, Callable[[float], None], StopSignal], Target]
Speculate = Callable[[Target, StopSignal, str], Speculation]  # the last one is the choice of a drafter


class ChatService:
    """Owns the target and everything built on it. All methods run on one thread."""

    def __init__(
        self,
        repository: Repository,
        recall: Recall,
        learning: LearningService,
        load: LoadSource,
        speculate: Speculate,
        emit: Listener,
        post: Callable[[Command], object],
        counter: TokenCounter | None = None,
    ) -> None:
        """`post` has a command of the engine's own carried out after those that wait already; `counter` is told of
        every target."""
        self._repository = repository
        self._recall = recall
        self._learning = learning
        self._post = post
        self._counter = counter or TokenCounter()
        self._load_source = load
        self._speculate = speculate
        self._emit = emit
        self._target: Target | None = None
        self._writer: ReplyWriter | None = None
        self._source: TargetSource | None = None
        self._loaded: LoadTarget | None = None  # by which the target came
        self._left: LoadTarget | None = None  # by which the one came that left graphics cards for another
        self._drafter = BUILT_IN

    def handle(self, command: ChatCommand, stop: StopSignal) -> None:
        if isinstance(command, RememberMore):  # nobody waits for it
            if command.anew:
                self._recall.begin_anew()
            if self._target is not None and self._recall.catch_up():
                self._post(RememberMore())
            return
        with self._learning.pause():
            if isinstance(command, ReplyCommand | Compare):
                self._bring_back(stop)
            match command:
                case LoadTarget():
                    self._load(command, stop)
                case Send():
                    self._send(command, stop)
                case Regenerate():
                    self._regenerate(command, stop)
                case EditPrompt():
                    self._edit(command, stop)
                case ContinueReply():
                    self._continue(command, stop)
                case UseDrafter(drafter):
                    self._use_drafter(drafter, stop)
                case Compare():
                    self._compare(command, stop)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        if self._target is not None:
            self._counter.close()
            self._target.close()
            self._target = self._writer = None

    def _load(self, command: LoadTarget, stop: StopSignal) -> None:
        """The target in use stays until the new one is ready, so that a failure changes nothing; but it leaves
        graphics cards at once, where there is rarely room for two."""
        _check_cancelled(command, stop)
        source = resolve_target(command.target, self._repository, command.identity)
        record = self._repository.target_of(source)
        has_changed = command.identity not in ("", source.identity)
        settings = TargetSettings() if has_changed else command.settings
        settings = settings.filled_up(record.options.settings) if record else settings
        settings = settings.filled_up(command.for_all)
        if not command.anyway:
            check_memory(source.path, settings, record.facts if record else "")
        self._emit(TargetLoading(source.name, 0.0))
        self._leave_cards()
        target = self._load_source(source, settings, _ProgressEvents(source.name, self._emit), stop)
        speculation: Speculation | None = None
        learned = self._learning.put_off()
        try:
            speculation = self._speculate(target, stop, self._drafter)
            writer = ReplyWriter(target, speculation)
            _check_cancelled(command, stop)
        except BaseException as error:
            if speculation is not None:
                speculation.close()
            self._learning.go_on(learned)
            target.close()
            if isinstance(error, Interrupted):
                _check_cancelled(command, stop)
            raise
        self.close()
        self._target, self._writer, self._source = target, writer, source
        self._loaded, self._left = command, None
        self._recall.open(target)
        self._counter.open(target)
        self._emit(TargetReady(_describe(source, target, speculation, settings), command))
        self._repository.remember_target(source)
        self._post(RememberMore())

    def _leave_cards(self) -> None:
        if self._target is not None and self._target.description.num_gpu_layers:
            self._left = self._loaded
            self._learning.put_off()
            self.close()

    def _bring_back(self, stop: StopSignal) -> None:
        """The target that left for another, where that one could not be loaded: the window still shows it."""
        if self._target is None and self._left is not None:
            self._load(replace(self._left, anyway=True), stop)

    def _use_drafter(self, drafter: str, stop: StopSignal) -> None:
        """The target in use stays; what it held is read anew with the next prompt."""
        self._drafter = drafter
        if self._target is None or self._writer is None:
            return
        self._writer.close()
        self._learning.put_off()
        self._target.roll_back(0)
        self._writer = ReplyWriter(self._target)  # stays if the new drafter's costs cannot be measured
        try:
            speculation = self._speculate(self._target, stop, drafter)
        except Interrupted:
            return  # the app is being closed
        self._writer = ReplyWriter(self._target, speculation)
        name = self._target.description.name
        self._emit(SpeculationChanged(name, speculation.state, speculation.is_drafting))

    def _send(self, command: Send, stop: StopSignal) -> None:
        self._ready()
        if command.conversation_id is not None:
            conversation = self._repository.open_conversation(command.conversation_id)
            self._ask(conversation, conversation.messages, command.prompt, command.settings, stop)
            return
        system_prompt = command.system_prompt
        if not command.has_own_system_prompt:
            system_prompt = effective_system_prompt(system_prompt, self._target_options())
        prepared = self._prepare_prompt(system_prompt, (), command.prompt, None)
        summary = self._repository.create_conversation(
            title_of(command.prompt), system_prompt, command.incognito, command.sampling
        )
        conversation = Conversation(summary, system_prompt, (), command.sampling)
        self._ask(conversation, (), command.prompt, command.settings, stop, prepared)

    def _edit(self, command: EditPrompt, stop: StopSignal) -> None:
        self._ready()
        conversation = self._repository.open_branch(command.conversation_id, command.message_id)
        *branch, prompt = conversation.messages
        if prompt.role is not Role.USER:
            raise ConversationMissing("Only a message of yours can be edited; choose one.")
        self._ask(conversation, tuple(branch), command.prompt, command.settings, stop)

    def _ask(
        self,
        conversation: Conversation,
        branch: tuple[Message, ...],
        text: str,
        settings: ReplySettings,
        stop: StopSignal,
        prepared: PreparedReply | None = None,
    ) -> None:
        """Keeps a prompt at the end of the branch, and answers it."""
        conversation_id = conversation.summary.id
        prepared = prepared or self._prepare_prompt(conversation.system_prompt, branch, text, conversation_id)
        parent_id = branch[-1].id if branch else None
        prompt = self._repository.add_message(conversation_id, parent_id, Role.USER, text)
        self._announce(conversation_id)
        self._emit(PromptKept(prompt, self._repository.find_siblings(prompt)))
        self._reply(replace(prepared, conversation=conversation_id), prompt, conversation, settings, stop)

    def _prepare_prompt(
        self, system_prompt: str, branch: tuple[Message, ...], text: str, conversation_id: int | None
    ) -> PreparedReply:
        """What cannot be answered raises here, and is not kept."""
        _, writer = self._ready()
        return writer.prepare([*_turns(system_prompt, branch), ChatTurn(Role.USER, text)], conversation_id)

    def _regenerate(self, command: Regenerate, stop: StopSignal) -> None:
        _, writer = self._ready()
        conversation = (
            self._repository.open_conversation(command.conversation_id)
            if command.message_id is None
            else self._repository.open_branch(command.conversation_id, command.message_id)
        )
        branch = list(conversation.messages)
        while branch and not _is_prompt(branch[-1]):
            branch.pop()
        if not branch:
            raise ConversationMissing("There is nothing to answer in this conversation yet; write a message first.")
        prepared = writer.prepare(_turns(conversation.system_prompt, branch), command.conversation_id)
        self._reply(prepared, branch[-1], conversation, command.settings, stop)

    def _continue(self, command: ContinueReply, stop: StopSignal) -> None:
        _, writer = self._ready()
        conversation = self._repository.open_conversation(command.conversation_id)
        if len(conversation.messages) < 2 or conversation.messages[-1].role is not Role.ASSISTANT:
            raise NotPossible("There is no reply to go on with at the end of this conversation; write a message first.")
        *branch, before = conversation.messages
        if not any(map(_is_prompt, branch)):  # in a chat that came from a file
            raise NotPossible("This reply answers no message of yours, so it cannot go on; write a message first.")
        turns = _turns(conversation.system_prompt, branch)
        prepared = writer.prepare(turns, command.conversation_id, before.text)
        self._reply(prepared, branch[-1], conversation, command.settings, stop, before)

    def _reply(
        self,
        prepared: PreparedReply,
        prompt: Message,
        conversation: Conversation,
        settings: ReplySettings,
        stop: StopSignal,
        before: Message | None = None,
    ) -> None:
        """`before` is the reply that is to go on. Nobody learns from what follows, as its beginning is no answer to the
        turns alone; it is remembered as any other."""
        learns = settings.learns and not conversation.summary.incognito
        settings = replace(
            self._sampled(settings, conversation.sampling),
            learns=learns and before is None,
            keeps_distributions=learns and before is None and self._learning.wants_distributions,
        )
        target, writer = self._ready()
        conversation_id = prompt.conversation_id
        events = _ReplyEvents(prompt, self._emit)
        reply = writer.write(prepared, settings, stop, events)
        if before is not None and not reply.text:
            self._end_unchanged(before, reply)
            return
        if before is not None:
            reply = _joined(before, reply)
        name, identity = target.description.name, self._source.identity if self._source else ""
        message = self._repository.add_message(
            conversation_id, prompt.id, Role.ASSISTANT, reply.text, name, reply.statistics, identity or None
        )
        self._emit(ReplyFinished(message, self._repository.find_siblings(message)))
        self._announce(conversation_id)
        if learns and before is not None:
            begun = prepared.prompt.tokens[len(prepared.prompt.tokens) - prepared.prompt.num_begun :]
            self._recall.remember_longer(before, message, (*begun, *reply.tokens), len(reply.tokens))
        elif learns:
            self._recall.remember(prompt)
            self._recall.remember(message, reply.tokens)
            self._learning.take(message, prepared.turns, reply.verified, target.vocabulary)
        if learns:
            self._post(RememberMore())
        if reply.failure is not None:
            raise reply.failure

    def _compare(self, command: Compare, stop: StopSignal) -> None:
        """Chats that have an answer to this prompt already are not recalled: repeating it would be no art."""
        _, writer = self._ready()
        conversation = self._opened(command.conversation_id)
        before = _before_last_prompt(conversation.messages) if conversation else ()
        system_prompt = conversation.system_prompt if conversation else command.system_prompt
        turns = [*_turns(system_prompt, before), ChatTurn(Role.USER, command.prompt)]
        answered = set(self._repository.conversations_with_prompt(command.prompt))
        if conversation is not None:
            answered.add(conversation.summary.id)
        settings = command.settings
        if command.sampled_as is not None:
            chat = self._opened(command.sampled_as.conversation_id)
            settings = self._sampled(settings, chat.sampling if chat else command.sampled_as.own)
        with self._recall.without(sorted(answered)):
            comparison = compare(writer, turns, replace(command, settings=settings), stop, self._emit)
        self._emit(CompareFinished(command, comparison))

    def _end_unchanged(self, before: Message, reply: Reply) -> None:
        """Nothing was added to the reply, so nothing is kept."""
        if reply.failure is not None:
            raise reply.failure
        if reply.statistics.stop_reason is StopReason.CONTEXT_FULL:
            raise NotPossible("The context of this model is full; load it with a bigger one to let the reply go on.")
        if reply.statistics.stop_reason is not StopReason.STOPPED:
            raise NotPossible("The model has nothing to add to this reply; ask it for more in a message.")
        self._emit(ReplyFinished(before, self._repository.find_siblings(before)))

    def _ready(self) -> tuple[Target, ReplyWriter]:
        if self._target is None or self._writer is None:
            raise NotPossible("No model is loaded yet; choose one, or wait until it is ready.")
        return self._target, self._writer

    def _target_options(self) -> TargetOptions:
        """What the user set for the target in use."""
        record = self._repository.target_of(self._source) if self._source else None
        return record.options if record else TargetOptions()

    def _sampled(self, settings: ReplySettings, own: OwnSampling) -> ReplySettings:
        """As replies of the target in use are, in a chat with this of its own."""
        return own.over(replace(settings, sampling=self._target_options().sampling or settings.sampling))

    def _opened(self, conversation_id: int | None) -> Conversation | None:
        return None if conversation_id is None else self._repository.open_conversation(conversation_id)

    def _announce(self, conversation_id: int) -> None:
        try:
            self._emit(ConversationChanged(self._repository.find_conversation(conversation_id)))
        except ConversationMissing:
            _logger.debug("conversation %d was deleted while it was being answered", conversation_id)


class _ReplyEvents:
    """Turns what a reply writer tells into events of one conversation."""

    def __init__(self, prompt: Message, emit: Listener) -> None:
        self._conversation_id = prompt.conversation_id
        self._prompt_id = prompt.id
        self._emit = emit

    def on_prompt(self, num_tokens: int, num_left_out: int) -> None:
        self._emit(ReplyStarted(self._conversation_id, self._prompt_id, num_tokens, num_left_out))

    def on_prompt_progress(self, num_evaluated: int, num_total: int) -> None:
        self._emit(PromptProgress(self._conversation_id, num_evaluated, num_total))

    def on_text(self, text: str, figures: LiveFigures, origins: tuple[OriginRun, ...]) -> None:
        self._emit(ReplyText(self._conversation_id, text, figures, origins))

    def on_trimmed(self, num_left_out: int) -> None:
        self._emit(ContextTrimmed(self._conversation_id, num_left_out))


class _ProgressEvents:
    """Passes on a loading's progress in whole percents; llama.cpp reports every tensor."""

    def __init__(self, name: str, emit: Listener) -> None:
        self._name = name
        self._emit = emit
        self._percent = 0

    def __call__(self, progress: float) -> None:
        percent = int(progress * 100)
        if percent > self._percent:
            self._percent = percent
            self._emit(TargetLoading(self._name, progress))


def _check_cancelled(command: LoadTarget, stop: StopSignal) -> None:
    if stop.is_set():
        raise Cancelled(f"Loading {Path(command.target).name} was cancelled.")


def _describe(source: TargetSource, target: Target, speculation: Speculation, settings: TargetSettings) -> TargetInfo:
    description = target.description
    return TargetInfo(
        name=description.name,
        path=str(source.path),
        description=description.summary,
        context_size=target.limits.context_size,
        size_bytes=description.size_bytes,
        threads=description.threads,
        notice=" ".join(_notices(target, settings)),
        speculation=speculation.state,
        awaits_drafter=speculation.is_loading,
        num_gpu_layers=description.num_gpu_layers,
        gpu=description.gpu,
        identity=source.identity,
    )


def _notices(target: Target, settings: TargetSettings) -> Iterator[str]:
    description = target.description
    if settings.gpu_layers is None and description.gpu and description.num_gpu_layers < description.num_layers:
        some = f"Only {description.num_gpu_layers} of its {description.num_layers} layers fit"
        yield (
            f"{some if description.num_gpu_layers else 'None of its layers fits'} on {description.gpu}; the rest is "
            "computed by the CPU, which takes longer. A smaller context size or quantization leaves room for more."
        )
    if not target.description.chat_template:
        yield "This model brings no chat template; ChatML is used, which may not suit it."
    if TargetFeature.ROLLBACK not in target.features:
        yield (
            "This model cannot take back what it has read: writing a reply again reads the whole chat anew, and "
            "nothing can be drafted ahead of it."
        )


def _turns(system_prompt: str, branch: tuple[Message, ...] | list[Message]) -> list[ChatTurn]:
    system = [ChatTurn(Role.SYSTEM, system_prompt)] if system_prompt.strip() else []
    return system + [ChatTurn(message.role, message.text) for message in branch if message.text]


def _is_prompt(message: Message) -> bool:
    return message.role is Role.USER and bool(message.text)


def _before_last_prompt(branch: tuple[Message, ...]) -> tuple[Message, ...]:
    places = [place for place, message in enumerate(branch) if message.role is Role.USER]
    return branch[: places[-1]] if places else ()


def _joined(before: Message, reply: Reply) -> Reply:
    """What a reply is together with that which it went on from. Its figures stay those of what is new."""
    origins = reply.statistics.origins
    if origins:
        known = before.statistics.origins if before.statistics is not None else ()
        origins = (known or (OriginRun(len(before.text), TARGET.key),)) + origins
    return replace(reply, text=before.text + reply.text, statistics=replace(reply.statistics, origins=origins))
