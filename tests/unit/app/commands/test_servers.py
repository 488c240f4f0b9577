"""`slipstream servers`, and `slipstream chat` with a model of one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import engine.backend.remote.keys
from engine.backend.remote.keys import KEY_VARIABLE
from engine.use_cases.chat import resolve
from engine.values.config import EngineConfig
from engine.values.errors import NotPossible
from tests.fakes.keyring import FakeKeyring
from tests.fakes.remote import FakeServer, serving
from tests.unit.app.commands.test_chat_tools import Terminal
from tests.unit.app.commands.test_cli import run

Patch = pytest.MonkeyPatch
Output = pytest.CaptureFixture[str]


class _Pipe:
    def isatty(self) -> bool:
        return False


@pytest.fixture(autouse=True)
def keyring(monkeypatch: Patch) -> FakeKeyring:
    fake = FakeKeyring()

    class Keys(engine.backend.remote.keys.Keys):
        def __init__(self) -> None:
            super().__init__(lambda: fake)

    monkeypatch.setattr(engine.backend.remote.keys, "Keys", Keys)
    return fake


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with serving() as server:
        yield server


def chat(monkeypatch: Patch, server: FakeServer, *more: str) -> int:
    return run(monkeypatch, "chat", "--target", server.reference, "--prompt", "Hello?", *more)


def test_a_server_is_added_listed_and_removed(
    monkeypatch: Patch, capsys: Output, server: FakeServer, keyring: FakeKeyring, tmp_path: Path
) -> None:
    server.key = "sk-very-secret"
    assert run(monkeypatch, "servers", "add", server.address) == 2
    assert "does not accept the key, or requires one" in capsys.readouterr().err
    monkeypatch.setattr("getpass.getpass", lambda *_told: "sk-very-secret")
    assert run(monkeypatch, "servers", "add", server.address, "--name", "Desk", "--key") == 0
    assert server.reference in capsys.readouterr().out
    assert run(monkeypatch, "servers", "list", "--json") == 0
    (known,) = json.loads(capsys.readouterr().out)
    assert known == {
        "name": "Desk",
        "address": server.address,
        "kind": "llama-server",
        "has_key": True,
        "is_agreed": False,
        "models": [server.reference],
    }
    assert not any(b"very-secret" in each.read_bytes() for each in tmp_path.rglob("*") if each.is_file())
    assert run(monkeypatch, "servers", "remove", "Desk") == 0
    assert not keyring.kept
    assert run(monkeypatch, "servers", "remove", "Desk") == 2


def test_what_is_kept_of_a_server_is_used_when_it_is_looked_at_again(
    monkeypatch: Patch, server: FakeServer, keyring: FakeKeyring
) -> None:
    server.key = "sk-1"
    monkeypatch.setattr("getpass.getpass", lambda *_told: "sk-1")
    assert run(monkeypatch, "servers", "add", server.address, "--key") == 0
    assert run(monkeypatch, "servers", "add", server.address) == 0
    monkeypatch.setattr("getpass.getpass", lambda *_told: " ")
    assert run(monkeypatch, "servers", "add", server.address, "--key") == 0, "an empty line keeps the key"
    assert [*keyring.kept.values()] == ["sk-1"]
    server.key = "sk-2"
    assert run(monkeypatch, "servers", "add", server.address) == 2
    monkeypatch.setattr("getpass.getpass", lambda *_told: "sk-2")
    assert run(monkeypatch, "servers", "add", server.address, "--key") == 0
    assert [*keyring.kept.values()] == ["sk-2"]


def test_a_key_comes_from_the_environment(monkeypatch: Patch, capsys: Output, server: FakeServer) -> None:
    server.key = "sk-1"
    assert chat(monkeypatch, server, "--yes-to-server") == 2
    monkeypatch.setenv(KEY_VARIABLE, "sk-1")
    assert chat(monkeypatch, server, "--yes-to-server") == 0
    assert capsys.readouterr().out.strip() == "Hello there."


def test_a_certificate_is_shown_and_trusted_by_its_digits(monkeypatch: Patch, capsys: Output) -> None:
    with serving(is_encrypted=True) as server:
        assert run(monkeypatch, "servers", "add", server.address) == 2
        told = capsys.readouterr().err
        assert "Nobody vouches for the certificate" in told
        digits = told.split("certificate is ")[1].split()[0]
        assert run(monkeypatch, "servers", "add", server.address, "--trust", digits.upper()) == 0
        assert chat(monkeypatch, server, "--yes-to-server") == 0
        assert "Hello there." in capsys.readouterr().out
        assert run(monkeypatch, "servers", "add", server.address) == 0, "it is trusted already"


def test_nothing_is_sent_where_nobody_can_be_asked(monkeypatch: Patch, capsys: Output, server: FakeServer) -> None:
    monkeypatch.setattr("sys.stdin", _Pipe())
    assert chat(monkeypatch, server) == 2
    told = capsys.readouterr().err
    assert "No chat has been sent to" in told
    assert "--yes-to-server agrees" in told
    assert not server.bodies


def test_whoever_sits_there_is_asked_once(monkeypatch: Patch, capsys: Output, server: FakeServer) -> None:
    assert run(monkeypatch, "servers", "add", server.address) == 0
    monkeypatch.setattr("sys.stdin", Terminal("no"))
    assert chat(monkeypatch, server) == 2
    assert not server.bodies
    monkeypatch.setattr("sys.stdin", Terminal("y"))
    assert chat(monkeypatch, server) == 0
    monkeypatch.setattr("sys.stdin", _Pipe())
    assert chat(monkeypatch, server, "--json") == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (told["text"], told["target"]) == ("Hello there.", "fake-8b")


def test_what_needs_a_model_here_says_so(
    monkeypatch: Patch, capsys: Output, server: FakeServer, tmp_path: Path
) -> None:
    assert run(monkeypatch, "serve", "--target", server.reference) == 2
    assert "is on a server already" in capsys.readouterr().err
    with pytest.raises(NotPossible, match="needs a model on this machine"):  # so `bench`, `replay` and `distill`
        resolve(EngineConfig(tmp_path), server.reference)
    assert not server.asked


def test_the_list_asks_nobody(monkeypatch: Patch, capsys: Output, server: FakeServer) -> None:
    assert run(monkeypatch, "servers", "add", server.address) == 0
    asked = len(server.asked)
    assert run(monkeypatch, "servers", "list") == 0
    assert "llama-server" in capsys.readouterr().out
    assert len(server.asked) == asked
