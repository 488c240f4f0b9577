from __future__ import annotations

import ssl
from collections.abc import Iterator
from typing import Any

import pytest

from engine.backend.remote import connection as connecting
from engine.backend.remote.connection import ConnectionLimits, ServerConnection, shown_certificate
from engine.backend.remote.discovery import look_at
from engine.values.errors import CertificateUntrusted, RemoteFailed
from engine.values.remote import RemoteModel, RemoteServer, ServerKind
from engine.values.stop_signal import StopSignal
from tests.fakes.remote import CERTIFICATE, FakeServer, refusing, serving

NEVER = StopSignal()
LIMITS = ConnectionLimits(answer_bytes=1 << 20)


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with serving() as server:
        yield server


def seen(server: FakeServer, key: str = "") -> RemoteServer:
    return look_at(ServerConnection(server.address, key, limits=LIMITS), NEVER)


def the_model(server: FakeServer) -> RemoteModel:
    (model,) = seen(server).models
    return model


def listed(*ids: str, **more: Any) -> dict[str, Any]:
    return {"object": "list", "data": [{"id": each, "object": "model", **more} for each in ids]}


def test_llama_server_tells_its_context_and_what_its_model_can(server: FakeServer) -> None:
    server.pages["/props"] = {
        "default_generation_settings": {"n_ctx": 2048},
        "modalities": {"vision": True},
        "chat_template_caps": {"supports_tool_calls": False},
    }
    found = seen(server)
    assert (found.kind, found.address) == (ServerKind.LLAMA_SERVER, server.address)
    (model,) = found.models
    assert (model.context_size, model.sees_pictures, model.calls_tools) == (2048, True, False)
    assert model.name == "fake-8b"
    assert model.reference == server.reference


@pytest.mark.parametrize(("owner", "kind"), [("vllm", ServerKind.VLLM), ("sglang", ServerKind.SGLANG)])
def test_servers_are_known_by_who_owns_their_models(server: FakeServer, owner: str, kind: ServerKind) -> None:
    server.pages["/v1/models"] = listed("llama", owned_by=owner, max_model_len=32_768)
    assert seen(server).kind is kind
    assert the_model(server) == RemoteModel("llama", f"{server.address}#llama", 32_768)


def test_lm_studio_tells_models_for_chats_from_others(server: FakeServer) -> None:
    server.pages["/v1/models"] = listed("qwen", "nomic", owned_by="organization_owner")
    about = {"compatibility_type": "gguf", "max_context_length": 8192}
    server.pages["/api/v0/models"] = {
        "data": [
            {"id": "qwen", "type": "vlm", "capabilities": ["tool_use"], "loaded_context_length": 4096, **about},
            {"id": "nomic", "type": "embeddings", **about},
        ]
    }
    assert seen(server).kind is ServerKind.LM_STUDIO
    model = the_model(server)
    assert (model.id, model.context_size, model.sees_pictures, model.calls_tools) == ("qwen", 4096, True, True)


def test_ollama_is_asked_what_each_model_can(server: FakeServer) -> None:
    server.pages |= {
        "/v1/models": listed("llava:7b", owned_by="library"),
        "/api/version": {"version": "0.13"},
        "/api/tags": {"models": [{"name": "llava:7b"}]},
        "/api/ps": {"models": [{"name": "llava:7b", "context_length": 4096}]},
        "/api/show": {"capabilities": ["completion", "vision"]},
    }
    assert seen(server).kind is ServerKind.OLLAMA
    model = the_model(server)
    assert (model.context_size, model.sees_pictures, model.calls_tools) == (4096, True, False)


def test_of_a_server_that_nobody_knows_the_models_are_known(server: FakeServer) -> None:
    server.pages["/v1/models"] = listed("large", "text-embedding-3", owned_by="somebody")
    found = seen(server)
    assert found.kind is ServerKind.OTHER
    assert [each.id for each in found.models] == ["large"]
    assert found.models[0].sees_pictures is found.models[0].calls_tools is None


