"""Work of the chat thread that no one waits for: it gives way to all else, and goes between two rounds of a program's
reply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.backend.chats.prompt_cache_keeper import PromptCacheKeeper
from engine.backend.chats.target_in_use import TargetInUse
from engine.backend.teaching.recall import Recall
from engine.speculation.replies.reopening import UnkeptPart
from engine.values.events import LearnedGrew, Listener


@dataclass(frozen=True)
class Upkeep:
    _recall: Recall
    _target: TargetInUse
    _prompt_cache: PromptCacheKeeper
    _emit: Listener
    _go_on: Callable[[], object]  # calls `catch_up` when the chat thread is free again

    def catch_up(self, restarts: bool = False) -> None:
        """Adds a few messages from chats with other targets to recall, and sees to the next few. `restarts`: from the
        latest message on, as older ones were imported."""
        if restarts:
            self._recall.restart()
        with self._target.watched():
            if self._target.local is None:
                return
            if self._recall.catch_up():
                self._go_on()
            else:
                self._emit(LearnedGrew())

    def next_part(self) -> UnkeptPart | None:
        """A copy of what the prompt cache lacks of the last chat; None: it lacks nothing, or may not have it."""
        local = self._target.local
        return None if local is None else self._prompt_cache.next_part(local.writer)
