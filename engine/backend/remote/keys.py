"""Keys of servers: in the keyring of the system, or else in memory until the program ends. Never in a file of ours.

Only keyrings that the system itself protects are used. `keyring` would also take one that another package brings, and
some of these write keys into plain files.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from engine.values.errors import SettingInvalid
from engine.values.sentences import say

_logger = logging.getLogger("slipstream.remote")

KEY_VARIABLE = "SLIPSTREAM_SERVER_KEY"  # of the command line, for the one server that is asked
_SERVICE = "Slipstream"
_LONGEST = 1_000  # characters; Windows keeps 1,280
_PATIENCE_S = 60.0  # for a keyring that asks the user to unlock it
_T = TypeVar("_T")


class Keyring(Protocol):
    def get_password(self, service: str, username: str) -> str | None: ...
    def set_password(self, service: str, username: str, password: str) -> None: ...
    def delete_password(self, service: str, username: str) -> None: ...


def system_keyring() -> Keyring | None:
    """None where there is none that the system protects, or it cannot be reached."""
    try:
        found = _backend()
        return found() if found.viable else None
    except Exception as error:  # whatever a system service raises
        _logger.info("no keyring: %s", type(error))
        return None


def _backend() -> Any:
    if sys.platform == "darwin":
        from keyring.backends.macOS import Keyring as MacKeyring

        return MacKeyring
    if sys.platform == "win32":
        from keyring.backends.Windows import WinVaultKeyring

        return WinVaultKeyring
    from keyring.backends.SecretService import Keyring as SecretKeyring

    return SecretKeyring


def checked_key(key: str) -> str:
    """The key as it is sent. Raises SettingInvalid."""
    key = key.strip()
    if len(key) > _LONGEST or not key.isascii() or not key.isprintable() or " " in key:
        raise SettingInvalid(
            "This is not a key: a key has up to {most:,} letters, digits and symbols, and no spaces; copy it again.",
            most=_LONGEST,
        )
    return key


class Keys:
    """Keys by names that their owners choose. Any thread may call any method."""

    def __init__(self, find: Callable[[], Keyring | None] = system_keyring) -> None:
        self._find = find
        self._lock = threading.Lock()
        self._in_memory: dict[str, str] = {}
        self._read: dict[str, str] = {}  # from the keyring, which may be locked later, and need not be asked twice
        self._keyring: Keyring | None = None
        self._was_looked_for = False

    @property
    def notice(self) -> str:
        """What the user should know, in a sentence; empty where keys are kept."""
        if self._found() is not None:
            return ""
        return say(
            "Slipstream can use no keyring on this system (or it is locked), so keys stay in memory until you close "
            "Slipstream and are asked for again after that."
        )

    def holds(self, name: str) -> bool:
        """True if the key is in memory."""
        return name in self._in_memory

    def get(self, name: str) -> str:
        """Empty where there is none."""
        kept = self._in_memory.get(name) or self._read.get(name)
        keyring = None if kept else self._found()
        if kept or keyring is None:
            return kept or ""
        found = self._asked(lambda: keyring.get_password(_SERVICE, name) or "", "")
        with self._lock:
            self._read[name] = found
        return found

    def put(self, name: str, key: str) -> bool:
        """Returns True if the key outlives the program."""
        keyring = self._found()

        def keep() -> bool:
            assert keyring is not None
            keyring.set_password(_SERVICE, name, key)
            return keyring.get_password(_SERVICE, name) == key

        is_kept = keyring is not None and self._asked(keep, False)
        with self._lock:
            self._read.pop(name, None)
            if is_kept:
                self._in_memory.pop(name, None)
            else:
                self._in_memory[name] = key
        return is_kept

    def remove(self, name: str) -> None:
        with self._lock:
            self._in_memory.pop(name, None)
            self._read.pop(name, None)
        keyring = self._found()
        if keyring is not None:
            self._asked(lambda: keyring.delete_password(_SERVICE, name), None)

    def _found(self) -> Keyring | None:
        with self._lock:
            if not self._was_looked_for:
                self._keyring, self._was_looked_for = self._asked(self._find, None), True
            return self._keyring

    def _asked(self, ask: Callable[[], _T], otherwise: _T) -> _T:
        """Asks on a separate thread: a keyring may wait for a user who never comes."""
        told: list[_T] = []

        def work() -> None:
            try:
                told.append(ask())
            except Exception as error:  # whatever a system service raises; its words may name the server
                _logger.info("the keyring failed: %s", type(error))

        thread = threading.Thread(target=work, name="slipstream-keyring", daemon=True)
        thread.start()
        thread.join(_PATIENCE_S)
        return told[0] if told else otherwise


def key_of_environment() -> str:
    """Raises SettingInvalid."""
    return checked_key(os.environ.get(KEY_VARIABLE, ""))
