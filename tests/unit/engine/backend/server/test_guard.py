"""Who is let in, by what a request says of itself."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from starlette.types import Message, Receive, Scope, Send

from engine.backend.server.clients import Clients
from engine.backend.server.guard import Guard
from engine.backend.server.peers import SOCKET
from engine.backend.server.refusals import RequestRefused, refused
from engine.values.asked import Refusal
from engine.values.errors import FileUnusable, NotPossible, SettingInvalid
from engine.values.places import CLIENTS
from engine.values.sentences import say
from engine.values.serving import Client, ServerSettings

LAN = ServerSettings("192.168.0.7", names=("desk.local",))


def status_of(
    settings: ServerSettings, data_dir: Path, method: str = "POST", path: str = "/v1/models", **headers: str
) -> tuple[int, Client | None]:
    """And who is let in."""
    return _asked(Guard(_inside, settings, Clients(data_dir)), method, path, **headers)


def _asked(guard: Guard, method: str, path: str, **headers: str) -> tuple[int, Client | None]:
    named = {"host": "localhost:8642"} | {name.replace("_", "-"): value for name, value in headers.items()}
    return _sent(
        guard, method, path, [(name.encode(), value.encode()) for name, value in named.items() if value != "-"]
    )


def _sent(
    guard: Guard, method: str, path: str, headers: list[tuple[bytes, bytes]], is_own: bool = True
) -> tuple[int, Client | None]:
    scope: Scope = {"type": "http", "method": method, "path": path, "headers": headers, "client": ("127.0.0.1", 5)}
    scope["state"] = {SOCKET: int(is_own)}
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    asyncio.run(guard(scope, receive, send))
    return sent[0]["status"], scope.get("state", {}).get("client")


async def _inside(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})


def test_where_the_file_of_programs_cannot_be_looked_at_a_key_lets_nobody_in(tmp_path: Path) -> None:
    clients = tmp_path / CLIENTS
    clients.symlink_to(clients)
    assert status_of(LAN, tmp_path, host="192.168.0.7", authorization="Bearer slip-1")[0] == 503


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8642", "[::1]:8642", "LOCALHOST.", "127.8.8.8"])
def test_this_machine_is_known_by_its_own_names(tmp_path: Path, host: str) -> None:
    assert status_of(ServerSettings(), tmp_path, host=host)[0] == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "192.168.0.7",
        "",
        "-",
        "a:b:c",
        "localhost:x",
    ],
)
def test_any_other_name_is_refused(tmp_path: Path, host: str) -> None:
    assert status_of(ServerSettings(), tmp_path, host=host)[0] == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:8642"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-origin"},
        {"sec_fetch_mode": "navigate"},
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_no_page_may_use_it(tmp_path: Path, method: str, headers: dict[str, str]) -> None:
    assert status_of(ServerSettings(), tmp_path, method, "/health", **headers)[0] == 403


def test_a_page_that_the_user_allows_may(tmp_path: Path) -> None:
    settings = ServerSettings(origins=("http://localhost:3000",))
    page = {"origin": "http://localhost:3000", "sec_fetch_site": "cross-site"}
    assert status_of(settings, tmp_path, **page)[0] == 200
    assert status_of(settings, tmp_path, "OPTIONS", **page)[0] == 204
    assert status_of(settings, tmp_path, origin="http://localhost:3001")[0] == 403
    for wrong in ("*", "https://*.example", "app://", "http://localhost:3000/chat", "localhost"):
        with pytest.raises(SettingInvalid):
            ServerSettings(origins=(wrong,))


@pytest.mark.parametrize("origin", ["app://obsidian.md", "vscode-webview://1a2b", "moz-extension://0-f", "null"])
def test_programs_that_are_pages_have_origins_too(tmp_path: Path, origin: str) -> None:
    settings = ServerSettings(origins=(origin,))
    assert status_of(settings, tmp_path, origin=origin)[0] == 200
    assert status_of(settings, tmp_path, origin=origin.upper())[0] == 200
    assert status_of(settings, tmp_path, origin="app://other")[0] == 403


def test_from_elsewhere_a_key_is_needed(tmp_path: Path) -> None:
    key = Clients(tmp_path).add("phone")
    for host in ("192.168.0.7:8642", "desk.local", "localhost"):
        assert status_of(LAN, tmp_path, host=host)[0] == 401
        assert status_of(LAN, tmp_path, host=host, authorization=f"Bearer {key}") == (200, Clients(tmp_path).all()[0])
        assert status_of(LAN, tmp_path, host=host, x_api_key=key)[0] == 200
        assert status_of(LAN, tmp_path, host=host, x_api_key=key + "x")[0] == 401
    assert status_of(LAN, tmp_path, host="evil.example", x_api_key=key)[0] == 403
    assert status_of(LAN, tmp_path, path="/health")[0] == 200
    assert status_of(ServerSettings(needs_key=True), tmp_path)[0] == 401


def test_wrong_keys_have_to_wait_and_the_right_one_never_does(tmp_path: Path) -> None:
    key = Clients(tmp_path).add("phone")
    guard = Guard(_inside, LAN, Clients(tmp_path))
    statuses = [_asked(guard, "GET", "/v1/models", x_api_key="wrong")[0] for _ in range(25)]
    assert statuses == [401] * 20 + [429] * 5
    assert _asked(guard, "GET", "/v1/models", x_api_key=key)[0] == 200
    assert _asked(guard, "GET", "/v1/models")[0] == 401  # it did not guess


@pytest.mark.parametrize("before", [0, 60, 98, 99, 100, 3_000])
@pytest.mark.parametrize("header", [(b"origin", b"http://evil.example"), (b"sec-fetch-site", b"cross-site")])
def test_a_page_is_found_behind_any_number_of_headers(tmp_path: Path, before: int, header: tuple[bytes, bytes]) -> None:
    headers = [(b"host", b"localhost"), *[(b"x-%d" % number, b"") for number in range(before)], header]
    status, _ = _sent(Guard(_inside, ServerSettings(), Clients(tmp_path)), "GET", "/v1/models", headers)
    assert status == (403 if len(headers) <= 100 else 431)


@pytest.mark.parametrize("first", [b"http://evil.example", b"http://localhost:3000"])
def test_what_the_guard_looks_at_comes_once(tmp_path: Path, first: bytes) -> None:
    guard = Guard(_inside, ServerSettings(origins=("http://localhost:3000",)), Clients(tmp_path))
    headers = [(b"host", b"localhost"), (b"origin", first), (b"origin", b"http://localhost:3000")]
    assert _sent(guard, "GET", "/v1/models", headers)[0] == 400
    assert _sent(guard, "GET", "/v1/models", [(b"host", b"localhost"), (b"host", b"evil.example")])[0] == 400


@pytest.mark.parametrize("settings", [ServerSettings(), ServerSettings(needs_key=True)])
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
@pytest.mark.parametrize("path", ["/health", "//v1//health/", "/v1/models", "/props", "/v1/messages", "/nothing", "/"])
def test_programs_of_others_on_this_machine_need_a_key_for_everything(
    tmp_path: Path, settings: ServerSettings, method: str, path: str
) -> None:
    guard = Guard(_inside, settings, Clients(tmp_path))
    headers = [(b"host", b"localhost")]
    assert _sent(guard, method, path, headers, is_own=False)[0] == 401
    assert _sent(guard, method, path, [*headers, (b"authorization", b"Bearer sk-any")], is_own=False)[0] == 401
    key = Clients(tmp_path).add("theirs").encode()
    assert _sent(guard, method, path, [*headers, (b"x-api-key", key)], is_own=False)[0] == 200


def test_programs_here_need_no_key_and_any_will_do(tmp_path: Path) -> None:
    assert status_of(ServerSettings(), tmp_path, authorization="Bearer sk-anything") == (200, Client())
    assert status_of(ServerSettings(is_remembered=True), tmp_path)[1] == Client(is_remembered=True)


def test_keys_are_not_kept(tmp_path: Path) -> None:
    clients = Clients(tmp_path)
    key = clients.add("my  editor", is_remembered=True)
    assert key not in (tmp_path / CLIENTS).read_text()
    assert (tmp_path / CLIENTS).stat().st_mode & 0o777 == 0o600
    known = clients.of_key(key)
    assert known is not None
    assert (known.name, known.is_remembered) == ("my editor", True)
    with pytest.raises(NotPossible):
        clients.add("my editor")
    Clients(tmp_path).change("my editor", False)  # another process
    assert not clients.all()[0].is_remembered
    clients.remove("my editor")
    assert clients.of_key(key) is None
    with pytest.raises(NotPossible):
        clients.remove("my editor")


def test_what_a_program_may_is_changed_one_by_one(tmp_path: Path) -> None:
    clients = Clients(tmp_path)
    clients.add("editor")
    assert clients.all()[0].drafts_from_chats is False
    clients.change("editor", drafts_from_chats=True)
    Clients(tmp_path).change("editor", is_remembered=True)
    (known,) = clients.all()
    assert (known.is_remembered, known.drafts_from_chats) == (True, True)
    clients.change("editor", False, False)
    (known,) = clients.all()
    assert (known.is_remembered, known.drafts_from_chats) == (False, False)


def test_what_an_older_file_does_not_say_is_not_allowed(tmp_path: Path) -> None:
    (tmp_path / CLIENTS).write_text(json.dumps([_ENTRY, _ENTRY | {"name": "b", "drafts_from_chats": "yes"}]))
    assert [(each.is_remembered, each.drafts_from_chats) for each in Clients(tmp_path).all()] == [(True, False)] * 2


_ENTRY = {"name": "a", "digest": "0" * 64, "is_remembered": True}
_ODD_DIGESTS: tuple[object, ...] = (None, 7, [], "", "é" * 64, "0" * 63, "G" * 64, "0" * 64 + "\n", "0" * 900_000)
_ODD_NAMES: tuple[object, ...] = (None, 7, ["a"], "", "\ud800", "a\nb", "a" * 61)


@pytest.mark.parametrize(
    "text",
    [
        *("{", "[1]", '[{"name": "a"}]', "[" * 100_000),
        *(json.dumps([_ENTRY | {"digest": odd}]) for odd in _ODD_DIGESTS),
        *(json.dumps([_ENTRY | {"name": odd}]) for odd in _ODD_NAMES),
    ],
)
def test_a_damaged_file_lets_nobody_in(tmp_path: Path, text: str) -> None:
    (tmp_path / CLIENTS).write_text(text)
    with pytest.raises(FileUnusable):
        Clients(tmp_path).all()
    assert status_of(LAN, tmp_path, x_api_key="slip-x")[0] == 503


def test_no_folder_of_this_machine_is_told() -> None:
    missing = say(
        "There is no file {path}; choose another ({reason}).", path="/home/me/m b.gguf", reason="at /home/x/y"
    )
    told = say("{first} {second}", first=missing, second=r"See C:\Users\me\m.gguf or http://a/b/c or ~me/d/e")
    expected = "There is no file m b.gguf; choose another (at y). See m.gguf or http://a/b/c or e"
    assert RequestRefused(503, told).as_openai()["error"]["message"] == expected
    assert refused(Refusal.TOO_LONG, told).sentence.startswith(expected)
    assert RequestRefused(404, "Ask /v1/chat/completions.").sentence == "Ask /v1/chat/completions."
