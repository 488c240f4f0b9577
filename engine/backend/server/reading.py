"""Reads what a request holds, within limits of bytes, time and depth."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request

from engine.backend.server.intake import Intake, Most
from engine.backend.server.refusals import invalid, unread
from engine.values.serving import ServerLimits

_LONGEST_WORDS = 200  # of a request, in a sentence
_ESCAPED = 2  # times as many bytes as pictures have may come, where signs of base64 are escaped
_Request = TypeVar("_Request", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Body:
    """`pictures`: the base64 of those that are large, by what stands for them."""

    found: dict[str, Any]
    pictures: dict[str, bytearray]


async def read_json(request: Request, limits: ServerLimits, most: Most) -> Body:
    """Raises RequestRefused, or ClientDisconnect."""
    declared = request.headers.get("content-length", "0")
    if declared.isdecimal() and int(declared) > _ESCAPED * most.aside_bytes + most.text_bytes:
        raise unread(413, f"This request is larger than {(most.aside_bytes + most.text_bytes) / 2**20:.3g} MiB.")
    intake = Intake(most)
    try:
        async with asyncio.timeout(limits.body_s):
            async for part in request.stream():
                intake.feed(part)
                request.state.share.resize(intake.num_bytes)
    except TimeoutError:
        raise unread(408, "This request did not arrive in time; send it again.") from None
    return Body(intake.finish(), intake.aside)


def checked(kind: type[_Request], body: Body) -> _Request:
    """Raises RequestRefused, which names the first field that is wrong."""
    try:
        return kind.model_validate(body.found)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = _place(first["loc"])
        said = str(first["msg"]).removeprefix("Value error, ")[:_LONGEST_WORDS].rstrip(".")
        told = f"“{place}” cannot be used: {said[:1].lower()}{said[1:]}." if place else f"{said}."
        raise invalid(told, place or None) from None


def _place(loc: tuple[int | str, ...]) -> str:
    """The place of an error, as in messages[2].content; names of our own classes are left out."""
    text = ""
    for each in loc:
        if isinstance(each, int):
            text += f"[{each}]"
        elif each[:1].islower() and each.replace("_", "").isalnum() and "function-" not in each:
            text += f".{each}" if text else each
    return text[:_LONGEST_WORDS]


async def until_gone(request: Request) -> None:
    """Returns when the client has gone; its request must be read by then."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


__all__ = ["Body", "ClientDisconnect", "checked", "read_json", "until_gone"]
