"""Commands and the window, with every call of theirs to the kernel's network traced: they reach nobody but the hub, or
the server of targets, that they were told to ask, and the server for programs nobody but who asks it. Hub and server
stand ready throughout, so that what asks unbidden finds somebody."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from urllib.parse import urlsplit

import httpx2
import psutil

from tests.attacks.attack import Outcome, Plan
from tests.fakes import remote
from tests.fakes.gguf import write
from tests.fakes.hub import FakeHub, serving
from tests.fakes.remote import FakeServer
from tests.fakes.tiny_models import tiny_bert

_PATIENCE_S = 280
_GLANCE_S = 0.2
_STRACE = ("strace", "-f", "--seccomp-bpf", "-qq", "-s", "256", "-e", "trace=network")
_REACHING = re.compile(r"\b(connect|sendto|sendmsg|sendmmsg|bind|listen)\(")
_ADDRESS = re.compile(r'sin6?_port=htons\((\d+)\).*?"([0-9a-f:.]+)"')
_UNKNOWN = re.compile(r"sa_family=AF_(?!INET6?\b|UNIX|NETLINK|UNSPEC)\w+")
_MODEL = "somebody/Tiny-GGUF"
_WORDS = ("Name three colours.", "Was ist https://example.org/?", "![x](http://example.org/x.png)", "<img src='//x/y'>")

Command = tuple[str, ...]


def run(plan: Plan) -> Outcome:
    outcome = Outcome()
    if shutil.which("strace") is None:
        outcome.failures.append("strace is not installed: sudo apt install strace")
        return outcome
    num_commands = num_asked = 0
    for number in range(plan.count):
        dice = plan.dice(number)
        name, commands = _SCENES[number % len(_SCENES)]
        folder = plan.folder / str(number)
        folder.mkdir()
        with serving() as hub, remote.serving() as server:
            hub.models[_MODEL] = {"tiny-Q8_0.gguf": write(folder / "tiny.gguf").read_bytes()}
            for command in commands(dice, folder, server):
                num_commands += 1
                url = f"http://127.0.0.1:{command[2]}" if command[0] == "serve" else _chosen(command, hub, server)
                asks = bool(url)
                reached, code, complaint = _traced(command, folder, hub)
                allowed = {(urlsplit(url).hostname, str(urlsplit(url).port))} if asks else set()
                outcome.check(code == 0, f"{number}: {name}: {' '.join(command)} ended with {code}: {complaint}")
                outcome.check(reached <= allowed, f"{number}: {name}: {' '.join(command)} reached {reached - allowed}")
                outcome.check(bool(reached) == asks, f"{number}: {name}: {' '.join(command)} reached {reached or 0}")
            num_asked += len(hub.asked) + len(server.asked)
        outcome.tried += 1
    outcome.figures = {"commands": str(num_commands), "answers of who was asked": str(num_asked)}
    return outcome


def _chosen(command: Command, hub: FakeHub, server: FakeServer) -> str:
    """The address that it may call; empty: none."""
    if command[:2] == ("models", "download"):
        return hub.url
    return server.address if command[:2] == ("servers", "add") or server.reference in command else ""


def _traced(command: Command, folder: Path, hub: FakeHub) -> tuple[set[tuple[str | None, str]], int, str]:
    """Addresses and ports that it, or a process it started, reached or waited at; its exit status, and what it said."""
    trace = folder / "trace"
    environment = {
        **os.environ,
        "SLIPSTREAM_DATA_DIR": str(folder / "data"),
        "HF_ENDPOINT": hub.url,
        "QT_QPA_PLATFORM": "offscreen",
        "http_proxy": "",
        "https_proxy": "",
        "all_proxy": "",
    }
    with subprocess.Popen(
        [*_STRACE, "-o", str(trace), "--", sys.executable, "-m", "app", *command],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        if command[0] == "serve":
            _ask(f"http://127.0.0.1:{command[2]}", process.pid)
        _, complaint = process.communicate(timeout=_PATIENCE_S)
    reached: set[tuple[str | None, str]] = set()
    for line in trace.read_text("utf-8", "replace").splitlines():
        if _REACHING.search(line):
            reached |= {(host, port) for port, host in _ADDRESS.findall(line)}
            reached |= {(family, "") for family in _UNKNOWN.findall(line)}
    return reached, process.returncode, complaint.decode(errors="replace")[-300:]


def _ask(address: str, tracer: int) -> None:
    """A server, when it is ready, for a reply and an embedding; then it is ended as Ctrl+C ends it."""
    end = time.monotonic() + _PATIENCE_S / 2
    with httpx2.Client(base_url=address, timeout=60) as http:
        while time.monotonic() < end:
            try:
                if http.get("/health").status_code == 200:
                    break
            except httpx2.TransportError:  # it does not listen yet
                pass
            time.sleep(_GLANCE_S)
        messages = [{"role": "user", "content": _WORDS[0]}]
        for path, body in (
            ("/v1/chat/completions", {"messages": messages, "max_tokens": 8}),
            ("/v1/embeddings", {"input": _WORDS[0]}),
        ):
            assert http.post(path, json=body).status_code == 200, path
    psutil.Process(tracer).children()[0].send_signal(signal.SIGINT)


def _smoke(_dice: Random, folder: Path, _server: FakeServer) -> tuple[Command, ...]:
    return (("--smoke", str(folder / "picture.png")),)


def _chat(dice: Random, _folder: Path, _server: FakeServer) -> tuple[Command, ...]:
    options = dice.choice(((), ("--no-speculation",), ("--drafter", "built-in"), ("--json",)))
    return (("chat", "--prompt", dice.choice(_WORDS), "--max-tokens", str(dice.randint(4, 16)), *options),)


def _replay(dice: Random, folder: Path, _server: FakeServer) -> tuple[Command, ...]:
    prompts = folder / "prompts.jsonl"
    prompts.write_text("".join(json.dumps({"id": str(n), "turns": [dice.choice(_WORDS)]}) + "\n" for n in range(3)))
    return (("replay", "--prompts", str(prompts), "--max-tokens", "8"),)


def _profile(_dice: Random, folder: Path, _server: FakeServer) -> tuple[Command, ...]:
    file = str(folder / "me.slipstream")
    return ("profile", "export", file), ("profile", "show", file), ("profile", "import", file), ("profile", "show")


def _library(dice: Random, folder: Path, _server: FakeServer) -> tuple[Command, ...]:
    file = write(folder / f"model-{dice.randrange(10**6)}.gguf", {"general.name": dice.choice(_WORDS)})
    removed = ("models", "remove", str(file), *dice.choice(((), ("--delete-file",))))
    return ("models", "add", str(folder)), ("models", "list"), removed


def _download(_dice: Random, _folder: Path, _server: FakeServer) -> tuple[Command, ...]:
    return ("models", "download", _MODEL), ("models", "list")


def _serve(_dice: Random, folder: Path, _server: FakeServer) -> tuple[Command, ...]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    return (("serve", "--port", port, "--embeddings", str(tiny_bert(folder / "bert.gguf"))),)


def _elsewhere(dice: Random, _folder: Path, server: FakeServer) -> tuple[Command, ...]:
    server.pages["/v1/models"]["data"][0]["owned_by"] = dice.choice(("llamacpp", "vllm", "nobody"))
    said = "--prompt", dice.choice(_WORDS)
    chat = ("chat", "--target", server.reference, *said, "--yes-to-server")
    return ("servers", "add", server.address), ("servers", "list"), chat, ("servers", "remove", server.address)


_SCENES: tuple[tuple[str, Callable[[Random, Path, FakeServer], tuple[Command, ...]]], ...] = (
    ("smoke", _smoke),
    ("chat", _chat),
    ("replay", _replay),
    ("profile", _profile),
    ("library", _library),
    ("what was asked for", _download),
    ("server", _serve),
    ("a server of targets", _elsewhere),
)
