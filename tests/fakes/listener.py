"""Listeners that record what they receive."""

from __future__ import annotations

import queue
from typing import TypeVar

from engine.values.events import Event
from engine.values.replies import OriginRun, ReplyListener
from engine.values.speed import LiveFigures

_E = TypeVar("_E")


class RecordingListener(ReplyListener):
    def __init__(self) -> None:
        self.prompts: list[tuple[int, int]] = []
        self.progress: list[tuple[int, int]] = []
        self.pieces: list[str] = []
        self.figures: list[LiveFigures] = []
        self.origins: list[tuple[OriginRun, ...]] = []
        self.trimmed: list[int] = []

    def on_prompt(self, num_tokens: int, num_left_out: int) -> None:
        self.prompts.append((num_tokens, num_left_out))

    def on_prompt_progress(self, num_evaluated: int, num_total: int) -> None:
        self.progress.append((num_evaluated, num_total))

    def on_text(self, text: str, figures: LiveFigures, origins: tuple[OriginRun, ...]) -> None:
        assert figures.num_tokens > 0
        assert (figures.tokens_per_s > 0) == (figures.num_tokens > 1), "the first token takes no pass of its own"
        assert figures.context_used > 0
        assert sum(run.num_characters for run in origins) == len(text)
        self.pieces.append(text)
        self.figures.append(figures)
        self.origins.append(origins)

    def on_trimmed(self, num_left_out: int) -> None:
        self.trimmed.append(num_left_out)


class EventQueue:
    """An engine's listener for tests that wait for events instead of seconds."""

    def __init__(self) -> None:
        self._queue: queue.Queue[Event] = queue.Queue()
        self.seen: list[Event] = []

    def __call__(self, event: Event) -> None:
        self._queue.put(event)

    def wait_for(self, kind: type[_E], timeout_s: float = 60.0) -> _E:
        """The next event of this kind; those before it are in `seen`."""
        while True:
            event = self._queue.get(timeout=timeout_s)
            self.seen.append(event)
            if isinstance(event, kind):
                return event
