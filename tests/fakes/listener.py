"""Listeners that record what they receive."""

from __future__ import annotations

import queue
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from engine.threads import Engine
from engine.values.growing_reply import GrowingReply, PieceReader, ReplySoFar, TextPiece
from engine.values.replies import OriginRun
from engine.values.requests import Request
from engine.values.speed import LiveFigures

_E = TypeVar("_E")
_T = TypeVar("_T")


class RecordingReply(GrowingReply):
    def __init__(self) -> None:
        super().__init__(self._record)
        self._reader = PieceReader()
        self.told: list[ReplySoFar] = []
        self.prompts: list[tuple[int, int]] = []
        self.progress: list[tuple[int, int]] = []
        self.pieces: list[str] = []
        self.figures: list[LiveFigures] = []
        self.origins: list[tuple[OriginRun, ...]] = []
        self.trimmed: list[int] = []

    def _record(self, so_far: ReplySoFar) -> None:
        self.told.append(so_far)
        for piece in self._reader.new_in(so_far):
            if isinstance(piece, TextPiece):
                self._record_text(piece, so_far.figures)

    def _record_text(self, piece: TextPiece, figures: LiveFigures) -> None:
        assert figures.num_tokens > 0
        assert (figures.tokens_per_s > 0) == (figures.num_tokens > 1), "the first token takes no pass of its own"
        assert figures.context_used > 0
        assert sum(run.num_characters for run in piece.origins) == len(piece.text)
        self.pieces.append(piece.text)
        self.figures.append(figures)
        self.origins.append(piece.origins)

    def begin(self, num_prompt_tokens: int, num_left_out: int) -> None:
        self.prompts.append((num_prompt_tokens, num_left_out))
        super().begin(num_prompt_tokens, num_left_out)

    def read(self, num_read: int, num_to_read: int) -> None:
        self.progress.append((num_read, num_to_read))
        super().read(num_read, num_to_read)

    def trim(self, num_left_out: int) -> None:
        self.trimmed.append(num_left_out)
        super().trim(num_left_out)


@dataclass(frozen=True)
class Settled:
    """A request was answered, or failed."""

    request: Request[Any]


class EventQueue:
    """An engine's listener for tests that wait for events instead of seconds: for its events, and for progress and
    ends of the requests that are asked through it."""

    def __init__(self) -> None:
        self._queue: queue.Queue[object] = queue.Queue()
        self.seen: list[object] = []

    def __call__(self, event: object) -> None:
        self._queue.put(event)

    def ask(self, engine: Engine, method: Callable[..., _T], *args: object) -> Request[_T]:
        request = engine.begin(method, args, {}, self)
        request.future.add_done_callback(lambda _future: self(Settled(request)))
        return request

    def wait_for(self, kind: type[_E], timeout_s: float = 60.0) -> _E:
        """The next event of this kind; those before it are in `seen`."""
        while True:
            event = self._queue.get(timeout=timeout_s)
            self.seen.append(event)
            if isinstance(event, kind):
                return event
