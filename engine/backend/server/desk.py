"""Requests of programs in turn: one is answered, some wait, and more than that are refused."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from engine.backend.server.refusals import RequestRefused, refused
from engine.values.asked import Answered, Asked, Embeddings, Refused
from engine.values.config import ReplySettings
from engine.values.events import TargetInfo
from engine.values.growing_reply import ReplySoFar
from engine.values.owner import Owner
from engine.values.requests import Request
from engine.values.serving import Asker, ServerLimits

_GAP_S = 0.05  # between two pieces of a reply: each costs the cores that write it, and no one reads faster
_CLOSED = "The server is being closed; ask again when it is back."
_FAULT = "Something went wrong inside Slipstream; ask again."

T = TypeVar("T")
_Progress = Callable[[ReplySoFar], object]


class ServedTarget(Protocol):
    """What the engine asks its target for programs."""

    @property
    def loaded(self) -> TargetInfo | None: ...
    @property
    def is_loading(self) -> bool: ...
    def answer(
        self, asked: Asked, settings: ReplySettings, is_remembered: bool, owner: Owner, progress: _Progress
    ) -> Request[Answered]: ...
    def count(self, asked: Asked, settings: ReplySettings, owner: Owner) -> Request[int]: ...
    def embed(self, path: Path, texts: tuple[str, ...]) -> Request[Embeddings]: ...


class Job(Generic[T]):
    """A request of a program, until it is answered or the program has gone."""

    def __init__(self, begin: Callable[[_Progress], Request[T]]) -> None:
        self.begin = begin
        self.request: Request[T] | None = None  # None: it waits
        self.so_far = ReplySoFar()
        self._outcome: T | RequestRefused | None = None
        self._changed = asyncio.Event()

    @property
    def is_over(self) -> bool:
        return self._outcome is not None

    async def next(self) -> None:
        """Returns when more is known of it than at the last call."""
        await self._changed.wait()
        self._changed.clear()

    def result(self) -> T:
        """The answer, once it is over. Raises RequestRefused."""
        assert self._outcome is not None
        if isinstance(self._outcome, RequestRefused):
            raise self._outcome
        return self._outcome

    def grow(self, so_far: ReplySoFar) -> None:
        self.so_far = so_far
        self._changed.set()

    def end(self, outcome: T | RequestRefused) -> None:
        """The first outcome stands."""
        if self._outcome is None:
            self._outcome = outcome
            self._changed.set()


@dataclass
class _Latest:
    """What the engine's thread has last reported of the current job."""

    so_far: ReplySoFar
    is_awaited: bool = False  # it is taken soon, by itself


class Desk:
    """The server's own thread calls all methods."""

    def __init__(self, target: ServedTarget, settings: Callable[[], ReplySettings], limits: ServerLimits) -> None:
        """`settings`: the user's, for what a request leaves open."""
        self.target = target
        self._settings = settings
        self._limits = limits
        self._waiting: deque[Job[Any]] = deque()
        self._current: Job[Any] | None = None
        self._lock = threading.Lock()  # for what the engine's thread reports
        self._latest = _Latest(ReplySoFar())
        self._taking: asyncio.TimerHandle | None = None
        self._is_closed = False

    def submit(self, asked: Asked, asker: Asker) -> Job[Answered]:
        """Raises RequestRefused where too many wait, or there is no target."""
        settings = self._settings()
        return self._enter(
            Job(lambda progress: self.target.answer(asked, settings, asker.is_remembered, asker.owner, progress))
        )

    def submit_count(self, asked: Asked, asker: Asker) -> Job[int]:
        """Asks for the number of tokens of a prompt. Raises RequestRefused as `submit` does."""
        settings = self._settings()
        return self._enter(Job(lambda _progress: self.target.count(asked, settings, asker.owner)))

    def submit_texts(self, path: Path, texts: tuple[str, ...]) -> Job[Embeddings]:
        """Asks for embeddings by the model at `path`. Raises RequestRefused as `submit` does."""
        return self._enter(Job(lambda _progress: self.target.embed(path, texts)))

    def _enter(self, job: Job[T]) -> Job[T]:
        if self._is_closed:
            raise RequestRefused(503, _CLOSED)
        if self.target.loaded is None:
            raise RequestRefused(
                503,
                "Slipstream is still loading its model; try again in a moment."
                if self.target.is_loading
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
        self._waiting.append(job)
        self._go_on()
        return job

    def leave(self, job: Job[Any]) -> None:
        """Its program waits no longer: the reply stops within a pass. Nothing happens if it is over."""
        if job in self._waiting:
            self._waiting.remove(job)
        elif job.request is not None and not job.is_over:
            job.request.stop()

    def close(self) -> None:
        """Refuses all jobs that wait for a reply, and any new ones."""
        self._is_closed = True
        for job in (*self._waiting, *([self._current] if self._current else [])):
            self.leave(job)
            job.end(RequestRefused(503, _CLOSED))

    @property
    def num_waiting(self) -> int:
        return len(self._waiting)

    @property
    def is_busy(self) -> bool:
        return self._current is not None

    def _go_on(self) -> None:
        if self._current is not None or not self._waiting:
            return
        self._current = job = self._waiting.popleft()
        loop = asyncio.get_running_loop()
        self._latest = latest = _Latest(job.so_far)
        job.request = job.begin(partial(self._hear, loop, job, latest))
        job.request.future.add_done_callback(partial(self._hear_end, loop, job))

    def _hear(self, loop: asyncio.AbstractEventLoop, job: Job[Any], latest: _Latest, so_far: ReplySoFar) -> None:
        """Runs on the engine's thread."""
        with self._lock:
            latest.so_far = so_far
            is_awaited = latest.is_awaited
        if not is_awaited:  # waking the loop takes as long as the engine's own work on a token
            _call(loop, self._take, job)

    def _hear_end(self, loop: asyncio.AbstractEventLoop, job: Job[Any], future: Future[Any]) -> None:
        """Runs on the engine's thread."""
        _call(loop, self._end, job, future)

    def _take(self, job: Job[Any]) -> None:
        """Passes on what there is; where that is the text of a reply, once more after the gap."""
        if job is not self._current:
            return
        with self._lock:
            so_far = self._latest.so_far
            has_grown = so_far is not job.so_far
            self._latest.is_awaited = has_grown and so_far.num_pieces > 0
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None
        if has_grown:
            job.grow(so_far)
        if self._latest.is_awaited:
            self._taking = asyncio.get_running_loop().call_later(_GAP_S, self._take, job)

    def _end(self, job: Job[Any], future: Future[Any]) -> None:
        self._take(job)
        error = future.exception()
        if error is None:
            job.end(future.result())
        else:
            job.end(refused(error.refusal, str(error)) if isinstance(error, Refused) else RequestRefused(500, _FAULT))
        self._current = None
        self._go_on()


def _call(loop: asyncio.AbstractEventLoop, work: Callable[..., object], *args: object) -> None:
    try:
        loop.call_soon_threadsafe(work, *args)
    except RuntimeError:  # the server is closed
        return
