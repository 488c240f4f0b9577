"""Targets on other machines, or in other programs: servers with OpenAI's interface, and the models they offer.

A server is known by its address. A model of one has a *reference*, `http://192.168.1.5:8080/v1#llama-3`, by which it is
asked for in place of a path, and an identity, `server:` before that, under which replies are stored. Neither says
anything of a key, which is in the keyring of the system alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit

from engine.values.sentences import Told
from engine.values.serving import is_loopback

SERVER_IDENTITY = "server:"  # how identities of models on servers begin
_SCHEMES = ("http://", "https://")
LONGEST_NAME = 60  # characters, of a server for people


class ServerKind(StrEnum):
    """What answers there. Found out, and good for words and for fields that not all of them know."""

    LLAMA_SERVER = "llama-server"
    VLLM = "vllm"
    SGLANG = "sglang"
    LM_STUDIO = "lm-studio"
    OLLAMA = "ollama"
    SLIPSTREAM = "slipstream"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """A model that a server offers, as far as the server reports it."""

    id: str  # by which the server knows it
    reference: str  # what `LoadOrder.target` takes
    context_size: int = 0  # tokens; 0: not reported
    sees_pictures: bool | None = None  # None: not reported
    calls_tools: bool | None = None
    thinks: bool | None = None

    @property
    def name(self) -> str:
        """A name for people: without the server's folders and the file's suffix."""
        return self.id.replace("\\", "/").rstrip("/").rpartition("/")[2].removesuffix(".gguf") or self.id

    @property
    def identity(self) -> str:
        """Its `TargetInfo.identity`."""
        return f"{SERVER_IDENTITY}{self.reference}"


@dataclass(frozen=True, slots=True)
class RemoteServer:
    """A server that the user has set up, or is about to."""

    name: str  # for people; no two have the same
    address: str  # normal form, as in `http://192.168.1.5:8080/v1`; no two have the same
    kind: ServerKind = ServerKind.OTHER
    has_key: bool = False  # whether one is kept for it
    certificate: str = ""  # SHA-256 of one that the user trusts although no authority vouches for it; empty: none
    is_agreed: bool = False  # the user has agreed to send chats there
    models: tuple[RemoteModel, ...] = ()  # as they were seen last

    @property
    def is_encrypted(self) -> bool:
        return self.address.startswith("https://")

    @property
    def host(self) -> str:
        return host_of(self.address)

    @property
    def is_local(self) -> bool:
        """True if it runs on this machine: what is sent to it passes no network."""
        return is_loopback(self.host)


@dataclass(frozen=True, slots=True)
class ServerSeen:
    """What answers at an address. A server that is kept has its name and what was agreed."""

    server: RemoteServer  # else named after its address
    notice: Told = ""  # what the user should know before chats are sent there: that the way is not encrypted


@dataclass(frozen=True, slots=True)
class ServerUntrusted:
    """No authority vouches for the certificate of this address, or it is another one than the user chose to trust. No
    key was sent. If the user trusts it, the address is looked at again with it."""

    address: str  # normal form
    certificate: str  # SHA-256 of the one that was shown now, in digits and small letters
    sentence: Told


def host_of(address: str) -> str:
    """The host without a port; empty if it is not an address, as in a damaged file."""
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def reference_of(address: str, model: str) -> str:
    return f"{address}#{model}"


def is_reference(target: str) -> bool:
    """True if this names a model on a server, or is meant to; no path does."""
    return target.lower().startswith(_SCHEMES)


def split_reference(reference: str) -> tuple[str, str]:
    """The address, as it is written, and the model; empty where none is named."""
    address, _, model = reference.partition("#")
    return address, model


def reference_in(identity: str | None) -> str:
    """The reference of the model with this identity; empty for one on this machine."""
    return identity.removeprefix(SERVER_IDENTITY) if identity and identity.startswith(SERVER_IDENTITY) else ""


def server_of(identity: str | None) -> str:
    """The address of the server that a target with this identity is on; empty for one on this machine."""
    return split_reference(reference_in(identity))[0]
