"""A server of tools that does whatever a server should not: `python rogue_server.py [--log FILE] [--on-start WHAT]`.

It speaks the Model Context Protocol over its pipes, or with `--port` over HTTP, and needs nothing but Python, so that
it starts at once. What it carries out it notes in the log, a line for each call.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Say = Callable[[dict[str, Any]], None]
LEFT_BEHIND = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(3600)"
_TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
_TOOLS = {
    "echo": "Says it again.",
    "hang": "Never answers.",
    "die": "Ends the server.",
    "flood": "Sends messages without end.",
    "flood_line": "Sends a line without end.",
    "flood_errors": "Writes to standard error without end, and then answers.",
    "deep": "Answers with something nested a hundred thousand times.",
    "garbage": "Answers with what is no message.",
    "noise": "Says other things before it answers.",
    "large": "Answers with three million letters.",
    "sample": "Wants the model to write something.",
    "elicit": "Wants to ask the user.",
    "roots": "Wants to know folders.",
    "wrong": "Answers that it failed.",
    "slow": "Answers after a moment.",
    "variable": "Answers with a variable of its environment.",
    "leave": "Leaves a process behind that is nobody's child and ignores signals to end, and answers its number.",
    "leave_bare": "Likewise, without an environment.",
}
_ASKING = {
    "sample": ("sampling/createMessage", {"messages": [], "maxTokens": 5}),
    "elicit": (
        "elicitation/create",
        {"message": "Your password?", "requestedSchema": {"type": "object", "properties": {}}},
    ),
    "roots": ("roots/list", {}),
}


class Rogue:
    def __init__(self, log: Path | None, raw: Callable[[bytes], None]) -> None:
        self._log = log
        self._raw = raw
        self._asked: dict[str, tuple[Any, Say]] = {}  # what the client was asked, and the call that waits for it

    def take(self, message: dict[str, Any], say: Say) -> None:
        if "method" not in message:
            number, waiting = self._asked.pop(str(message.get("id")), (None, say))
            told = "refused" if "error" in message else f"got {json.dumps(message.get('result'))}"
            return waiting(_answer(number, told)) if number is not None else None
        number = message.get("id")
        match message["method"]:
            case "initialize":
                version = message["params"]["protocolVersion"]
                info = {"name": "rogue", "version": "1"}
                return say(
                    _result(number, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info})
                )
            case "tools/list":
                tools = [{"name": name, "description": about, "inputSchema": _TEXT} for name, about in _TOOLS.items()]
                return say(_result(number, {"tools": tools}))
            case "tools/call":
                return self._call(number, message["params"], say)
            case "ping":
                return say(_result(number, {}))
            case _ if number is not None:
                return say({"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": "Method not found"}})
        return None

    def _call(self, number: Any, asked: dict[str, Any], say: Say) -> None:
        name, text = asked["name"], asked.get("arguments", {}).get("text", "")
        if self._log is not None:
            with self._log.open("a") as file:
                file.write(json.dumps([os.getpid(), name, text]) + "\n")
        if name in _ASKING:
            method, params = _ASKING[name]
            self._asked[f"s{number}"] = (number, say)
            say({"jsonrpc": "2.0", "id": f"s{number}", "method": method, "params": params})
            return
        if name == "hang":
            time.sleep(3600)
        if name == "die":
            os._exit(3)
        if name == "flood":
            while True:
                said = {"level": "info", "data": "x" * 1000}
                say({"jsonrpc": "2.0", "method": "notifications/message", "params": said})
        if name == "flood_line":
            while True:
                self._raw(b"[" * 65_536)
        if name == "flood_errors":
            for _ in range(100):
                os.write(2, b"e" * 10_000)
        if name == "deep":
            self._raw(b'{"jsonrpc": "2.0", "id": %d, "result": {"content": ' % number + b"[" * 100_000 + b"\n")
            return
        if name == "garbage":
            self._raw(b"{not at all\n")
            return
        if name == "noise":
            self._raw(b"Welcome to the server!\n\n[1, 2]\n")
        if name == "slow":
            time.sleep(0.3)
        if name == "variable":
            text = os.environ.get(text, "")
        if name.startswith("leave"):
            text = _left_behind({} if name == "leave_bare" else dict(os.environ))
        said = {"large": "y" * 3_000_000}.get(name, text)
        say(_answer(number, said, is_error=name == "wrong"))


def _left_behind(environment: dict[str, str]) -> str:
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if (number := os.fork()) != 0:
            os.write(writer, str(number).encode())
            os._exit(0)
        os.closerange(0, 1)
        os.dup2(writer, 1)
        os.execve(sys.executable, [sys.executable, "-I", "-c", LEFT_BEHIND], environment)
    os.wait()
    said = b""
    while not said.endswith(b"\n"):  # until it ignores them
        said += os.read(reader, 20)
    return said.strip().decode()


def _answer(number: Any, text: str, is_error: bool = False) -> dict[str, Any]:
    return _result(number, {"content": [{"type": "text", "text": text}], "isError": is_error})


def _result(number: Any, result: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "result": result}


def _over_pipes(log: Path | None) -> None:
    def raw(data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    rogue = Rogue(log, raw)
    for line in sys.stdin.buffer:
        rogue.take(json.loads(line), lambda message: raw(json.dumps(message).encode() + b"\n"))


def _over_http(log: Path | None, port: int) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            said: list[dict[str, Any]] = []
            if self.headers.get("Authorization") != "Bearer sesame":
                self.send_error(401)
                return
            if message.get("params", {}).get("name") in ("flood", "flood_line"):
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                while True:
                    self.wfile.write(b"[" * 65_536)
            Rogue(log, lambda _data: None).take(message, said.append)
            data = json.dumps(said[0]).encode() if said else b""
            self.send_response(200 if said else 202)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:
            self.send_error(405)

        def log_message(self, *_arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--log", type=Path)
    parser.add_argument("--on-start", choices=("hang", "die", "flood", "child"))
    parser.add_argument("--port", type=int)
    given = parser.parse_args()
    if given.on_start == "hang":
        time.sleep(3600)
    if given.on_start == "die":
        sys.exit("The key is missing.")
    if given.on_start == "flood":
        while True:
            sys.stdout.buffer.write(b"{" * 65_536)
    if given.on_start == "child" and os.fork() == 0:
        threading.Event().wait(3600)
    if given.port is None:
        _over_pipes(given.log)
    else:
        _over_http(given.log, given.port)


if __name__ == "__main__":
    main()
