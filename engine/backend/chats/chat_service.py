"""Answers prompts, again or further if the user asks, and stores the replies."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile

from engine.backend.chats.answering import Answering
from engine.backend.chats.calling import Calling, fitted, fitted_anywhere
from engine.backend.chats.embedding import Embedding
from engine.backend.chats.message_keeper import MessageKeeper, ReplyToKeep
from engine.backend.chats.open_chats import OpenChats
from engine.backend.chats.prompt_cache_keeper import PromptCacheKeeper
from engine.backend.chats.reply_events import ReplyEvents
from engine.backend.chats.target_in_use import TargetInUse
from engine.backend.chats.turns import check_own, is_prompt
from engine.backend.storage import Repository
from engine.backend.teaching.learning_service import LearningService
from engine.backend.teaching.recall import Recall
from engine.speculation.model.interface import Interrupted
from engine.speculation.model.loading import effective_system_prompt
from engine.speculation.replies.run import PreparedReply
from engine.speculation.replies.thoughts import joined_replies
from engine.speculation.replies.writing import AnyWriter, Prepared, Reply
from engine.values.commands import (
    Answer,
    ChatCommand,
    ContinueReply,
    EditPrompt,
    Embed,
    Regenerate,
    ReplyCommand,
    Send,
)
from engine.values.config import OwnSampling, ReplySettings
from engine.values.conversations import Conversation, Message, Role
from engine.values.errors import Cancelled, ConversationMissing, NotPossible, PromptTooLong
from engine.values.events import ConversationChanged, Listener, PromptStored, ReplyFinished
from engine.values.logged import Loggable
from engine.values.origins import TARGET
from engine.values.replies import OriginRun, ReplyStatistics, StopReason, Thought
from engine.values.stop_signal import StopSignal
from engine.values.tools import MOST_TURNS, Tool

_logger = logging.getLogger("slipstream.chat")
_LEFT_OUT = "[This result is left out, because the context is full.]"


@dataclass(frozen=True)
class ChatService:
    """Carries out commands that need the target: prompts, replies, comparisons. All methods run on one thread."""

    _repository: Repository
    _recall: Recall
    _learning: LearningService
    target: TargetInUse
    _keeper: MessageKeeper
    _chats: OpenChats
    _prompt_cache: PromptCacheKeeper
    _calling: Calling
    _answering: Answering
    embedding: Embedding
    _keep_part: Callable[[ReplyToKeep], object]  # `MessageKeeper.keep` on its thread
    _emit: Listener
    _catch_up: Callable[[], object]  # `Upkeep.catch_up` on its thread

    def handle(self, command: ChatCommand, stop: StopSignal) -> None:
        with self._learning.pause():
            match command:
                case Answer():
                    self._answering.answer(command, stop)
                case Embed():
                    self.embedding.embed(command, stop)
                case ReplyCommand():
                    self.target.require(stop)
                    self.target.check_agreed()
                    self._prompt_cache.begin()
                    with self.target.watched(), _heard():
                        self._write(command, stop)
                    self.target.prove()

    def _write(self, command: ReplyCommand, stop: StopSignal) -> None:
        match command:
            case Send() | EditPrompt() if (ahead := self._keeper.take_ahead(stop)) is not None:
                self._answer_ahead(command, ahead, stop)
            case Send():
                self._send(command, stop)
            case Regenerate():
                self._regenerate(command, stop)
            case EditPrompt():
                self._edit(command, stop)
            case ContinueReply():
                self._continue(command, stop)

    @property
    def _writer(self) -> AnyWriter:
        return self.target.loaded.writer

    def _send(self, command: Send, stop: StopSignal) -> None:
        if command.conversation_id is not None:
            conversation = self._chats.open(command.conversation_id)
            self._ask(conversation, conversation.messages, command, stop)
            return
        system_prompt = command.system_prompt
        if not command.has_own_system_prompt:
            system_prompt = effective_system_prompt(system_prompt, self.target.options)
        offer = self._offer(command.settings, command.sampling, stop)
        prepared = self._prepare_prompt(system_prompt, (), command, None, offer)
        summary = self._keeper.begin(command, system_prompt, stop.is_set)
        conversation = Conversation(summary, system_prompt, (), command.sampling)
        self._ask(conversation, (), command, stop, (prepared, offer))

    def _edit(self, command: EditPrompt, stop: StopSignal) -> None:
        conversation = self._chats.open_branch(command.conversation_id, command.message_id)
        *branch, prompt = conversation.messages
        check_own(prompt)
        self._ask(conversation, branch, command, stop)

    def _answer_ahead(self, command: Send | EditPrompt, prompt: Message, stop: StopSignal) -> None:
        """The prompt was stored while it waited, whatever branch is shown by now. A new conversation has the system
        prompt of the target in use now."""
        conversation_id = prompt.conversation_id
        self._chats.turns(conversation_id).asked(command.prompt)  # raises where its pictures are not seen
        if isinstance(command, Send) and command.conversation_id is None and not command.has_own_system_prompt:
            told = effective_system_prompt(command.system_prompt, self.target.options)
            conversation = self._chats.open(conversation_id)
            if conversation.system_prompt == command.system_prompt != told:
                self._repository.change_conversation(conversation_id, told, conversation.sampling)
        message_id = prompt.id if prompt.id > 0 else None  # what the store still refuses ends the branch that is shown
        self._regenerate(Regenerate(conversation_id, command.settings, message_id), stop)

    def _ask(
        self,
        conversation: Conversation,
        branch: Sequence[Message],
        command: Send | EditPrompt,
        stop: StopSignal,
        begun: tuple[Prepared, _Offer] | None = None,
    ) -> None:
        """Stores a prompt at the end of the branch, and answers it."""
        conversation_id = conversation.summary.id
        if begun is None:
            offer = self._offer(command.settings, conversation.sampling, stop)
            prepared = self._prepare_prompt(conversation.system_prompt, branch, command, conversation_id, offer)
        else:
            prepared, offer = begun
        parent_id = branch[-1].id if branch else None
        prompt = self._keeper.add_prompt(conversation_id, parent_id, command.prompt, command.pictures)
        self._announce(conversation_id)
        self._emit(PromptStored(prompt, self._keeper.siblings_of(prompt)))
        prepared = replace(prepared, conversation=conversation_id)
        self._answer(prepared, [*branch, prompt], conversation, offer, stop)

    def _prepare_prompt(
        self,
        system_prompt: str,
        branch: Sequence[Message],
        command: Send | EditPrompt,
        conversation_id: int | None,
        offer: _Offer,
    ) -> Prepared:
        """Raises if the prompt cannot be answered; it must not be stored then."""
        turns = self._chats.turns(conversation_id, command.pictures)
        asked = [*turns.of(system_prompt, branch), turns.asked(command.prompt)]
        prepared: Prepared = self._writer.prepare(asked, conversation_id, thinks=offer.thinks, tools=offer.tools)
        return prepared

    def _regenerate(self, command: Regenerate, stop: StopSignal) -> None:
        conversation = (
            self._chats.open(command.conversation_id)
            if command.message_id is None
            else self._chats.open_branch(command.conversation_id, command.message_id)
        )
        branch = list(conversation.messages)
        while branch and not is_prompt(branch[-1]):
            branch.pop()
        if not branch:
            raise ConversationMissing("There is nothing to answer in this chat yet; write a message first.")
        offer = self._offer(command.settings, conversation.sampling, stop)
        prepared = self._prepare_next(conversation, branch, offer)
        self._answer(prepared, branch, conversation, offer, stop, seed=command.seed)

    def _continue(self, command: ContinueReply, stop: StopSignal) -> None:
        conversation = self._chats.open(command.conversation_id)
        if len(conversation.messages) < 2 or conversation.messages[-1].role not in (Role.ASSISTANT, Role.TOOL):
            raise NotPossible("There is no reply to continue in this chat; write a message first.")
        *branch, before = conversation.messages
        if not any(map(is_prompt, branch)):  # in a chat that came from a file
            raise NotPossible(
                "This reply answers none of your messages, so it cannot be continued; write a message first."
            )
        offer = self._offer(command.settings, conversation.sampling, stop)
        if before.calls or before.role is Role.TOOL:
            self._go_on(list(conversation.messages), conversation, offer, stop)
            return
        turns = self._chats.turns(command.conversation_id).of(conversation.system_prompt, branch)
        prepared = self._writer.prepare(
            turns, command.conversation_id, before.text, before.thoughts, offer.thinks, offer.tools
        )
        self._answer(prepared, branch, conversation, offer, stop, before)

    def _offer(self, settings: ReplySettings, own: OwnSampling, stop: StopSignal) -> _Offer:
        """How a reply is to be written, in a chat with that sampling of its own. Raises NotPossible where tools are
        wanted that cannot be called, and Cancelled when it is stopped while their servers are started."""
        sampled = self._chats.sampled(settings, own)
        if settings.tools and not self._writer.calls_tools:
            raise NotPossible(
                "{target_name} cannot use tools: its chat template has no place for them. Switch tools off for this "
                "chat, or choose another model.",
                target_name=self._writer.target_name,
            )
        if settings.tools and sampled.sampling.grammar.strip():
            raise NotPossible(
                "Tools cannot be called in this chat, because its replies have a set format; remove the format in "
                "the chat's settings, or switch tools off."
            )
        return _Offer(settings, sampled.asks_to_think, self._calling.offered(settings.tools, stop))

    def _answer(
        self,
        prepared: Prepared,
        branch: Sequence[Message],
        conversation: Conversation,
        offer: _Offer,
        stop: StopSignal,
        before: Message | None = None,
        seed: int | None = None,
    ) -> None:
        """Writes the reply, carries out what it calls, writes the next, until one calls nothing."""
        reply = self._reply(prepared, branch[-1:], conversation, offer.settings, stop, before, seed)
        if reply is not None and reply.calls:
            self._go_on([*branch, reply], conversation, offer, stop)

    def _go_on(self, branch: list[Message], conversation: Conversation, offer: _Offer, stop: StopSignal) -> None:
        """From a branch that ends with calls, or with results."""
        local = self.target.local
        fit = fitted_anywhere if local is None else partial(fitted, local.target)
        for _ in range(MOST_TURNS):
            *_, reply = (each for each in branch if each.role is Role.ASSISTANT)
            done = {each.result.call for each in branch if each.result is not None}
            calls = tuple(each for each in reply.calls if each not in done)
            branch += self._calling.carry_out(conversation, reply, branch[-1], calls, offer.tools, fit, stop)
            if stop.is_set():
                return
            prepared = self._prepare_next(conversation, branch, offer)
            results = [*takewhile(lambda each: each.role is Role.TOOL, reversed(branch))][::-1]
            next_one = self._reply(prepared, results, conversation, offer.settings, stop)
            if next_one is None or not next_one.calls:
                return
            branch.append(next_one)

    def _prepare_next(self, conversation: Conversation, branch: Sequence[Message], offer: _Offer) -> Prepared:
        """Where results leave no room, the oldest of this answer are told no more. Raises what `prepare` raises."""
        number = conversation.summary.id
        told = list(branch)
        while True:
            turns = self._chats.turns(number).of(conversation.system_prompt, told)
            try:
                prepared: Prepared = self._writer.prepare(turns, number, thinks=offer.thinks, tools=offer.tools)
                return prepared
            except PromptTooLong:
                results = [
                    place for place, each in enumerate(told) if each.role is Role.TOOL and each.text != _LEFT_OUT
                ]
                if not results:
                    raise
                told[results[0]] = replace(told[results[0]], text=_LEFT_OUT)

    def _reply(
        self,
        prepared: Prepared,
        asked: Sequence[Message],
        conversation: Conversation,
        settings: ReplySettings,
        stop: StopSignal,
        before: Message | None = None,
        seed: int | None = None,
    ) -> Message | None:
        """The reply to `asked`, which is a prompt, or the results of calls; unless nothing was written. `before` is the
        reply to continue. The drafter does not learn from the continuation, which answers more than the turns. `seed`:
        for this reply alone."""
        prompt, local = asked[-1], self.target.local
        learns = settings.learns and not conversation.summary.incognito and local is not None
        self.target.loaded.sampling = settings.sampling
        settings = replace(
            self._chats.sampled(settings, conversation.sampling),
            learns=learns and before is None,
            keeps_distributions=learns and before is None and self._learning.wants_distributions,
        )
        if seed is not None:
            settings = replace(settings, sampling=replace(settings.sampling, seed=seed))
        loaded = self.target.loaded
        name, identity = loaded.writer.target_name, loaded.identity or None
        number, chat = self._keeper.begin_reply(), self._prompt_cache.chat_of(conversation.summary)

        def part(text: str, thoughts: tuple[Thought, ...], statistics: ReplyStatistics) -> ReplyToKeep:
            if before is not None:
                thoughts = joined_replies(before.text, before.thoughts, thoughts)
                text, statistics = _joined(before, text, statistics)
            return ReplyToKeep(number, conversation.summary.id, prompt.id, text, thoughts, statistics, name, identity)

        def keep(text: str, thoughts: tuple[Thought, ...], statistics: ReplyStatistics) -> None:
            if not conversation.summary.incognito:  # nothing would be left of it
                self._keep_part(part(text, thoughts, statistics))

        reply = loaded.writer.write(prepared, settings, stop, ReplyEvents(prompt, self._emit, keep))
        if reply.is_empty and before is not None:
            self._end_unchanged(before, reply)
            return None
        if reply.is_empty and not reply.was_sent:  # the prompt stands unanswered
            if reply.failure is not None:
                raise reply.failure
            if reply.statistics.stop_reason is StopReason.STOPPED:
                return None
        message = self._keeper.finish(replace(part(reply.text, reply.thoughts, reply.statistics), calls=reply.calls))
        self._emit(ReplyFinished(message, self._keeper.siblings_of(message)))
        self._announce(conversation.summary.id)
        if reply.statistics.is_slow and not conversation.summary.incognito:
            _logger.warning("reply %d was slower than without drafts: %s", message.id, Loggable(_why_slow(reply)))
        if local is not None:
            if learns and message.id > 0:
                assert isinstance(prepared, PreparedReply)
                self._recall_reply(prepared, asked, message, reply, before)
                if before is None:
                    self._learning.take(message, prepared.turns, reply.verified, local.target.vocabulary)
                self._catch_up()
            self._prompt_cache.keep(chat)
        if reply.failure is not None:
            raise reply.failure
        return message

    def _recall_reply(
        self,
        prepared: PreparedReply,
        asked: Sequence[Message],
        message: Message,
        reply: Reply,
        before: Message | None,
    ) -> None:
        if before is None:
            for each in asked:
                self._recall.add(each)
            self._recall.add(message, reply.tokens)
        else:
            tokens, num_begun = prepared.prompt.tokens, prepared.prompt.num_begun
            begun = tokens[len(tokens) - num_begun :]
            self._recall.add_continuation(before, message, (*begun, *reply.tokens), len(reply.tokens))

    def _end_unchanged(self, before: Message, reply: Reply) -> None:
        """Nothing was added to the reply, so nothing is stored."""
        if reply.failure is not None:
            raise reply.failure
        if reply.statistics.stop_reason is StopReason.CONTEXT_FULL:
            raise NotPossible("The model's context is full; load it with a larger context size to continue the reply.")
        if reply.statistics.stop_reason is not StopReason.STOPPED:
            raise NotPossible("The model has nothing to add to this reply; ask for more in a message.")
        self._emit(ReplyFinished(before, self._keeper.siblings_of(before)))

    def _announce(self, conversation_id: int) -> None:
        try:
            self._emit(ConversationChanged(self._repository.find_conversation(conversation_id)))
        except ConversationMissing:
            _logger.debug("conversation %d was deleted while it was being answered", conversation_id)


@contextmanager
def _heard() -> Iterator[None]:
    """A reply may be stopped while its grammar learns what it goes on from."""
    try:
        yield
    except Interrupted:
        raise Cancelled("The reply was stopped before it began.") from None


@dataclass(frozen=True, slots=True)
class _Offer:
    """How the replies of one answer are to be written."""

    settings: ReplySettings
    thinks: bool | None  # what the target is told
    tools: tuple[Tool, ...]


def _why_slow(reply: Reply) -> str:
    figures = reply.figures
    passes = ", ".join(f"{count} over {num_rows}" for num_rows, count in sorted(figures.passes.items()))
    accepted = ", ".join(f"{each.key} {each.num_accepted} of {each.num_drafted}" for each in reply.statistics.proposers)
    return (
        f"{reply.statistics.ratio:.3f} by counts, {figures.num_written} tokens in passes by rows: {passes} "
        f"({figures.num_changes} changes); guesses accepted: {accepted or 'none'}; {figures.draft_s:.2f} s of drafting"
    )


def _joined(before: Message, text: str, statistics: ReplyStatistics) -> tuple[str, ReplyStatistics]:
    """A reply together with the one that it continues. Its figures are those of the continuation, and no seed writes
    both."""
    origins = statistics.origins
    if origins:
        known = before.statistics.origins if before.statistics is not None else ()
        origins = (known or (OriginRun(len(before.text), TARGET.key),)) + origins
    return before.text + text, replace(statistics, origins=origins, seed="")
