"""Finds out what answers at an address, and which models it has: by its list of models, and then by what only one kind
of server has. What a server does not tell stays unknown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from engine.backend.remote.connection import ServerAnswer, ServerConnection
from engine.backend.remote.failures import unreadable
from engine.backend.remote.servers import MOST_MODELS
from engine.values.errors import RemoteFailed
from engine.values.remote import RemoteModel, RemoteServer, ServerKind, reference_of
from engine.values.stop_signal import StopSignal

_OK = 200
_LONGEST_ID = 500  # characters
_MOST_CONTEXT = 1 << 27  # tokens; no server has more
_MOST_ASKED = 24  # models of an Ollama that are looked at closely
_OWNERS = {
    "llamacpp": ServerKind.LLAMA_SERVER,
    "vllm": ServerKind.VLLM,
    "sglang": ServerKind.SGLANG,
    "slipstream": ServerKind.SLIPSTREAM,
}
_NO_CHAT = ("embed", "rerank", "whisper", "tts-")  # in the names of models that write no replies


@dataclass(frozen=True, slots=True)
class _FoundServer:
    kind: ServerKind
    models: tuple[RemoteModel, ...]


def look_at(connection: ServerConnection, stop: StopSignal) -> RemoteServer:
    """The server with its models, named after its address. Raises RemoteFailed and Stopped."""
    answer = connection.get("/models", stop)
    if answer.status != _OK:
        error = connection.refusal(answer)
        raise error if isinstance(error, RemoteFailed) else unreadable(connection.host)
    listed = _listed(answer, connection)
    kinds = {_OWNERS.get(str(each.get("owned_by")), ServerKind.OTHER) for each in listed}
    kind = kinds.pop() if len(kinds) == 1 else ServerKind.OTHER
    models = tuple(_model(each, connection.address) for each in listed)
    found = _FoundServer(kind, models)
    if kind in (ServerKind.LLAMA_SERVER, ServerKind.SLIPSTREAM):
        found = _with_props(found, connection, stop)
    elif kind is ServerKind.OTHER:
        found = _of_lm_studio(connection, stop) or _of_ollama(found, connection, stop) or found
    server = RemoteServer(connection.host, connection.address, found.kind, certificate=connection.certificate)
    return replace(server, models=tuple(each for each in found.models if not _is_no_chat(each)))


def _listed(answer: ServerAnswer, connection: ServerConnection) -> list[dict[str, Any]]:
    told = answer.json
    data = told.get("data") if isinstance(told, dict) else None
    if data is None and isinstance(told, dict) and told.get("object") == "list":
        data = []  # an Ollama without models
    if not isinstance(data, list):
        raise unreadable(connection.host)
    found = [each for each in data[:MOST_MODELS] if isinstance(each, dict) and _is_id(each.get("id"))]
    if data and not found:
        raise unreadable(connection.host)
    return found


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _LONGEST_ID and value.isprintable()


def _model(told: Mapping[str, Any], address: str) -> RemoteModel:
    meta = told.get("meta")
    context = _size(meta.get("n_ctx")) if isinstance(meta, dict) else 0
    context = context or _size(told.get("max_model_len")) or _size(told.get("context_length"))
    number = str(told["id"])
    return RemoteModel(number, reference_of(address, number), context)


def _is_no_chat(model: RemoteModel) -> bool:
    return any(each in model.id.lower() for each in _NO_CHAT)


def _size(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MOST_CONTEXT else 0


def _told(
    connection: ServerConnection, path: str, stop: StopSignal, body: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The answer to a request that only one kind of server knows; empty if this one does not, or answers nonsense."""
    try:
        if body is None:
            answer = connection.get(path, stop, at_root=True)
        else:
            answer = connection.post(path, body, stop, at_root=True)
    except RemoteFailed:
        return {}
    told = answer.json if answer.status == _OK else None
    return told if isinstance(told, dict) else {}


def _with_props(found: _FoundServer, connection: ServerConnection, stop: StopSignal) -> _FoundServer:
    """Adds what llama-server and Slipstream report about a model."""
    several = len(found.models) > 1
    models = found.models if several else tuple(_with(each, connection, stop) for each in found.models)
    return replace(found, models=models)


def _with(model: RemoteModel, connection: ServerConnection, stop: StopSignal) -> RemoteModel:
    props = _told(connection, f"/props?model={quote(model.id, safe='')}", stop)
    settings, sights, caps = (
        each if isinstance(each := props.get(name), dict) else {}
        for name in ("default_generation_settings", "modalities", "chat_template_caps")
    )
    calls = caps.get("supports_tool_calls", props.get("calls_tools"))
    return replace(
        model,
        context_size=_size(settings.get("n_ctx")) or model.context_size,
        sees_pictures=_bool(sights.get("vision")),
        calls_tools=_bool(calls),
        thinks=_bool(props.get("thinks")),
    )


def _bool(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _of_lm_studio(connection: ServerConnection, stop: StopSignal) -> _FoundServer | None:
    told = _told(connection, "/api/v0/models", stop).get("data")
    models = []
    for each in told[:MOST_MODELS] if isinstance(told, list) else ():
        if not (isinstance(each, dict) and _is_id(each.get("id")) and "compatibility_type" in each):
            continue
        if each.get("type") not in ("llm", "vlm"):
            continue
        able = each.get("capabilities")
        models.append(
            RemoteModel(
                each["id"],
                reference_of(connection.address, each["id"]),
                _size(each.get("loaded_context_length")) or _size(each.get("max_context_length")),
                sees_pictures=each["type"] == "vlm",
                calls_tools="tool_use" in able if isinstance(able, list) else None,
            )
        )
    return _FoundServer(ServerKind.LM_STUDIO, tuple(models)) if models else None


def _of_ollama(found: _FoundServer, connection: ServerConnection, stop: StopSignal) -> _FoundServer | None:
    if not isinstance(_told(connection, "/api/version", stop).get("version"), str):
        return None
    tags = _told(connection, "/api/tags", stop).get("models")
    if not isinstance(tags, list):
        return None
    running = _told(connection, "/api/ps", stop).get("models")
    contexts = {
        each.get("name"): _size(each.get("context_length"))
        for each in (running if isinstance(running, list) else ())
        if isinstance(each, dict) and isinstance(each.get("name"), str)
    }
    models: list[RemoteModel] = []
    for place, each in enumerate(found.models):
        shown = _told(connection, "/api/show", stop, {"model": each.id}) if place < _MOST_ASKED else {}
        able = shown.get("capabilities")
        context = contexts.get(each.id, 0)  # that of its file says nothing of the one that it is loaded with
        if not isinstance(able, list):
            models.append(replace(each, context_size=context))
        elif "completion" in able:
            models.append(
                replace(
                    each,
                    context_size=context,
                    sees_pictures="vision" in able,
                    calls_tools="tools" in able,
                    thinks="thinking" in able or None,
                )
            )
    return _FoundServer(ServerKind.OLLAMA, tuple(models))
