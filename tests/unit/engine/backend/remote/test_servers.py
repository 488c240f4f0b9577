from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from engine.backend.remote.keys import Keys
from engine.backend.remote.servers import Servers
from engine.values.errors import FileUnusable, NotPossible
from engine.values.places import SERVERS
from engine.values.remote import RemoteModel, RemoteServer, ServerKind, reference_of
from tests.fakes.keyring import FakeKeyring

ADDRESS = "http://192.168.1.5:8080/v1"
MODEL = RemoteModel("llama", reference_of(ADDRESS, "llama"), 4096, sees_pictures=True, calls_tools=None)
SERVER = RemoteServer("Desk", ADDRESS, ServerKind.VLLM, models=(MODEL,))


@pytest.fixture
def keyring() -> FakeKeyring:
    return FakeKeyring()


@pytest.fixture
def servers(tmp_path: Path, keyring: FakeKeyring) -> Servers:
    return Servers(tmp_path, Keys(lambda: keyring))


def test_a_server_is_kept_and_its_key_is_in_no_file(servers: Servers, tmp_path: Path, keyring: FakeKeyring) -> None:
    assert not servers.all()
    servers.save(SERVER, "sk-very-secret")
    again = Servers(tmp_path, Keys(lambda: keyring))
    assert again.all() == (replace(SERVER, has_key=True),)
    assert again.connection(ADDRESS).key == "sk-very-secret"
    assert "sk-very-secret" not in repr(again.connection(ADDRESS))
    assert [*keyring.kept.values()] == ["sk-very-secret"]
    assert not any(b"sk-very-secret" in each.read_bytes() for each in tmp_path.rglob("*") if each.is_file())


def test_a_key_stays_until_it_is_replaced_or_its_server_goes(servers: Servers, keyring: FakeKeyring) -> None:
    servers.save(SERVER, "one")
    servers.save(replace(SERVER, name="Other"))
    assert servers.connection(ADDRESS).key == "one"
    servers.save(SERVER, "two")
    assert [*keyring.kept.values()] == ["two"]
    servers.save(SERVER, "")
    assert not keyring.kept
    assert not servers.all()[0].has_key
    servers.save(SERVER, "three")
    servers.remove(ADDRESS)
    assert not keyring.kept
    assert not servers.all()


def test_a_server_is_found_however_its_address_is_written(servers: Servers) -> None:
    servers.save(SERVER, "one")
    assert servers.connection("192.168.1.5:8080").key == "one"
    assert servers.of("192.168.1.5:8080") == servers.of(ADDRESS) is not None
    assert servers.of("ftp://a") is None


def test_a_key_is_not_sent_to_another_address(servers: Servers, keyring: FakeKeyring) -> None:
    servers.save(SERVER, "one")
    moved = servers.save(replace(SERVER, address="http://10.0.0.9/v1"), replaces=ADDRESS)
    assert not moved.has_key
    assert servers.connection(moved.address).key == ""
    assert not keyring.kept
    assert [each.address for each in servers.all()] == ["http://10.0.0.9/v1"]
    assert moved.models[0].reference == "http://10.0.0.9/v1#llama"


def test_what_was_agreed_holds_for_one_address_and_certificate(servers: Servers) -> None:
    assert not servers.save(replace(SERVER, is_agreed=True)).is_agreed
    servers.agree(ADDRESS)
    assert servers.save(replace(SERVER, name="Other")).is_agreed
    assert not servers.save(replace(SERVER, certificate="AB" * 32)).is_agreed
    servers.agree(ADDRESS)
    assert not servers.save(replace(SERVER, address="http://10.0.0.9/v1"), replaces=ADDRESS).is_agreed


def test_no_two_servers_have_the_same_name(servers: Servers) -> None:
    servers.save(SERVER)
    assert servers.save(replace(SERVER, address="http://10.0.0.9/v1")).name == "Desk (2)"
    assert servers.save(replace(SERVER, name=" \n", address="http://10.0.0.8/v1")).name == "10.0.0.8"


def test_a_server_that_is_not_there_cannot_be_agreed_to(servers: Servers) -> None:
    with pytest.raises(NotPossible, match="in the list"):
        servers.agree(ADDRESS)
    with pytest.raises(NotPossible, match="in the list"):
        servers.connection(ADDRESS)