def test_a_key_is_sent_to_the_server_and_a_wrong_one_is_told(server: FakeServer) -> None:
    server.key = "sk-1"
    with pytest.raises(RemoteFailed, match="does not accept the key, or requires one"):
        seen(server, "sk-2")
    assert seen(server, "sk-1").models


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ({"hello": "world"}, "answers like no server"),
        ([1, 2], "answers like no server"),
        ({"data": [{"id": 5}, "x", {"id": ""}]}, "answers like no server"),
        ({"data": "much"}, "answers like no server"),
        (lambda visit: visit.tell(b"<html>Log in</html>", kind="text/html"), "answers like no server"),
        (lambda visit: visit.tell(b"[" * 200_000), "answers like no server"),
        (lambda visit: visit.tell(b'{"data": [{"id": "a", "max_model_len": NaN}]}'), "answers like no server"),
        (lambda visit: visit.tell(b"", 302, Location="http://127.0.0.1:9/v1/models"), "redirects to another address"),
        (lambda visit: visit.tell(b"{}", Content_Encoding="gzip"), "answers like no server"),
        (lambda visit: visit.tell(b" " * (2 << 20)), "sends more than a reply can be"),
        (refusing(500), r" failed \("),
        (refusing(404), "refuses this"),
    ],
)
def test_what_is_no_list_of_models_is_told(server: FakeServer, page: object, sentence: str) -> None:
    server.pages["/v1/models"] = page
    with pytest.raises(RemoteFailed, match=sentence):
        seen(server)


def test_a_server_that_says_nothing_is_not_waited_for_for_ever(server: FakeServer) -> None:
    server.pages["/v1/models"] = lambda visit: visit.server.over.wait()
    with pytest.raises(RemoteFailed, match="stopped answering"):
        look_at(ServerConnection(server.address, limits=ConnectionLimits(answer_s=0.2)), NEVER)


def test_absurd_values_count_as_not_told(server: FakeServer) -> None:
    server.pages["/v1/models"] = listed("a", owned_by="vllm", max_model_len=10**400)
    assert the_model(server).context_size == 0
    server.pages["/v1/models"] = listed("a", owned_by="llamacpp", meta=["n_ctx"])
    server.pages["/props"] = {"default_generation_settings": 5, "modalities": {"vision": "yes"}}
    assert the_model(server) == RemoteModel("a", f"{server.address}#a")


def test_where_nobody_listens_nothing_is_reached() -> None:
    with pytest.raises(RemoteFailed, match="cannot be reached"):
        look_at(ServerConnection("http://127.0.0.1:1/v1", limits=LIMITS), NEVER)


def test_a_certificate_that_nobody_vouches_for_is_looked_at_and_trusted_alone() -> None:
    with serving(is_encrypted=True) as server:
        with pytest.raises(CertificateUntrusted, match="Nobody vouches for the certificate"):
            look_at(ServerConnection(server.address, "sk-1"), NEVER)
        shown = shown_certificate(server.address, NEVER)
        assert not server.asked, "nothing was sent before the certificate was known"
        assert look_at(ServerConnection(server.address, "sk-1", shown), NEVER).models
        asked = len(server.asked)
        with pytest.raises(CertificateUntrusted, match="presents a different certificate from the one you"):
            look_at(ServerConnection(server.address, "sk-1", "ab" * 32), NEVER)
        assert len(server.asked) == asked


def test_a_server_that_does_not_speak_https_is_told(server: FakeServer) -> None:
    with pytest.raises(RemoteFailed, match="does not speak https"):
        look_at(ServerConnection(server.address.replace("http:", "https:")), NEVER)


def test_a_certificate_that_an_authority_vouches_for_needs_no_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    vouched = ssl.create_default_context(cafile=str(CERTIFICATE))
    monkeypatch.setattr(connecting, "usual_context", lambda: vouched)
    with serving(is_encrypted=True) as server:
        assert look_at(ServerConnection(server.address, "sk-1", limits=LIMITS), NEVER).models
        elsewhere = server.address.replace("127.0.0.1", "localhost")  # which is not its name
        with pytest.raises(CertificateUntrusted):
            look_at(ServerConnection(elsewhere, "sk-1", limits=LIMITS), NEVER)
