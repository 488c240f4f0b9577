"""A server with OpenAI's interface on loopback that says what it is told to, rightly or wrongly."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CERTIFICATE = Path(__file__).with_name("loopback.pem")  # for 127.0.0.1, with its key; nobody trusts it unasked

MODEL = "models/fake-8b.gguf"
Reaction = Callable[["Visit"], None]


class FakeServer(ThreadingHTTPServer):
    """`replies` are used up one by one, the last one for good. `pages` are what else it has, by path."""

    daemon_threads = True

    def __init__(self, owner: str = "llamacpp", context_size: int = 4096) -> None:
        super().__init__(("127.0.0.1", 0), Visit)
        about = {"id": MODEL, "object": "model", "owned_by": owner, "meta": {"n_ctx": context_size}}
        self.pages: dict[str, Any] = {"/v1/models": {"object": "list", "data": [about]}}
        self.replies: list[Reaction] = [streaming("Hello", " there", ".")]
        self.asked: list[tuple[str, dict[str, str], dict[str, Any]]] = []  # path, headers and body of each request
        self.key = ""  # that it wants
        self.over = threading.Event()
        self.closed = threading.Event()  # a client has gone away in the middle of a reply
        self.scheme = "http"

    @property
    def address(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.server_port}/v1"

    @property
    def reference(self) -> str:
        return f"{self.address}#{MODEL}"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """Of the replies that were asked for."""
        return [body for path, _, body in self.asked if path.endswith("/chat/completions")]

    def handle_error(self, *_arguments: object) -> None:
        """A broken connection is no error."""


class Visit(BaseHTTPRequestHandler):
    server: FakeServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._note({})
        path = self.path.partition("?")[0]
        page = self.server.pages.get(path)
        if callable(page):
            page(self)
        elif not self._is_let_in():
            self.tell({"error": {"message": "Invalid API key", "code": 401}}, 401)
        elif page is None:
            self.tell({"error": {"message": "File Not Found", "code": 404}}, 404)
        else:
            self.tell(page)

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length", 0))
        body = json.loads(self.rfile.read(length) or b"{}")
        self._note(body)
        if not self._is_let_in():
            self.tell({"error": {"message": "Invalid API key", "code": 401}}, 401)
        elif self.path.endswith("/chat/completions"):
            replies = self.server.replies
            (replies.pop(0) if len(replies) > 1 else replies[0])(self)
        else:
            self.do_page()

    def do_page(self) -> None:
        page = self.server.pages.get(self.path)
        self.tell({"error": "not found"} if page is None else page, 404 if page is None else 200)

    def _note(self, body: dict[str, Any]) -> None:
        self.server.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))

    def _is_let_in(self) -> bool:
        return not self.server.key or self.headers.get("authorization") == f"Bearer {self.server.key}"

    def tell(self, answer: object, status: int = 200, kind: str = "application/json", **headers: str) -> None:
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def begin(self, kind: str = "text/event-stream", **headers: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def send(self, data: bytes) -> None:
        try:
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        except OSError:
            self.server.closed.set()
            raise

    def event(self, data: object) -> None:
        text = data if isinstance(data, str) else json.dumps(data)
        self.send(f"data: {text}\n\n".encode())

    def end(self) -> None:
        self.send(b"")

    def drop(self) -> None:
        """The connection breaks in the middle."""
        self.close_connection = True
        self.wfile.flush()
        self.connection.close()

    def log_message(self, *_arguments: object) -> None:
        """Nothing on the terminal."""


def delta(text: str = "", finish: str | None = None, **more: Any) -> dict[str, Any]:
    told = {"content": text} if text else {}
    return {"choices": [{"index": 0, "delta": told | more, "finish_reason": finish}]}


def usage(prompt: int, reply: int) -> dict[str, Any]:
    return {"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": reply}}


def streaming(
    *pieces: str | dict[str, Any], finish: str | None = "stop", done: bool = True, more: Sequence[Any] = ()
) -> Reaction:
    """A reply as most servers write it; `more` follows its end."""

    def react(visit: Visit) -> None:
        visit.begin()
        for piece in pieces:
            visit.event(delta(piece) if isinstance(piece, str) else piece)
        if finish is not None:
            visit.event(delta(finish=finish))
        for each in more:
            visit.event(each)
        if done:
            visit.event("[DONE]")
        visit.end()

    return react


def breaking(*pieces: str) -> Reaction:
    """The connection is lost behind these."""

    def react(visit: Visit) -> None:
        visit.begin()
        for piece in pieces:
            visit.event(delta(piece))
        visit.drop()

    return react


def refusing(status: int, message: str = "", **headers: str) -> Reaction:
    return lambda visit: visit.tell({"error": {"message": message, "code": status}}, status, **headers)


def hanging(*pieces: str) -> Reaction:
    """Nothing more comes behind these, until the client goes away."""

    def react(visit: Visit) -> None:
        visit.begin()
        for piece in pieces:
            visit.event(delta(piece))
        while not visit.server.over.is_set():
            visit.send(b": still there\n\n")
            time.sleep(0.02)

    return react


def silent(visit: Visit) -> None:
    """Not even a status comes."""
    visit.server.over.wait()
    visit.close_connection = True


@contextmanager
def serving(
    owner: str = "llamacpp", is_encrypted: bool = False, certificate: Path = CERTIFICATE
) -> Iterator[FakeServer]:
    """A server that answers until the end of the block."""
    server = FakeServer(owner)
    if is_encrypted:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        server.scheme = "https"
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.01), name="fake-server")
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        thread.join()
        server.server_close()
