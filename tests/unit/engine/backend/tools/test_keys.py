"""Keys of servers of tools: kept elsewhere, for one place, and filled in when a server is used."""

from __future__ import annotations

import json
import re
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

import tests.fakes.rogue_server
from engine.backend.remote.keys import Keys
from engine.backend.tools.host import ServerHost
from engine.backend.tools.interface import ServerUnusable
from engine.backend.tools.keys import ToolKeys, has_keys
from engine.backend.tools.servers import read_tool_servers, write_tool_servers
from engine.values.errors import Cancelled
from engine.values.events import Event, ToolServerChanged
from engine.values.stop_signal import StopSignal
from engine.values.tools import ServerState, Tool, ToolServer
from tests.fakes.keyring import FakeKeyring

SECRET = "sesame-4711"
FETCH = ToolServer("fetch", "fetch-server", env=(("API_KEY", SECRET), ("LOG_LEVEL", "debug")))
NOTES = ToolServer("notes", url="https://notes.example.org/mcp", headers=(("X-Any", SECRET), ("Accept", "text/plain")))


@pytest.fixture
def keyring() -> FakeKeyring:
    return FakeKeyring()


@pytest.fixture
def keys(keyring: FakeKeyring) -> ToolKeys:
    return ToolKeys(Keys(lambda: keyring))


def test_keys_leave_the_settings_and_come_back_when_they_are_used(keys: ToolKeys, keyring: FakeKeyring) -> None:
    assert has_keys((FETCH, NOTES))
    kept = keys.kept((FETCH, NOTES))
    written = write_tool_servers(kept)
    assert SECRET not in written
    assert "debug" in written
    assert not has_keys(kept)
    assert sorted(keyring.kept.values()) == [SECRET, SECRET]
    again = ToolKeys(Keys(lambda: keyring))
    assert [again.filled(each) for each in read_tool_servers(written)] == [FETCH, NOTES]
    assert keys.kept(kept) == kept, "what is kept stays as it is"


@pytest.mark.parametrize(
    ("name", "value", "is_key"),
    [
        ("GITHUB_TOKEN", "a", True),
        ("db_password", "a", True),
        ("DATABASE_URL", "postgres://robin:pw@localhost/notes", True),
        ("SOMETHING", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", True),
        ("LOG_LEVEL", "debug", False),
        ("NOTES_FOLDER", "/home/robin/notes/of/2026/november", False),
        ("API_KEY", "", False),
    ],
)
def test_what_is_a_key(name: str, value: str, is_key: bool) -> None:
    assert has_keys([replace(FETCH, env=((name, value),))]) is is_key


def test_a_key_is_for_one_place(keys: ToolKeys) -> None:
    (fetch, notes) = keys.kept((FETCH, NOTES))
    assert keys.filled(replace(fetch, name="other", args=("--fast",))).env == FETCH.env
    assert keys.filled(replace(notes, url="https://notes.example.org/v2")).headers == NOTES.headers
    for stolen in (replace(fetch, command="evil"), replace(notes, url="https://evil.example.org/mcp")):
        with pytest.raises(ServerUnusable, match="is missing; enter it again"):
            keys.filled(stolen)


def test_a_key_that_no_server_has_any_more_is_forgotten(keys: ToolKeys, keyring: FakeKeyring) -> None:
    kept = keys.kept((FETCH, NOTES))
    keys.forget_unused(kept, (replace(kept[0], name="renamed"),))
    assert [*keyring.kept.values()] == [SECRET]
    keys.forget_unused(kept[:1], ())
    assert keyring.kept == {}


def test_without_a_keyring_new_keys_are_in_memory_and_old_ones_stay_where_they_are() -> None:
    keys = ToolKeys(Keys(lambda: None))
    assert keys.kept((FETCH,), only_if_lasting=True) == (FETCH,), "nobody loses the only copy"
    (kept,) = keys.kept((FETCH,))
    assert SECRET not in write_tool_servers([kept])
    assert keys.filled(kept) == FETCH
    with pytest.raises(ServerUnusable, match="API_KEY of the tool server fetch is missing"):
        ToolKeys(Keys(lambda: None)).filled(kept)


def test_a_server_is_given_its_keys_and_one_without_them_says_so(keys: ToolKeys) -> None:
    events: list[Event] = []
    host = ServerHost(events.append, keys.filled)
    script = str(Path(tests.fakes.rogue_server.__file__))
    server = ToolServer("rogue", sys.executable, ("-I", script), env=(("API_KEY", SECRET),))
    try:
        (kept,) = keys.kept((server,))
        host.use([kept])
        (tool,) = (each for each in host.tools_of("rogue", StopSignal()) if each.name == "variable")
        assert host.call(tool, json.dumps({"text": "API_KEY"}), StopSignal()).text == SECRET
        assert host.servers == (kept,), "nobody else sees them"
        host.use([replace(kept, command="evil")])
        with pytest.raises(ServerUnusable):
            host.tools_of("rogue", StopSignal())
        told = [each for each in events if isinstance(each, ToolServerChanged)][-1]
        assert told.state is ServerState.FAILED
        assert "is missing" in told.sentence
        assert "is missing" in host.call(Tool("rogue", "variable"), "{}", StopSignal()).text
    finally:
        host.close()


def test_stop_ends_waiting_for_a_keyring_that_waits_for_its_user() -> None:
    is_asked, goes_on, stop = threading.Event(), threading.Event(), StopSignal()

    def fill(server: ToolServer) -> ToolServer:
        is_asked.set()
        goes_on.wait(20)
        return server

    def stop_it() -> None:
        is_asked.wait(20)
        stop.set()

    events: list[Event] = []
    host = ServerHost(events.append, fill)
    host.use([FETCH])
    threading.Thread(target=stop_it).start()
    with pytest.raises(Cancelled):
        host.tools_of("fetch", stop)
    assert not goes_on.is_set()
    goes_on.set()
    assert [each.state for each in events if isinstance(each, ToolServerChanged)] == [
        ServerState.STARTING,
        ServerState.ENDED,
    ]
    host.close()


def test_a_keyring_that_gives_up_waiting_ends_the_wait() -> None:
    def fill(_server: ToolServer) -> ToolServer:
        raise TimeoutError

    host = ServerHost(lambda _event: None, fill)
    host.use([FETCH])
    with pytest.raises(TimeoutError):
        host.tools_of("fetch", StopSignal())
    host.close()


def test_placeholders_are_never_alike(keys: ToolKeys) -> None:
    kept = [keys.kept((FETCH,))[0].env[0][1] for _ in range(50)]
    assert len({*kept}) == 50
    assert all(re.fullmatch("kept-key:[0-9a-f]{16}", each) for each in kept)
