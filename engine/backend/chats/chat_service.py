"""Answers prompts, again or further if the user asks, and stores the replies."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile

from engine.backend.chats.calling import Calling, fitted, fitted_anywhere
from engine.backend.chats.message_keeper import MessageKeeper, ReplyToKeep
from engine.backend.chats.open_chats import OpenChats
from engine.backend.chats.prompt_cache_keeper import PromptCacheKeeper
from engine.backend.chats.target_in_use import TargetInUse
from engine.backend.chats.turns import check_own, is_prompt
from engine.backend.storage import Repository
from engine.backend.teaching.learning_service import LearningService
from engine.backend.teaching.recall import Recall
from engine.speculation.model.interface import Interrupted
from engine.speculation.model.loading import effective_system_prompt
from engine.speculation.replies.run import PreparedReply
from engine.speculation.replies.writing import AnyWriter, Prepared, Reply
from engine.values.config import OwnSampling, ReplySettings
from engine.values.conversations import Conversation, Message, Role
from engine.values.errors import Cancelled, ConversationMissing, NotPossible, PromptTooLong
from engine.values.events import ConversationChanged, Listener, PromptStored, ReplyFinished
from engine.values.growing_reply import GrowingReply, ReplySoFar, joined_replies
from engine.values.logged import Loggable
from engine.values.orders import ContinueReply, EditPrompt, Regenerate, ReplyOrder, Send
from engine.values.origins import TARGET
from engine.values.replies import OriginRun, ReplyStatistics, StopReason
from engine.values.requests import NEVER, ignore
from engine.values.stop_signal import StopSignal
from engine.values.tools import MOST_TURNS, Tool

_logger = logging.getLogger("slipstream.chat")
_LEFT_OUT = "[This result is left out, because the context is full.]"


@dataclass(frozen=True)
class ChatService:
    """All methods run on one thread."""

    _repository: Repository
    _recall: Recall
    _learning: LearningService
    target: TargetInUse
    _keeper: MessageKeeper
    _chats: OpenChats
    _prompt_cache: PromptCacheKeeper
    _calling: Calling
    keep_part: Callable[[ReplyToKeep], object]  # `MessageKeeper.keep` on its thread
    emit: Listener
    catch_up: Callable[[], object]  # `Upkeep.catch_up` on its thread

    def answer(
        self, order: ReplyOrder, stop: StopSignal = NEVER, progress: Callable[[ReplySoFar], object] = ignore
    ) -> None:
        """Returns when the reply is stored, and those that follow its calls. A fact reports each stored message.
        Raises MendableError, also if a reply ended with an error; what was written until then is stored."""
        self.target.require(stop)
        self.target.check_agreed()
        self._prompt_cache.begin()
        with self.target.watched(), _heard():
            self._write(order, _Caller(stop, progress))
        self.target.prove()

    def _write(self, order: ReplyOrder, caller: _Caller) -> None:
        match order:
            case Send() | EditPrompt() if (ahead := self._keeper.take_ahead(caller.stop)) is not None:
                self._answer_ahead(order, ahead, caller)
            case Send():
                self._send(order, caller)
            case Regenerate():
                self._regenerate(order, caller)
            case EditPrompt():
                self._edit(order, caller)
            case ContinueReply():
                self._continue(order, caller)

    @property
    def _writer(self) -> AnyWriter:
        return self.target.loaded.writer

    def _send(self, order: Send, caller: _Caller) -> None:
        if order.conversation_id is not None:
            conversation = self._chats.open(order.conversation_id)
            self._ask(conversation, conversation.messages, order, caller)
            return
        system_prompt = order.system_prompt
        if not order.has_own_system_prompt:
            system_prompt = effective_system_prompt(system_prompt, self.target.options)
        offer = self._offer(order.settings, order.sampling, caller.stop)
        prepared = self._prepare_prompt(system_prompt, (), order, None, offer)
        summary = self._keeper.begin(order, system_prompt, caller.stop.is_set)
        conversation = Conversation(summary, system_prompt, (), order.sampling)
        self._ask(conversation, (), order, caller, (prepared, offer))

    def _edit(self, order: EditPrompt, caller: _Caller) -> None:
        conversation = self._chats.open_branch(order.conversation_id, order.message_id)
        *branch, prompt = conversation.messages
        check_own(prompt)
        self._ask(conversation, branch, order, caller)

    def _answer_ahead(self, order: Send | EditPrompt, prompt: Message, caller: _Caller) -> None:
        """The prompt was stored while it waited, whatever branch is shown by now. A new conversation has the system
        prompt of the target in use now."""
        conversation_id = prompt.conversation_id
        self._chats.turns(conversation_id).asked(order.prompt)  # raises where its pictures are not seen
        if isinstance(order, Send) and order.conversation_id is None and not order.has_own_system_prompt:
            told = effective_system_prompt(order.system_prompt, self.target.options)
            conversation = self._chats.open(conversation_id)
            if conversation.system_prompt == order.system_prompt != told:
                self._repository.change_conversation(conversation_id, told, conversation.sampling)
        message_id = prompt.id if prompt.id > 0 else None  # what the store still refuses ends the branch that is shown
        self._regenerate(Regenerate(conversation_id, order.settings, message_id), caller)

    def _ask(
        self,
        conversation: Conversation,
        branch: Sequence[Message],
        order: Send | EditPrompt,
        caller: _Caller,
        begun: tuple[Prepared, _Offer] | None = None,
    ) -> None:
        """Stores a prompt at the end of the branch, and answers it."""
        conversation_id = conversation.summary.id
        if begun is None:
            offer = self._offer(order.settings, conversation.sampling, caller.stop)
            prepared = self._prepare_prompt(conversation.system_prompt, branch, order, conversation_id, offer)
        else:
            prepared, offer = begun
        parent_id = branch[-1].id if branch else None
        prompt = self._keeper.add_prompt(conversation_id, parent_id, order.prompt, order.pictures)
        self._announce(conversation_id)
        self.emit(PromptStored(prompt, self._keeper.siblings_of(prompt)))
        prepared = replace(prepared, conversation=conversation_id)
        self._answer(prepared, [*branch, prompt], conversation, offer, caller)

    def _prepare_prompt(
        self,
        system_prompt: str,
        branch: Sequence[Message],
        order: Send | EditPrompt,
        conversation_id: int | None,
        offer: _Offer,
    ) -> Prepared:
        """Raises if the prompt cannot be answered; it must not be stored then."""
        turns = self._chats.turns(conversation_id, order.pictures)
        asked = [*turns.of(system_prompt, branch), turns.asked(order.prompt)]
        prepared: Prepared = self._writer.prepare(asked, conversation_id, thinks=offer.thinks, tools=offer.tools)
        return prepared

    def _regenerate(self, order: Regenerate, caller: _Caller) -> None:
        conversation = (
            self._chats.open(order.conversation_id)
            if order.message_id is None
            else self._chats.open_branch(order.conversation_id, order.message_id)
        )
        branch = list(conversation.messages)
        while branch and not is_prompt(branch[-1]):
            branch.pop()
        if not branch:
            raise ConversationMissing("There is nothing to answer in this chat yet; write a message first.")
        offer = self._offer(order.settings, conversation.sampling, caller.stop)
        prepared = self._prepare_next(conversation, branch, offer)
        self._answer(prepared, branch, conversation, offer, caller, seed=order.seed)

    def _continue(self, order: ContinueReply, caller: _Caller) -> None:
        conversation = self._chats.open(order.conversation_id)
        if len(conversation.messages) < 2 or conversation.messages[-1].role not in (Role.ASSISTANT, Role.TOOL):
            raise NotPossible("There is no reply to continue in this chat; write a message first.")
        *branch, before = conversation.messages
        if not any(map(is_prompt, branch)):  # in a chat that came from a file
            raise NotPossible(
                "This reply answers none of your messages, so it cannot be continued; write a message first."
            )
        offer = self._offer(order.settings, conversation.sampling, caller.stop)
        if before.calls or before.role is Role.TOOL:
            self._go_on(list(conversation.messages), conversation, offer, caller)
            return
        turns = self._chats.turns(order.conversation_id).of(conversation.system_prompt, branch)
        prepared = self._writer.prepare(
            turns, order.conversation_id, before.text, before.thoughts, offer.thinks, offer.tools
        )
        self._answer(prepared, branch, conversation, offer, caller, before)

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
        caller: _Caller,
        before: Message | None = None,
        seed: int | None = None,
    ) -> None:
        """Writes the reply, carries out what it calls, writes the next, until one calls nothing."""
        reply = self._reply(prepared, branch[-1:], conversation, offer.settings, caller, before, seed)
        if reply is not None and reply.calls:
            self._go_on([*branch, reply], conversation, offer, caller)

    def _go_on(self, branch: list[Message], conversation: Conversation, offer: _Offer, caller: _Caller) -> None:
        """Continues a branch that ends with calls or results: carries out open calls and writes the next replies."""
        local = self.target.local
        fit = fitted_anywhere if local is None else partial(fitted, local.target)
        for _ in range(MOST_TURNS):
            *_, reply = (each for each in branch if each.role is Role.ASSISTANT)
            done = {each.result.call for each in branch if each.result is not None}
            calls = tuple(each for each in reply.calls if each not in done)
            branch += self._calling.carry_out(conversation, reply, branch[-1], calls, offer.tools, fit, caller.stop)
            if caller.stop.is_set():
                return
            prepared = self._prepare_next(conversation, branch, offer)
            results = [*takewhile(lambda each: each.role is Role.TOOL, reversed(branch))][::-1]
            next_one = self._reply(prepared, results, conversation, offer.settings, caller)
            if next_one is None or not next_one.calls:
                return
            branch.append(next_one)

    def _prepare_next(self, conversation: Conversation, branch: Sequence[Message], offer: _Offer) -> Prepared:
        """Leaves out the oldest results of this answer if they do not fit. Raises what `prepare` raises."""
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
        caller: _Caller,
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

        def part(reply: Reply | ReplySoFar, statistics: ReplyStatistics) -> ReplyToKeep:
            text, thoughts = reply.text, reply.thoughts
            if before is not None:
                thoughts = joined_replies(before.text, before.thoughts, thoughts)
                text, statistics = _joined(before, text, statistics)
            return ReplyToKeep(number, conversation.summary.id, prompt.id, text, thoughts, statistics, name, identity)

        def tell(so_far: ReplySoFar) -> None:
            caller.progress(so_far)
            if so_far.statistics is not None and not conversation.summary.incognito:  # of which nothing is to be left
                self.keep_part(part(so_far, so_far.statistics))

        growing = GrowingReply(tell, conversation.summary.id, prompt.id)
        reply = loaded.writer.write(prepared, settings, caller.stop, growing)
        if reply.is_empty and before is not None:
            self._end_unchanged(before, reply)
            return None
        if reply.is_empty and not reply.was_sent:  # the prompt stands unanswered
            if reply.failure is not None:
                raise reply.failure
            if reply.statistics.stop_reason is StopReason.STOPPED:
                return None
        message = self._keeper.finish(replace(part(reply, reply.statistics), calls=reply.calls))
        self.emit(ReplyFinished(message, self._keeper.siblings_of(message)))
        self._announce(conversation.summary.id)
        if reply.statistics.is_slow and not conversation.summary.incognito:
            _logger.warning("reply %d was slower than without drafts: %s", message.id, Loggable(_why_slow(reply)))
        if local is not None:
            if learns and message.id > 0:
                assert isinstance(prepared, PreparedReply)
                self._recall_reply(prepared, asked, message, reply, before)
                if before is None:
                    self._learning.take(message, prepared.turns, reply.verified, local.target.vocabulary)
                self.catch_up()
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
        self.emit(ReplyFinished(before, self._keeper.siblings_of(before)))

    def _announce(self, conversation_id: int) -> None:
        try:
            self.emit(ConversationChanged(self._repository.find_conversation(conversation_id)))
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
class _Caller:
    """What connects an answer to the request for it."""

    stop: StopSignal
    progress: Callable[[ReplySoFar], object]


@dataclass(frozen=True, slots=True)
class _Offer:
    """How the replies of one answer are to be written."""

    settings: ReplySettings
    thinks: bool | None  # whether the target should think; None: as by default
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
