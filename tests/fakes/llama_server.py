"""Stands in for llama.cpp's llama-server: run as a program, it tells its options, or answers on a port.

It reads and writes a token in so many milliseconds by its kind of drafting, and counts as accepted half of what it
drafted."""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

_HELP = """
-m,    --model FNAME                    model path to load
--spec-type none,draft-simple,draft-eagle3,ngram-simple,ngram-map-k
                                        comma-separated list of types of speculative decoding to use (default: none)
"""
_MS = {"none": 10.0, "ngram-simple": 8.0, "ngram-map-k": 20.0}  # of a token


class _Handler(BaseHTTPRequestHandler):
    spec_type = "none"
    num_asked = 0

    def do_GET(self) -> None:
        type(self).num_asked += 1
        self._send(200 if self.num_asked > 2 else 503, {"status": "ok"})  # at first it is still loading

    def do_POST(self) -> None:
        wanted = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert wanted["temperature"] == 0
        assert wanted["cache_prompt"] is False
        written = wanted["n_predict"]
        timings = {"prompt_ms": float(len(wanted["prompt"])), "predicted_n": written}
        timings["predicted_ms"] = _MS[self.spec_type] * (written - 1)
        if self.spec_type != "none":
            timings |= {"draft_n": 4, "draft_n_accepted": 2}
        self._send(200, {"content": "said", "tokens": list(range(written)), "timings": timings})

    def log_message(self, format: str, *args: Any) -> None: ...

    def _send(self, status: int, answer: dict[str, Any]) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    arguments = sys.argv[1:]
    if "--help" in arguments:
        print(_HELP)
        return
    _Handler.spec_type = arguments[arguments.index("--spec-type") + 1]
    if _Handler.spec_type not in _MS:
        raise SystemExit("a file is missing")
    assert arguments[arguments.index("--host") + 1] == "127.0.0.1"
    HTTPServer(("127.0.0.1", int(arguments[arguments.index("--port") + 1])), _Handler).serve_forever()


if __name__ == "__main__":
    main()
