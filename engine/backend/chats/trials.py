"""Shows the user what drafting gains: compares replies with and without it, and times the target in use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from engine.backend.chats.comparing import compare
from engine.backend.chats.machine import measure_machine, tell_costs
from engine.backend.chats.open_chats import OpenChats
from engine.backend.chats.prompt_cache_keeper import PromptCacheKeeper
from engine.backend.chats.target_in_use import Local, TargetInUse
from engine.backend.chats.turns import before_last_prompt
from engine.backend.storage import Repository
from engine.backend.teaching.recall import Recall
from engine.speculation.model.interface import Interrupted
from engine.values.comparison import Comparison, ComparisonOrder, ComparisonStep
from engine.values.config import ReplySettings
from engine.values.errors import Cancelled, NotPossible
from engine.values.outlook import MachineFigures
from engine.values.requests import NEVER, ignore
from engine.values.sentences import template
from engine.values.stop_signal import StopSignal

_COMPARED_ELSEWHERE = template(
    "Guesses for this model are made by its server, where nothing can be compared; choose a model on this computer."
)
_MEASURED_ELSEWHERE = template(
    "This model runs on a server, so it cannot be measured here; choose a model on this computer."
)


@dataclass(frozen=True)
class Trials:
    """The chat thread calls all methods."""

    _repository: Repository
    _recall: Recall
    _target: TargetInUse
    _chats: OpenChats
    _prompt_cache: PromptCacheKeeper

    def compare(
        self,
        order: ComparisonOrder,
        stop: StopSignal = NEVER,
        progress: Callable[[ComparisonStep], object] = ignore,
    ) -> Comparison:
        """Answers a prompt in turns without and with drafts. Nothing of it is stored, recalled or learned from. When
        it is stopped, returns what is complete. Raises MendableError.

        Chats that already have an answer to this prompt are not recalled: repeating it would prove nothing."""
        local = self._local(stop, _COMPARED_ELSEWHERE)
        conversation = None if order.conversation_id is None else self._chats.open(order.conversation_id)
        before = before_last_prompt(conversation.messages) if conversation else ()
        system_prompt = conversation.system_prompt if conversation else order.system_prompt
        turns = self._chats.turns(order.conversation_id)
        asked = [*turns.of(system_prompt, before), turns.asked(order.prompt)]
        answered = set(self._repository.conversations_with_prompt(order.prompt))
        if conversation is not None:
            answered.add(conversation.summary.id)
        order = replace(order, settings=self._sampled(order))
        with self._target.watched(), self._recall.without(sorted(answered)):
            try:
                comparison = compare(local.writer, asked, order, stop, progress)
            except Interrupted:
                raise Cancelled("The reply was stopped before it began.") from None
        self._target.prove()
        return comparison

    def measure_machine(self, stop: StopSignal = NEVER, progress: Callable[[float], object] = ignore) -> MachineFigures:
        """Times passes of the target in use, for a few seconds. `progress`: the share of that time that has passed,
        0 … 1. Raises MendableError."""
        local = self._local(stop, _MEASURED_ELSEWHERE)
        with self._target.watched(), local.writer.apart() as target:
            machine = measure_machine(target, local.source, progress, stop)
        if local.writer.passes is not None:
            tell_costs(local.writer.passes, machine)
        return machine

    def _local(self, stop: StopSignal, remote_sentence: str) -> Local:
        """The target in use, which reads another text from now on."""
        self._target.require(stop)
        local = self._target.local
        if local is None:
            raise NotPossible(remote_sentence)
        self._prompt_cache.begin()
        return local

    def _sampled(self, order: ComparisonOrder) -> ReplySettings:
        source = order.sampled_as
        if source is None:
            return order.settings
        own = source.own if source.conversation_id is None else self._chats.open(source.conversation_id).sampling
        return self._chats.sampled(order.settings, own)
