"""A model hub on loopback: the requests that huggingface_hub makes of the real one, and what can go wrong there."""

from __future__ import annotations

import hashlib
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

CERTIFICATE = Path(__file__).with_name("loopback.pem")  # for 127.0.0.1, with its key; nobody trusts it unasked
COMMIT = "0123456789abcdef0123456789abcdef01234567"
_LARGE = 10_000  # bytes; files of this size and more come from another address and have a sha256, as in Git LFS


class Asked(NamedTuple):
    path: str
    range: str  # of bytes; "" for all
    authorization: str


class FakeHub:
    """Serves `models`. Its requests are in `asked`, oldest first."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.models: dict[str, dict[str, bytes]] = {}
        self.downloads: dict[str, int] = {}  # of a model, as a search reports them
        self.asked: list[Asked] = []
        self.refused: dict[str, tuple[int, str]] = {}  # status and error code of a model
        self.cut_after: dict[str, list[int]] = {}  # bytes of a file after which the connection breaks, once each
        self.on_cut: Callable[[], None] = lambda: None
        self.false_sizes: dict[str, int] = {}  # of files, as a listing reports them
        self.body: bytes | None = None  # sent in place of a listing
        self.ignores_ranges = False
        self.false_begin: int | None = None  # where a part of a file begins, whatever was asked for
        self.contents_at = ""  # the address of another hub that has the files

    def add(self, name: str, folder: Path) -> None:
        self.models[name] = {file.name: file.read_bytes() for file in folder.iterdir()}

    def ranges(self, file: str) -> list[str]:
        """The ranges of the requests for this file."""
        return [asked.range for asked in self.asked if asked.path.startswith("/content/") and file in asked.path]

    def listing(self, name: str) -> dict[str, object]:
        """The answer to `/api/models/owner/name?blobs=true`."""
        siblings = []
        for file, data in self.models[name].items():
            size = self.false_sizes.get(file, len(data))
            sibling: dict[str, object] = {"rfilename": file, "size": size, "blobId": _git_digest(data)}
            if len(data) >= _LARGE:
                sibling["lfs"] = {"sha256": hashlib.sha256(data).hexdigest(), "size": size, "pointerSize": 134}
            siblings.append(sibling)
        return {"id": name, "sha": COMMIT, "siblings": siblings}


@contextmanager
def serving(is_guarded: bool = False) -> Iterator[FakeHub]:
    """A hub that serves until the end of the block; a guarded one over https, with `CERTIFICATE`."""
    server = _Server(("127.0.0.1", 0), _Handler)
    if is_guarded:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    hub = server.hub = FakeHub(f"{'https' if is_guarded else 'http'}://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.01), name="fake-hub")
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # joined at the end
    hub: FakeHub


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        hub = self.server.hub
        hub.asked.append(Asked(self.path, self.headers.get("Range", ""), self.headers.get("Authorization", "")))
        match self.path.split("?")[0].strip("/").split("/"):
            case ["api", "models"]:
                self._search(hub, parse_qs(urlsplit(self.path).query))
            case ["api", "models", owner, name]:
                self._list(hub, f"{owner}/{name}")
            case [owner, name, "resolve", revision, *file] if revision == COMMIT:
                self._redirect(f"{hub.contents_at}/content/{owner}/{name}/{'/'.join(file)}")
            case ["content", owner, name, *file]:
                self._send(hub, f"{owner}/{name}", "/".join(file))
            case _:
                self._refuse(404, "EntryNotFound")

    def _search(self, hub: FakeHub, query: dict[str, list[str]]) -> None:
        words = query.get("search", [""])[0].lower().split()
        found = [
            {
                "id": name,
                "downloads": hub.downloads.get(name, 0),
                "likes": 1,
                "lastModified": "2025-05-01T10:00:00.000Z",
            }
            for name, files in hub.models.items()
            if any(file.endswith(".gguf") for file in files) and all(word in name.lower() for word in words)
        ]
        self._answer(200, json.dumps(found).encode() if hub.body is None else hub.body)

    def _list(self, hub: FakeHub, name: str) -> None:
        if name in hub.models and name not in hub.refused:
            self._answer(200, json.dumps(hub.listing(name)).encode() if hub.body is None else hub.body)
        else:
            self._refuse(*hub.refused.get(name, (404, "RepoNotFound")))

    def _send(self, hub: FakeHub, name: str, file: str) -> None:
        data = hub.models[name][file]
        asked = self.headers.get("Range", "")
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and not hub.ignores_ranges else 0
        self.send_response(206 if start else 200)
        if start:
            start = start if hub.false_begin is None else hub.false_begin
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(data) - start))
        self.send_header("X-Repo-Commit", COMMIT)
        self.end_headers()
        cuts = hub.cut_after.get(file)
        if cuts:
            self.wfile.write(data[start : start + cuts.pop(0)])
            self.wfile.flush()
            hub.on_cut()
            self.close_connection = True
        else:
            self.wfile.write(data[start:])

    def _redirect(self, path: str) -> None:
        self.send_response(302)
        self.send_header("Location", path)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _refuse(self, status: int, code: str) -> None:
        self._answer(status, b"{}", {"X-Error-Code": code})

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        """Nothing on the terminal."""


def _git_digest(data: bytes) -> str:
    return hashlib.sha1(f"blob {len(data)}\0".encode() + data, usedforsecurity=False).hexdigest()
