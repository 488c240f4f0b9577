"""Requests in turn: one is answered, some wait, and more than that are refused."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from engine.backend.server.refusals import RequestRefused
from engine.values.asked import Asked, Refusal
from engine.values.commands import Answer, Command, Embed, OfClient
from engine.values.config import ReplySettings
from engine.values.events import (
    AnswerEnded,
    AnswerRefused,
    AnswerStarted,
    AnswerText,
    AnswerThought,
    EmbeddingsMade,
    Event,
    Failed,
    Finished,
    TargetInfo,
    TargetLoading,
    TargetReady,
)
from engine.values.serving import Asker, ServerLimits
from engine.values.stop_signal import StopSignal

Told = AnswerStarted | AnswerText | AnswerThought | AnswerEnded | AnswerRefused | EmbeddingsMade
END = AnswerEnded | AnswerRefused | EmbeddingsMade
_GAP_S = 0.05  # between two pieces of a reply: each costs the cores that write it, and nobody reads faster
_CLOSED = "The server is being closed; ask again when it is back."
_FAULT = "Something went wrong inside Slipstream; ask again."


@dataclass(eq=False)
class Job:
    """A request, until its reply has ended or its client has gone."""

    command: OfClient
    told: asyncio.Queue[Told] = field(default_factory=asyncio.Queue)
    stop: StopSignal | None = None  # None: it waits
    is_over: bool = False

    async def next(self) -> list[Told]:
        """What came since the last call, at least one event. The last of all is an `END`."""
        found = [await self.told.get()]
        while not self.told.empty():
            found.append(self.told.get_nowait())
        return found


class Desk:
    """All methods are for the server's own thread, but `hear`."""

    def __init__(
        self,
        post: Callable[[Command], StopSignal],
        settings: Callable[[], ReplySettings],
        limits: ServerLimits,
    ) -> None:
        """`settings`: of the user, for what a request leaves open."""
        self._post = post
        self._settings = settings
        self._limits = limits
        self._loop: asyncio.AbstractEventLoop | None = None
        self._numbers = itertools.count(1)
        self._waiting: deque[Job] = deque()
        self._current: Job | None = None
        self._lock = threading.Lock()
        self._told: list[Event] = []  # that was heard, and is not taken yet
        self._takes_soon: asyncio.TimerHandle | None = None  # by itself; then text need not wake it
        self.target: TargetInfo | None = None
        self.is_loading = False
        self._is_closed = False

    def open(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def hear(self, event: Event) -> None:
        """Any thread; what concerns nobody here is let pass."""
        if isinstance(event, TargetReady):
            self.target, self.is_loading = event.target, False
        elif isinstance(event, TargetLoading):
            self.is_loading = True
        is_ours = isinstance(event, Told) or (
            isinstance(event, Finished | Failed) and isinstance(event.command, OfClient)
        )
        if is_ours and self._loop is not None and not self._loop.is_closed():
            with self._lock:
                self._told.append(event)
                is_awaited = self._takes_soon is not None and isinstance(event, AnswerText | AnswerThought)
            if not is_awaited:  # waking it takes as long as the engine's own work on a token
                self._loop.call_soon_threadsafe(self._take)

    def submit(self, asked: Asked, asker: Asker) -> Job:
        """Raises RequestRefused where too many wait, or there is no target."""
        return self._enter(Answer(next(self._numbers), asked, self._settings(), asker.is_remembered, asker.owner))

    def submit_texts(self, path: Path, texts: tuple[str, ...]) -> Job:
        """For embeddings of the model at `path`. Raises as `submit`."""
        return self._enter(Embed(next(self._numbers), path, texts))

    def _enter(self, command: OfClient) -> Job:
        if self._is_closed:
            raise RequestRefused(503, _CLOSED)
        if self.target is None:
            raise RequestRefused(
                503,
                "Slipstream is still loading its model; try again in a moment."
                if self.is_loading
                else "No model is loaded in Slipstream; choose one there.",
                "model_not_ready",
                headers={"Retry-After": "2"},
            )
        if len(self._waiting) >= self._limits.waiting:
            raise RequestRefused(
                429,
                f"{len(self._waiting)} requests wait already; try again in a moment.",
                "queue_full",
                headers={"Retry-After": "1"},
            )
        job = Job(command)
        self._waiting.append(job)
        self._go_on()
        return job

    def leave(self, job: Job) -> None:
        """Nobody waits for its reply any more, which stops within a pass; nothing happens if it is over."""
        if job in self._waiting:
            self._waiting.remove(job)
            job.is_over = True
        elif job.stop is not None and not job.is_over:
            job.stop.set()

    def close(self) -> None:
        """Whoever waits for a reply is told, and nobody else is let in."""
        self._is_closed = True
        for job in (*self._waiting, *([self._current] if self._current else [])):
            if not job.is_over:
                self.leave(job)
                job.is_over = True
                job.told.put_nowait(AnswerRefused(job.command.number, Refusal.NOT_READY, _CLOSED))

    @property
    def num_waiting(self) -> int:
        return len(self._waiting)

    @property
    def is_busy(self) -> bool:
        return self._current is not None

    def _go_on(self) -> None:
        if self._current is None and self._waiting:
            self._current = job = self._waiting.popleft()
            job.stop = self._post(job.command)

    def _take(self) -> None:
        """Where it is the text of a reply, once more after the gap."""
        assert self._loop is not None
        with self._lock:
            told, self._told = self._told, []
            if self._takes_soon is not None:
                self._takes_soon.cancel()
            goes_on = bool(told) and isinstance(told[-1], AnswerText | AnswerThought)
            self._takes_soon = self._loop.call_later(_GAP_S, self._take) if goes_on else None
        for each in told:
            self._heard(each)

    def _heard(self, event: Event) -> None:
        job = self._current
        if isinstance(event, Finished | Failed):
            number = event.command.number if isinstance(event.command, OfClient) else 0
            if job is None or job.command.number != number:
                return
            if not job.is_over:
                job.is_over = True
                job.told.put_nowait(AnswerRefused(number, Refusal.FAILED, _FAULT))
        elif job is not None and isinstance(event, Told) and event.number == job.command.number:
            job.told.put_nowait(event)
            if isinstance(event, END):
                job.is_over = True
            return
        else:
            return
        self._current = None
        self._go_on()
