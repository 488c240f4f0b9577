"""Erases what was deleted from the files, on a thread of its own: no one waits for it."""

from __future__ import annotations

import time
from dataclasses import dataclass

from engine.backend.storage import Repository
from engine.speculation.model.files.prompt_cache import PromptCache
from engine.values.events import DeletedErased, Listener
from engine.values.requests import NEVER
from engine.values.stop_signal import StopSignal

_FIRST_PAUSE_S = 1.0  # after something could not be erased, and twice as long after every further time
_LONGEST_PAUSE_S = 300.0
_GLANCE_S = 0.1


@dataclass(frozen=True, slots=True)
class ErasingService:
    _repository: Repository
    _prompt_cache: PromptCache
    _emit: Listener

    def erase(self, stop: StopSignal = NEVER) -> None:
        """Returns when all is erased, or when it is stopped."""
        self._prompt_cache.forget_others({each.id for each in self._repository.list_conversations()})
        told: tuple[str, ...] | None = None
        pause_s = _FIRST_PAUSE_S
        while not stop.is_set():
            left = self._repository.finish_erasure(stop.is_set)
            if left is not None and left != told:
                self._emit(DeletedErased(left))
                told = left
            if left == ():
                return
            _wait(pause_s, stop)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


def _wait(seconds: float, stop: StopSignal) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and not stop.is_set():
        time.sleep(_GLANCE_S)
