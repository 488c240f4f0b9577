"""A site on loopback that is asked for the newest release, and answers in one way or another."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Site(ThreadingHTTPServer):
    """Answers with `answer`. The headers of its requests are in `asked`, oldest first."""

    daemon_threads = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Visit)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.asked: list[dict[str, str]] = []
        self.answer: Callable[[Visit], None] = lambda visit: visit.tell({"tag_name": "v0.2.0"})
        self.over = threading.Event()

    def handle_error(self, *_arguments: object) -> None:
        """A broken connection is no error."""


class Visit(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        self.server.asked.append({name.lower(): value for name, value in self.headers.items()})
        self.server.answer(self)

    def tell(self, answer: object, status: int = 200) -> None:
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Set-Cookie", "who=you")
        self.end_headers()
        self.wfile.write(body)

    def lead(self, place: str) -> None:
        self.send_response(302)
        self.send_header("Location", place)
        self.send_header("Set-Cookie", "who=you")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def flood(self) -> None:
        self.send_response(200)
        self.end_headers()
        while not self.server.over.is_set():
            self.wfile.write(b" " * 65536)

    def say_nothing(self) -> None:
        self.server.over.wait()

    def log_message(self, *_arguments: object) -> None:
        """Nothing on the terminal."""


@contextmanager
def serving() -> Iterator[Site]:
    """A site that answers until the end of the block."""
    site = Site()
    thread = threading.Thread(target=lambda: site.serve_forever(poll_interval=0.01), name="fake-site")
    thread.start()
    try:
        yield site
    finally:
        site.over.set()
        site.shutdown()
        thread.join()
        site.server_close()
