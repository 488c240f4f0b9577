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
from contextlib import closing
from pathlib import Path
from random import Random
from urllib.parse import urlsplit

import httpx2

from tests.attacks.attack import Outcome, Plan
from tests.fakes import remote
from tests.fakes.documents import docx, docx_paragraph
from tests.fakes.gguf import write
from tests.fakes.hub import FakeHub, serving
from tests.fakes.remote import FakeServer
from tests.fakes.tiny_models import tiny_bert

_PATIENCE_S = 280
_GLANCE_S = 0.2
_HERE = "127.0.0.1"
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
                url = _chosen(command, hub, server)
                reached, code, complaint = _traced(command, folder, hub)
                wanted = {(urlsplit(url).hostname, str(urlsplit(url).port))} if url else set()
                outcome.check(code == 0, f"{number}: {name}: {' '.join(command)} ended with {code}: {complaint}")
                outcome.check(reached == wanted, f"{number}: {name}: {' '.join(command)} reached {reached or 0}")
            num_asked += len(hub.asked) + len(server.asked)
        outcome.tried += 1
    outcome.figures = {"commands": str(num_commands), "answers of who was asked": str(num_asked)}
    return outcome


def _chosen(command: Command, hub: FakeHub, server: FakeServer) -> str:
    """The address that it may call; empty: none."""
    if command[:2] == ("models", "download"):
        return hub.url
    if command[0] == "serve":
        return _served_at(command)
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
        start_new_session=True,
    ) as process:
        if command[0] == "serve":
            _ask_server(_served_at(command), hub)
            os.killpg(process.pid, signal.SIGINT)
        _, complaint = process.communicate(timeout=_PATIENCE_S)
    reached: set[tuple[str | None, str]] = set()
    for line in trace.read_text("utf-8", "replace").splitlines():
        if _REACHING.search(line):
            reached |= {(host, port) for port, host in _ADDRESS.findall(line)}
            reached |= {(family, "") for family in _UNKNOWN.findall(line)}
    return reached, process.returncode, complaint.decode(errors="replace")[-300:]


def _served_at(command: Command) -> str:
    return f"http://{_HERE}:{command[command.index('--port') + 1]}"


def _ask_server(address: str, hub: FakeHub) -> None:
    """For replies and an embedding as soon as it is ready, also for what it would have to fetch."""
    end = time.monotonic() + _PATIENCE_S / 2
    with httpx2.Client(base_url=address, timeout=120) as http:
        while True:
            try:
                if http.get("/health").status_code == 200:
                    break
            except httpx2.TransportError:  # it does not listen yet
                if time.monotonic() > end:
                    raise
            time.sleep(_GLANCE_S)
        assert http.post("/v1/embeddings", json={"input": _WORDS[0]}).status_code == 200
        picture = {"type": "image_url", "image_url": {"url": f"{hub.url}/picture.png"}}
        for content, status in ((_WORDS[0], 200), ([{"type": "text", "text": "What is this?"}, picture], 400)):
            body = {"messages": [{"role": "user", "content": content}], "max_tokens": 8}
            assert http.post("/v1/chat/completions", json=body).status_code == status


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


def _attached(dice: Random, folder: Path, _server: FakeServer) -> tuple[Command, ...]:
    """Documents that name addresses, and one that is an address."""
    page, picture = folder / "page.html", folder / "picture.svg"
    links = "<link rel=stylesheet href=http://x.org/a.css><img src=http://x.org/a.png><iframe src=//x.org></iframe>"
    page.write_text(f"<html>{links}<p>Read this: {dice.choice(_WORDS)}</p></html>")
    picture.write_text('<svg xmlns="http://www.w3.org/2000/svg"><image href="http://example.org/b.png"/></svg>')
    document = docx(folder / "a.docx", docx_paragraph("See http://example.org/c."))
    attached = [option for file in (page, picture, document) for option in ("--attach", str(file))]
    return (("chat", "--prompt", "What is in these?", "--max-tokens", "4", *attached),)


def _clients(_dice: Random, _folder: Path, _server: FakeServer) -> tuple[Command, ...]:
    return ("clients", "add", "my editor"), ("clients", "list"), ("clients", "remove", "my editor")


def _serve(_dice: Random, folder: Path, _server: FakeServer) -> tuple[Command, ...]:
    with closing(socket.create_server((_HERE, 0))) as free:
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
    ("documents", _attached),
    ("programs", _clients),
    ("the server", _serve),
    ("a server of targets", _elsewhere),
)
