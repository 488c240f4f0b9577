"""How the server is reached, and which programs may use it."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from engine.values.errors import SettingInvalid
from engine.values.owner import Owner
from engine.values.parameters import Parameter, check_parameters

LOOPBACK = "127.0.0.1"
USUAL_PORT = 8642
ANY_FILE = "null"  # the origin of every page that was opened from a file
_ORIGIN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/*\s]+")  # also of programs that are pages: app://obsidian.md
_LEAST_TEXT_BYTES, _BYTES_PER_TOKEN = 2 << 20, 16  # of a request


@dataclass(frozen=True, slots=True)
class Client:
    """A program that has a key of its own, and what the user allows it."""

    name: str = ""  # empty: any program on this machine, without a key
    digest: str = ""  # of its key
    is_remembered: bool = False  # what it asks is kept and learned from, as chats are
    drafts_from_chats: bool = False  # what was learned from the user's chats drafts for it, which may tell of them


@dataclass(frozen=True, slots=True)
class Asker:
    """Who sends a request."""

    owner: Owner
    is_remembered: bool = False

    @classmethod
    def of(cls, client: Client, program: str) -> Asker:
        """`program` distinguishes programs without a key."""
        return cls(Owner(client.digest or program, client.drafts_from_chats), client.is_remembered)


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """What one client may take, so that the window and the others are not hindered."""

    waiting: int = 32  # requests, besides the one that is being answered
    connections: int = 256  # that are open
    share: int = 64  # of these, from one other address, or from other users of this machine
    text_bytes: int = 4 << 20  # of a request; less where the context is small
    picture_bytes: int = 48 << 20  # of all pictures in a request, as base64
    values: int = 50_000  # of a request: texts, numbers, arrays and objects
    held_bytes: int = 64 << 20  # of all requests together, in memory
    body_s: float = 30.0  # in which it must arrive
    head_s: float = 15.0  # in which the lines before it must
    reading_s: float = 30.0  # in which all must be taken that was written so far
    next_s: float = 75.0  # until the next request

    def text_bytes_for(self, context_size: int) -> int:
        """Several times what a prompt of this many tokens takes: clients shorten theirs once it was refused."""
        return min(self.text_bytes, max(_LEAST_TEXT_BYTES, _BYTES_PER_TOKEN * context_size))


@dataclass(frozen=True, slots=True)
class ServerSettings:
    host: str = LOOPBACK
    port: Annotated[
        int, Parameter("Port", 0, 65_535, about="Other programs find the server there.", suggested=USUAL_PORT)
    ] = USUAL_PORT  # 0: any that is free
    needs_key: bool = False  # also of programs on this machine; from elsewhere, always
    is_remembered: bool = False  # what programs without a key ask is kept and learned from, as chats are
    names: tuple[str, ...] = ()  # by which other machines call this one
    origins: tuple[str, ...] = ()  # of pages whose scripts may use it
    embeddings: Path | None = None  # the model that makes them; None: none are made
    limits: ServerLimits = ServerLimits()

    def __post_init__(self) -> None:
        check_parameters(self)
        for origin in self.origins:
            if origin != ANY_FILE and not _ORIGIN.fullmatch(origin):
                raise SettingInvalid(
                    "{origin} is not the origin of a page; write one like this: http://localhost:3000", origin=origin
                )

    def allows(self, origin: str | None) -> bool:
        """True if pages from there may use it; capitals do not count."""
        return origin is not None and origin.lower() in {each.lower() for each in self.origins}

    @property
    def is_local(self) -> bool:
        """True if only programs on this machine can reach it."""
        return is_loopback(self.host)


@dataclass(frozen=True, slots=True)
class OpenServer:
    address: str
    needs_key: bool = False  # every program does


def is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
