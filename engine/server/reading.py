"""Reads what a request holds, within limits of bytes, time and depth."""

from __future__ import annotations

import asyncio
import json
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request

from engine.messages.serving import ServerLimits
from engine.server.refusals import RequestRefused, invalid

_DEEPEST = 100  # arrays and objects within each other
_LONGEST_WORDS = 200  # of a request, in a sentence
_Body = TypeVar("_Body", bound=BaseModel)


async def read_json(request: Request, limits: ServerLimits) -> dict[str, Any]:
    """Raises RequestRefused, or ClientDisconnect."""
    too_large = RequestRefused(413, f"This request is larger than {limits.body_bytes // 2**20} MiB; send less.")
    declared = request.headers.get("content-length", "0")
    if declared.isdecimal() and int(declared) > limits.body_bytes:
        raise too_large
    data = bytearray()
    try:
        async with asyncio.timeout(limits.body_s):
            async for part in request.stream():
                data += part
                if len(data) > limits.body_bytes:
                    raise too_large
    except TimeoutError:
        raise RequestRefused(408, "This request did not arrive in time; send it again.") from None
    if not data:
        raise invalid("This request has no body; send a JSON object.")
    if len(data) < 2**20:
        return _parsed(bytes(data))
    return await asyncio.to_thread(_parsed, bytes(data))  # other clients' replies go on meanwhile


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        reason = f": {error.msg} at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise invalid(f"The body of this request is no JSON{reason}.") from None
    if not isinstance(found, dict):
        raise invalid("The body of this request must be a JSON object.")
    if _is_deep(found):
        raise invalid(f"The body of this request has more than {_DEEPEST} arrays and objects within each other.")
    return found


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _is_deep(found: Any) -> bool:
    level = [found]
    for _ in range(_DEEPEST):
        level = [
            each
            for one in level
            for each in (one.values() if isinstance(one, dict) else one)
            if isinstance(each, dict | list)
        ]
        if not level:
            return False
    return True


def checked(kind: type[_Body], body: dict[str, Any]) -> _Body:
    """Raises RequestRefused, which names the first field that is wrong."""
    try:
        return kind.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = _place(first["loc"])
        said = str(first["msg"]).removeprefix("Value error, ")[:_LONGEST_WORDS].rstrip(".")
        told = f"“{place}” cannot be used: {said[:1].lower()}{said[1:]}." if place else f"{said}."
        raise invalid(told, place or None) from None


def _place(loc: tuple[int | str, ...]) -> str:
    """As in messages[2].content; names of our own classes are left out."""
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


__all__ = ["ClientDisconnect", "checked", "read_json", "until_gone"]
