"""Commands and the window, with every call of theirs to the kernel's network traced: they reach nobody but the hub that
they were told to ask. A hub stands ready throughout, so that what asks unbidden finds somebody."""

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
from tests.fakes.documents import docx, docx_paragraph
from tests.fakes.gguf import write
from tests.fakes.hub import FakeHub, serving

_PATIENCE_S = 280
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
        with serving() as hub:
            hub.models[_MODEL] = {"tiny-Q8_0.gguf": write(folder / "tiny.gguf").read_bytes()}
            for command in commands(dice, folder):
                num_commands += 1
                asks = command[:2] == ("models", "download")
                reached, code, complaint = _traced(command, folder, hub)
                wanted = {(urlsplit(hub.url).hostname, str(urlsplit(hub.url).port))} if asks else set()
                wanted |= {(_HERE, command[-1])} if command[0] == "serve" else set()
                outcome.check(code == 0, f"{number}: {name}: {' '.join(command)} ended with {code}: {complaint}")
                outcome.check(reached == wanted, f"{number}: {name}: {' '.join(command)} reached {reached or 0}")
            num_asked += len(hub.asked)
        outcome.tried += 1
    outcome.figures = {"commands": str(num_commands), "answers of the hub that was asked": str(num_asked)}
    return outcome


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
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        if command[0] == "serve":
            _ask_server(int(command[-1]), hub)
            os.killpg(process.pid, signal.SIGINT)
        _, complaints = process.communicate(timeout=_PATIENCE_S)
    reached: set[tuple[str | None, str]] = set()
    for line in trace.read_text("utf-8", "replace").splitlines():
        if _REACHING.search(line):
            reached |= {(host, port) for port, host in _ADDRESS.findall(line)}
            reached |= {(family, "") for family in _UNKNOWN.findall(line)}
    return reached, process.returncode, complaints.decode(errors="replace")[-300:]


def _ask_server(port: int, hub: FakeHub) -> None:
    """Also for what it would have to fetch."""
    end, address = time.monotonic() + _PATIENCE_S, f"http://{_HERE}:{port}"
    while True:
        try:
            if httpx2.get(f"{address}/health", timeout=5).status_code == 200:
                break
        except httpx2.TransportError:
            if time.monotonic() > end:
                raise
        time.sleep(0.2)
    picture = {"type": "image_url", "image_url": {"url": f"{hub.url}/picture.png"}}
    for content in ("Name three colours.", [{"type": "text", "text": "What is this?"}, picture]):
        body = {"messages": [{"role": "user", "content": content}], "max_tokens": 8}
        httpx2.post(f"{address}/v1/chat/completions", json=body, timeout=120)


def _smoke(_dice: Random, folder: Path) -> tuple[Command, ...]:
    return (("--smoke", str(folder / "picture.png")),)


def _chat(dice: Random, _folder: Path) -> tuple[Command, ...]:
    options = dice.choice(((), ("--no-speculation",), ("--drafter", "built-in"), ("--json",)))
    return (("chat", "--prompt", dice.choice(_WORDS), "--max-tokens", str(dice.randint(4, 16)), *options),)


def _replay(dice: Random, folder: Path) -> tuple[Command, ...]:
    prompts = folder / "prompts.jsonl"
    prompts.write_text("".join(json.dumps({"id": str(n), "turns": [dice.choice(_WORDS)]}) + "\n" for n in range(3)))
    return (("replay", "--prompts", str(prompts), "--max-tokens", "8"),)


def _profile(_dice: Random, folder: Path) -> tuple[Command, ...]:
    file = str(folder / "me.slipstream")
    return ("profile", "export", file), ("profile", "show", file), ("profile", "import", file), ("profile", "show")


def _library(dice: Random, folder: Path) -> tuple[Command, ...]:
    file = write(folder / f"model-{dice.randrange(10**6)}.gguf", {"general.name": dice.choice(_WORDS)})
    removed = ("models", "remove", str(file), *dice.choice(((), ("--delete-file",))))
    return ("models", "add", str(folder)), ("models", "list"), removed


def _download(_dice: Random, _folder: Path) -> tuple[Command, ...]:
    return ("models", "download", _MODEL), ("models", "list")


def _attached(dice: Random, folder: Path) -> tuple[Command, ...]:
    """Documents that name addresses, and one that is an address."""
    page, picture = folder / "page.html", folder / "picture.svg"
    links = "<link rel=stylesheet href=http://x.org/a.css><img src=http://x.org/a.png><iframe src=//x.org></iframe>"
    page.write_text(f"<html>{links}<p>Read this: {dice.choice(_WORDS)}</p></html>")
    picture.write_text('<svg xmlns="http://www.w3.org/2000/svg"><image href="http://example.org/b.png"/></svg>')
    document = docx(folder / "a.docx", docx_paragraph("See http://example.org/c."))
    attached = [option for file in (page, picture, document) for option in ("--attach", str(file))]
    return (("chat", "--prompt", "What is in these?", "--max-tokens", "4", *attached),)


def _clients(_dice: Random, _folder: Path) -> tuple[Command, ...]:
    return ("clients", "add", "my editor"), ("clients", "list"), ("clients", "remove", "my editor")


def _serve(_dice: Random, _folder: Path) -> tuple[Command, ...]:
    with closing(socket.create_server((_HERE, 0))) as free:
        port = free.getsockname()[1]
    return (("serve", "--no-speculation", "--port", str(port)),)


_SCENES: tuple[tuple[str, Callable[[Random, Path], tuple[Command, ...]]], ...] = (
    ("smoke", _smoke),
    ("chat", _chat),
    ("replay", _replay),
    ("profile", _profile),
    ("library", _library),
    ("what was asked for", _download),
    ("documents", _attached),
    ("programs", _clients),
    ("the server", _serve),
)
