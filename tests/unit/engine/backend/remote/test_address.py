from __future__ import annotations

import pytest

from engine.backend.remote.address import normalized, way_notice
from engine.values.errors import SettingInvalid
from engine.values.remote import RemoteModel, RemoteServer, is_reference, reference_of, server_of, split_reference


@pytest.mark.parametrize(
    ("written", "known"),
    [
        ("localhost:8080", "http://localhost:8080/v1"),
        ("http://192.168.1.5:8080/", "http://192.168.1.5:8080/v1"),
        ("192.168.1.5", "http://192.168.1.5/v1"),
        ("desk.local:1234/v1", "http://desk.local:1234/v1"),
        ("https://Example.ORG:443/api/v1/chat/completions", "https://example.org/api/v1"),
        ("example.org", "https://example.org/v1"),
        ("http://[::1]:11434/v1/models", "http://[::1]:11434/v1"),
        ("https://bücher.example/v1", "https://xn--bcher-kva.example/v1"),
        ("  http://a:80/v1/  ", "http://a/v1"),
    ],
)
def test_an_address_has_one_form(written: str, known: str) -> None:
    assert normalized(written) == known
    assert normalized(known) == known


@pytest.mark.parametrize(
    "written",
    [
        *("", "ftp://a/v1", "http://", "http://a b/v1", "http://a:99999", "file:///etc/passwd", "http://a/../b"),
        *("x" * 600, "http://a/v1\nHost: b", "http://-a/", "http://a..b/", "https://a/%2e", "http://[::1/v1"),
        *("[::1", "exa℀mple.com"),
    ],
)
def test_what_is_no_address_is_refused(written: str) -> None:
    with pytest.raises(SettingInvalid, match="is not the address of a server"):
        normalized(written)


@pytest.mark.parametrize("written", ["https://me:secret@example.org/v1", "https://example.org/v1?key=secret"])
def test_a_key_does_not_belong_in_an_address(written: str) -> None:
    with pytest.raises(SettingInvalid, match="A key or password does not belong in an address") as caught:
        normalized(written)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "is_told"),
    [("http://192.168.1.5/v1", True), ("https://192.168.1.5/v1", False), ("http://127.0.0.1:8080/v1", False)],
)
def test_a_way_that_others_can_read_along_is_told(address: str, is_told: bool) -> None:
    assert ("not encrypted" in way_notice(RemoteServer("a", address))) is is_told


def test_the_reference_of_a_model_is_no_path_and_its_identity_names_the_server() -> None:
    address = "http://192.168.1.5:8080/v1"
    model = RemoteModel("org/llama#3", reference_of(address, "org/llama#3"))
    assert is_reference(model.reference)
    assert not is_reference("/home/me/http.gguf")
    assert split_reference(model.reference) == (address, "org/llama#3")
    assert server_of(model.identity) == address
    assert server_of("0123abcd") == server_of(None) == server_of("") == ""


def test_the_name_of_a_model_is_without_the_folders_of_its_server() -> None:
    assert RemoteModel("/srv/models/llama-3.gguf", "").name == "llama-3"
    assert RemoteModel("C:\\models\\llama-3.gguf", "").name == "llama-3"
    assert RemoteModel("llama3.1:8b", "").name == "llama3.1:8b"