_BENT = json.dumps([{"server": {"address": "ftp://a", "models": []}, "key_name": ""}])
_ENDLESS = '[{"server": {"address": "http://a/v1", "models": [{"id": "m", "context_size": Infinity}]}, "key_name": ""}]'


@pytest.mark.parametrize("text", ["{", "[1]", '[{"server": {}}]', "[" * 100_000, _BENT, _ENDLESS, '["a"]'])
def test_a_damaged_file_is_told_and_can_be_forgotten(servers: Servers, tmp_path: Path, text: str) -> None:
    (tmp_path / SERVERS).write_text(text)
    with pytest.raises(FileUnusable, match="cannot be read, so no servers are known"):
        servers.all()
    servers.forget()
    assert not servers.all()


def test_what_is_seen_of_a_server_changes_nothing_else_of_it_and_adds_none(servers: Servers) -> None:
    servers.save(SERVER)
    servers.agree(ADDRESS)
    servers.save(replace(SERVER, name="Renamed meanwhile"))
    other = RemoteModel("new", "", 2048)
    noted = servers.note(ADDRESS, ServerKind.OLLAMA, [other])
    assert noted == servers.of(ADDRESS)
    assert (noted.name, noted.is_agreed, noted.kind) == ("Renamed meanwhile", True, ServerKind.OLLAMA)
    assert noted.models == (replace(other, reference=reference_of(ADDRESS, "new")),)
    servers.remove(ADDRESS)
    with pytest.raises(NotPossible, match="in the list"):
        servers.note(ADDRESS, ServerKind.OLLAMA, [other])
    assert not servers.all()


def test_a_key_of_a_server_that_cannot_be_kept_does_not_stay_in_the_keyring(tmp_path: Path) -> None:
    keyring = FakeKeyring()
    (tmp_path / "file").write_text("")
    servers = Servers(tmp_path / "file" / "no folder", Keys(lambda: keyring))
    with pytest.raises(FileUnusable):
        servers.save(SERVER, "one")
    assert not keyring.kept


def test_more_models_than_can_be_read_again_are_not_written(servers: Servers, tmp_path: Path) -> None:
    servers.save(SERVER)
    before = (tmp_path / SERVERS).read_bytes()
    many = tuple(RemoteModel(f"{number:04}" + "模" * 6_000, "") for number in range(1_000))
    with pytest.raises(NotPossible, match="too many models"):
        servers.save(replace(SERVER, models=many))
    assert (tmp_path / SERVERS).read_bytes() == before


def test_nobody_waits_for_a_keyring_that_waits_for_its_user(tmp_path: Path) -> None:
    asked, answered = threading.Event(), threading.Event()

    class Locked(FakeKeyring):
        def set_password(self, service: str, username: str, password: str) -> None:
            asked.set()
            answered.wait()
            super().set_password(service, username, password)

    keyring = Locked()
    servers = Servers(tmp_path, Keys(lambda: keyring))
    saving = threading.Thread(target=servers.save, args=(SERVER, "one"))
    saving.start()
    asked.wait()
    assert not servers.all()
    answered.set()
    saving.join()
    assert servers.all()[0].has_key


def test_forgetting_takes_the_keys_out_of_the_keyring(servers: Servers, tmp_path: Path, keyring: FakeKeyring) -> None:
    servers.save(SERVER, "one")
    servers.forget()
    assert not keyring.kept
    assert not (tmp_path / SERVERS).exists()


def test_keys_of_a_damaged_file_are_forgotten_too(servers: Servers, tmp_path: Path, keyring: FakeKeyring) -> None:
    servers.save(SERVER, "one")
    file = tmp_path / SERVERS
    file.write_bytes(b"?" + file.read_bytes() + b"\xff")
    servers.forget()
    assert not keyring.kept
    assert not file.exists()


def test_without_a_keyring_a_key_lasts_as_long_as_the_program(tmp_path: Path) -> None:
    servers = Servers(tmp_path, Keys(lambda: None))
    assert servers.save(SERVER, "one").has_key
    assert servers.connection(ADDRESS).key == "one"
    assert not Servers(tmp_path, Keys(lambda: None)).all()[0].has_key
    assert b"one" not in (tmp_path / SERVERS).read_bytes()
