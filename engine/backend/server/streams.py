"""Replies on their way to a client: as a stream of events, or waited for as a whole. Who goes away stops its reply."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from functools import cache
from importlib.metadata import version
from itertools import groupby
from typing import Any, Protocol, TypeVar

from sse_starlette import EventSourceResponse
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from engine.backend.server.desk import Desk, Job
from engine.backend.server.reading import until_gone
from engine.backend.server.refusals import RequestRefused
from engine.values.asked import Answered, Asked
from engine.values.growing_reply import Piece, PieceReader, ReplySoFar, TextPiece
from engine.values.serving import Asker

_PING_S = 15  # of silence in a stream before a sign that it goes on
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_T = TypeVar("_T")


class Form(Protocol):
    """How the replies to one request look to its client."""

    def begin(self, number: int, num_prompt_tokens: int) -> Sequence[bytes]:
        """Events at the beginning of a reply."""
        ...

    def add(self, number: int, pieces: Sequence[Piece]) -> Sequence[bytes]: ...
    def finish(self, number: int, answered: Answered) -> Sequence[bytes]: ...
    def end(self) -> Sequence[bytes]:
        """Events after the last reply."""
        ...

    def fail(self, refusal: RequestRefused) -> Sequence[bytes]:
        """Events for an error in the middle of the stream."""
        ...

    def whole(self, replies: Sequence[tuple[ReplySoFar, Answered]]) -> dict[str, Any]:
        """The body of a response that is not streamed."""
        ...


def event(data: Any, name: str = "") -> bytes:
    """One server-sent event."""
    told = _ENCODER.encode(data) if not isinstance(data, str) else data
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {told}\n\n".encode("utf-8", "replace")


def runs_of(pieces: Sequence[Piece]) -> Iterator[tuple[bool, str]]:
    """What stands together: whether it is part of the answer, not of a thought, and its text, which is never empty."""
    for kind, group in groupby(pieces, type):
        if text := "".join(each.text for each in group):  # the end of a thought has none
            yield kind is TextPiece, text


async def respond(
    request: Request, desk: Desk, replies: Sequence[Asked], asker: Asker, form: Form, is_streamed: bool
) -> Response:
    """Raises RequestRefused for what cannot be answered, before anything is sent."""
    job = desk.submit(replies[0], asker)
    try:
        await while_there(request, job.next())
        if job.is_over:
            answered(job)
        if is_streamed:
            return EventSourceResponse(_stream(desk, replies, asker, form, job), ping=_PING_S, sep="\n")
        return JSONResponse(form.whole(await while_there(request, _all(desk, replies, asker, job))))
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
    desk: Desk, replies: Sequence[Asked], asker: Asker, form: Form, job: Job[Answered]
) -> AsyncIterator[bytes]:
    try:
        for number, asked in enumerate(replies):
            if number:
                job = desk.submit(asked, asker)
                await job.next()
                if job.is_over:
                    answered(job)
            yield b"".join(form.begin(number, job.so_far.num_prompt_tokens))
            reader = PieceReader()
            while True:
                is_over, pieces = job.is_over, reader.new_in(job.so_far)
                events = form.add(number, pieces) if pieces else ()
                if is_over:
                    events = [*events, *form.finish(number, answered(job))]
                if events:
                    yield b"".join(events)
                if is_over:
                    break
                await job.next()
        yield b"".join(form.end())
    except RequestRefused as refusal:
        yield b"".join(form.fail(refusal))
    finally:
        desk.leave(job)


async def _all(
    desk: Desk, replies: Sequence[Asked], asker: Asker, job: Job[Answered]
) -> list[tuple[ReplySoFar, Answered]]:
    found: list[tuple[ReplySoFar, Answered]] = []
    for number, asked in enumerate(replies):
        if number:
            job = desk.submit(asked, asker)
        try:
            while not job.is_over:
                await job.next()
            found.append((job.so_far, answered(job)))
        finally:
            desk.leave(job)
    return found


def answered(job: Job[Answered]) -> Answered:
    """Raises RequestRefused where the reply was refused, or failed."""
    reply = job.result()
    if reply.failure:
        raise RequestRefused(500, reply.failure)
    return reply


def created() -> int:
    return int(time.time())


@cache
def fingerprint() -> str:
    """Names the version: another one may answer the same request with the same seed differently."""
    return f"slipstream-{version('slipstream')}"
