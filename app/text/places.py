"""Where models run, in words: on this computer, or on a server with a host and a kind."""

from __future__ import annotations

from pathlib import Path

from app.text.translation import QT_TRANSLATE_NOOP, Words, translate
from engine.values.remote import RemoteModel, RemoteServer, ServerKind, host_of, is_reference, split_reference
from engine.values.serving import is_loopback

_KINDS = {
    ServerKind.LLAMA_SERVER: "llama-server",
    ServerKind.VLLM: "vLLM",
    ServerKind.SGLANG: "SGLang",
    ServerKind.LM_STUDIO: "LM Studio",
    ServerKind.OLLAMA: "Ollama",
    ServerKind.SLIPSTREAM: "Slipstream",
    ServerKind.OTHER: QT_TRANSLATE_NOOP("Places", "server with OpenAI's interface"),
}
_GROUP = 4  # letters of a fingerprint that are read at once
Places = Words("Places")


def host_words(address: str) -> str:
    """`192.168.1.5`, without a port, which is enough to tell machines apart."""
    return host_of(address) or address


def place_words(address: str) -> str:
    """`192.168.1.5:8080`, or that it is this machine."""
    place = _place(address)
    if is_loopback(host_of(address)):
        return Places.tr("{place} (this computer)", place=place)
    return place


def server_words(server: RemoteServer) -> str:
    """`desk (192.168.1.5:8080)`; just the address if that is its name."""
    place = place_words(server.address)
    return place if server.name in (place, _place(server.address), server.host) else f"{server.name} ({place})"


def kind_words(kind: ServerKind) -> str:
    return translate("Places", _KINDS[kind])


def on_host(name: str, address: str) -> str:
    """The model's name and host; `address` is empty if it runs here."""
    return Places.tr("{model} on {host}", model=name, host=host_words(address)) if address else name


def name_in(target: str) -> str:
    """The name of a target given by a path, a name or a reference."""
    if is_reference(target):
        address, model = split_reference(target)
        return RemoteModel(model, target).name if model else host_words(address)
    return Path(target).stem


def fingerprint_words(certificate: str) -> str:
    """The fingerprint in groups that are easy to compare."""
    return " ".join(certificate[start : start + _GROUP] for start in range(0, len(certificate), _GROUP))


def _place(address: str) -> str:
    """The host with its port."""
    return address.partition("://")[2].partition("/")[0] or address
