from __future__ import annotations

import sys
import threading
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend

from engine.backend.remote import keys
from engine.backend.remote.keys import KEY_VARIABLE, Keys, checked_key, key_of_environment, system_keyring
from engine.values.errors import SettingInvalid
from tests.fakes.keyring import FakeKeyring


class Broken(FakeKeyring):
    def set_password(self, *_told: str) -> None:
        raise RuntimeError("locked")

    def get_password(self, *_told: str) -> str | None:
        raise RuntimeError("locked")


class Forgetful(FakeKeyring):
    def set_password(self, *_told: str) -> None:
        """As the null backend of `keyring` does."""


class PlainFile(KeyringBackend):
    """As `keyrings.alt` has one."""

    priority = 9

    def get_password(self, *_told: str) -> str | None:
        return None

    def set_password(self, *_told: str) -> None:
        raise AssertionError("a key would be in a plain file")


def test_a_key_is_in_the_keyring_and_leaves_it() -> None:
    fake = FakeKeyring()
    held = Keys(lambda: fake)
    assert held.put("a", "sk-1")
    assert not held.notice
    assert not held.holds("a")
    assert Keys(lambda: fake).get("a") == "sk-1"
    held.remove("a")
    assert not fake.kept
    assert not held.get("a")


@pytest.mark.parametrize("found", [None, Broken(), Forgetful()])
def test_a_key_that_no_keyring_takes_is_held_until_the_program_ends(found: FakeKeyring | None) -> None:
    held = Keys(lambda: found)
    assert not held.put("a", "sk-1")
    assert held.get("a") == "sk-1"
    assert held.holds("a")
    assert not Keys(lambda: found).get("a")
    held.remove("a")
    assert not held.get("a")


def test_a_keyring_is_asked_once_for_a_key() -> None:
    fake = FakeKeyring()
    Keys(lambda: fake).put("a", "sk-1")
    held = Keys(lambda: fake)
    assert held.get("a") == "sk-1"
    fake.kept.clear()  # as one that is locked meanwhile
    assert held.get("a") == "sk-1"
    held.put("a", "sk-2")
    assert held.get("a") == "sk-2"


def test_the_user_is_told_that_keys_are_not_kept() -> None:
    assert "stay in memory until you close Slipstream" in Keys(lambda: None).notice


def test_a_keyring_that_waits_for_its_user_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "_PATIENCE_S", 0.05)
    over = threading.Event()

    class Waiting(FakeKeyring):
        def get_password(self, service: str, username: str) -> str | None:
            over.wait(10)
            return super().get_password(service, username)

    assert Keys(Waiting).get("a") == ""
    over.set()


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the keyring of Linux")
def test_a_keyring_that_writes_plain_files_is_never_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever `keyring` itself is told to use."""
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={tmp_path / 'none'}")
    usual = keyring.get_keyring()
    keyring.set_keyring(PlainFile())  # type: ignore[no-untyped-call]
    try:
        assert system_keyring() is None
        assert not Keys().put("a", "sk-1")
    finally:
        keyring.set_keyring(usual)


@pytest.mark.parametrize("key", ["a b", "x" * 1_001, "ключ", "a\nAuthorization: b"])
def test_what_cannot_be_sent_is_no_key(key: str) -> None:
    with pytest.raises(SettingInvalid, match="This is not a key"):
        checked_key(key)


def test_the_command_line_takes_a_key_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    assert key_of_environment() == ""
    monkeypatch.setenv(KEY_VARIABLE, " sk-2\n")
    assert key_of_environment() == "sk-2"
