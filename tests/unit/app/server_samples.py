"""Servers with models as people have them."""

from __future__ import annotations

from engine.values.events import TargetInfo
from engine.values.remote import RemoteModel, RemoteServer, ServerKind, reference_of

_DESK, _CLOUD = "http://192.168.1.5:8080/v1", "https://models.example.org/v1"


def model(address: str, name: str, context_size: int = 0, sees_pictures: bool | None = None) -> RemoteModel:
    return RemoteModel(name, reference_of(address, name), context_size, sees_pictures)


DESK = RemoteServer(
    "Workstation",
    _DESK,
    ServerKind.LLAMA_SERVER,
    models=(model(_DESK, "models/Qwen2.5-72B.gguf", 32_768), model(_DESK, "Qwen2.5-VL-7B", 8192, True)),
)
AGREED = RemoteServer(
    "Example", _CLOUD, ServerKind.VLLM, has_key=True, is_agreed=True, models=(model(_CLOUD, "llama-3.3-70b"),)
)


def on_server(server: RemoteServer) -> TargetInfo:
    """Its first model, in use."""
    first = server.models[0]
    return TargetInfo(
        first.name,
        "",
        server.name,
        first.context_size,
        0,
        0,
        speculation="It decides by itself whether to guess ahead.",
        can_draft=False,
        identity=first.identity,
        server=server,
    )


def here() -> TargetInfo:
    return TargetInfo("Tiny", "/models/tiny.gguf", "llama", 8192, 10, 2, identity="file:1")
