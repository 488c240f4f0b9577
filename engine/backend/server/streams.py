"""Replies on their way to a client: as a stream of events, or waited for as a whole. Who goes away stops its reply."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from functools import cache
from importlib.metadata import version
from typing import Any, Protocol, TypeVar

from sse_starlette import EventSourceResponse
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from engine.backend.server.desk import END, Desk, Job, Told
from engine.backend.server.reading import until_gone
from engine.backend.server.refusals import RequestRefused, refused
from engine.values.asked import Asked
from engine.values.events import AnswerEnded, AnswerRefused
from engine.values.serving import Asker

_PING_S = 15  # of silence in a stream, after which a client is told that it goes on
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_T = TypeVar("_T")


class Form(Protocol):
    """How the replies to one request look to its client."""

    def begin(self) -> Sequence[bytes]:
        """Events at the beginning of the stream."""
        ...

    def add(self, number: int, told: Sequence[Told]) -> Sequence[bytes]:
        """Events of one reply."""
        ...

    def end(self) -> Sequence[bytes]: ...

    def fail(self, refusal: RequestRefused) -> Sequence[bytes]:
        """In the middle of the stream."""
        ...

    def whole(self, ended: Sequence[tuple[list[Told], AnswerEnded]]) -> dict[str, Any]:
        """Without a stream: of each reply all that was told, and its end."""
        ...


def event(data: Any, name: str = "") -> bytes:
    """Of a stream."""
    told = _ENCODER.encode(data) if not isinstance(data, str) else data
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {told}\n\n".encode("utf-8", "replace")


async def respond(
    request: Request, desk: Desk, replies: Sequence[Asked], asker: Asker, form: Form, is_streamed: bool
) -> Response:
    """Raises RequestRefused for what cannot be answered, before anything is sent."""
    job = desk.submit(replies[0], asker)
    first: list[Told] = []
    try:
        first = await while_there(request, job.next())
        check(first)
        if is_streamed:
            content = _stream(desk, replies, asker, form, job, first)
            return EventSourceResponse(content, ping=_PING_S, sep="\n")
        return JSONResponse(form.whole(await while_there(request, _all(desk, replies, asker, job, first))))
    except BaseException:
        desk.leave(job)
        raise


async def while_there(request: Request, work: Any) -> Any:
    """The result of `work`, unless the client goes away: then it is cancelled, and ClientDisconnect raised."""
    working, gone = asyncio.ensure_future(work), asyncio.ensure_future(until_gone(request))
    try:
        await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        for each in (working, gone):
            each.cancel()
        await asyncio.gather(working, gone, return_exceptions=True)


async def _stream(
    desk: Desk, replies: Sequence[Asked], asker: Asker, form: Form, job: Job, first: list[Told]
) -> AsyncIterator[bytes]:
    try:
        yield b"".join([*form.begin(), *form.add(0, first)])
        for number, asked in enumerate(replies):
            told = first
            if number:
                job = desk.submit(asked, asker)
                told = []
            while not told or not isinstance(told[-1], END):
                told = await job.next()
                check(told)
                if events := form.add(number, told):
                    yield b"".join(events)
            check(told)
        yield b"".join(form.end())
    except RequestRefused as refusal:
        yield b"".join(form.fail(refusal))
    finally:
        desk.leave(job)


async def _all(
    desk: Desk, replies: Sequence[Asked], asker: Asker, job: Job, first: list[Told]
) -> list[tuple[list[Told], AnswerEnded]]:
    found: list[tuple[list[Told], AnswerEnded]] = []
    for number, asked in enumerate(replies):
        told = first
        if number:
            job = desk.submit(asked, asker)
            told = []
        try:
            while not told or not isinstance(told[-1], END):
                told += await job.next()
            check(told)
        finally:
            desk.leave(job)
        last = told[-1]
        assert isinstance(last, AnswerEnded)
        found.append((told, last))
    return found


def check(told: Sequence[Told]) -> None:
    """Raises RequestRefused where the reply was refused, or failed."""
    last = told[-1]
    if isinstance(last, AnswerRefused):
        raise refused(last.refusal, last.sentence)
    if isinstance(last, AnswerEnded) and last.failure:
        raise RequestRefused(500, last.failure)


def created() -> int:
    return int(time.time())


@cache
def fingerprint() -> str:
    """Of what writes: replies to the same request with the same seed may differ where it does."""
    return f"slipstream-{version('slipstream')}"
