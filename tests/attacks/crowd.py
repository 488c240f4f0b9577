"""32 programs ask the server of the open window, which somebody chats in, for as many seconds as there are tries:
`python -m tests.attacks crowd --count 600` for ten minutes. Then the window is closed while the programs go on asking.

Every reply belongs to its request, the chats hold what was typed in the window alone, the window holds no more memory
in the end than when it was warm, and nothing of it is left when it has ended.
"""

from __future__ import annotations

import gc
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

import psutil

from engine.backend.storage import Repository
from tests.attacks.attack import Outcome, Plan
from tests.attacks.crowd_programs import FIRST
from tests.attacks.desk import Desk
from tests.attacks.soak import Look, theil_sen

_REST_S = 4.0  # at most, between replies
_REPLY = 24  # tokens, in the window
_WARM_UP = 0.4  # of the time
_LOOK_S = 1.0
_BLOCK = 20  # looks: the least of them is between two replies
_MOST_GROWTH = 0.05  # from the first warm look to the last, by a line through all
_SHORT_S = 300  # what is made once still grows then
_MOST_SHORT_GROWTH = 0.15
_PATIENCE_S = 60.0
_LASTING = {"lexing_0"}  # threads that the next window would use


def run(plan: Plan) -> Outcome:
    outcome = Outcome()
    known = _thread_names() | _LASTING
    port = _free_port()
    store = plan.folder / "store"
    store.mkdir()
    settings = {"version": 2, "has_chatted": True, "reply_length": _REPLY, "server": True, "server_port": port}
    (store / "settings.json").write_text(json.dumps(settings))
    with _Programs(plan.seed) as programs:
        with Desk(plan.folder) as desk:
            desk.until(lambda: bool(desk.window.signs.server.toolTip()))
            programs.begin(f"http://127.0.0.1:{port}")
            chat = _chat(outcome, plan, desk)
            programs.end()
        _check_ended(outcome, port, programs, known)
        told = programs.told()
    outcome.failures += told["wrong"]
    outcome.tried = sum(told["statuses"].values()) + len(chat.prompts)
    outcome.check(told["statuses"].get("200", 0) > 0, "no program was answered")
    _check_store(outcome, store, chat.prompts)
    _check_memory(outcome, chat.looks, plan.count)
    outcome.figures["answers"] = ", ".join(f"{status} × {count}" for status, count in sorted(told["statuses"].items()))
    waits = f"{median(chat.waits_s):.1f} s, at most {max(chat.waits_s):.1f} s"
    outcome.figures["in the window"] = f"{len(chat.prompts)} replies in {waits}"
    return outcome


@dataclass
class _Chat:
    prompts: list[str]
    waits_s: list[float]  # until each reply was there
    looks: list[Look]


def _chat(outcome: Outcome, plan: Plan, desk: Desk) -> _Chat:
    """Somebody who asks again when a reply is there, and begins a new chat now and then."""
    chat = _Chat([], [], [])
    begun = time.monotonic()
    with desk.watching() as held, _looking(chat.looks):
        while time.monotonic() < begun + plan.count:
            dice = plan.dice(len(chat.prompts))
            prompt = f"Tell me of {dice.choice(('rivers', 'bread', 'winter', 'music'))} {len(chat.prompts)}"
            if chat.prompts and dice.random() < 0.2:
                desk.window.new_action.trigger()
                desk.until(lambda: not desk.window.transcript.messages)
            asked = time.monotonic()
            reply = desk.ask(prompt)
            chat.waits_s.append(time.monotonic() - asked)
            desk.studio.pass_time(dice.uniform(0, _REST_S))
            chat.prompts.append(prompt)
            outcome.check(str(FIRST)[:3] + "0" not in reply, f"the window shows what a program was told: {reply[:200]}")
    outcome.figures["the window"] = str(held)
    return chat


@contextmanager
def _looking(looks: list[Look]) -> Iterator[None]:
    """From a thread, as memory is to be seen in the middle of replies, too."""
    is_over = threading.Event()

    def look() -> None:
        while not is_over.wait(_LOOK_S):
            looks.append(Look.now(len(looks)))

    thread = threading.Thread(target=look, name="looking")
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


class _Programs:
    """In a process of their own, so that they share no lock with the window."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.process: subprocess.Popen[str] | None = None

    def __enter__(self) -> _Programs:
        return self

    def __exit__(self, *_error: object) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()

    def begin(self, address: str) -> None:
        command = [sys.executable, "-m", "tests.attacks.crowd_programs", address, str(self._seed)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def end(self) -> None:
        """From now on they are not wrong if nobody answers; they go on until theirs is answered, or cannot be."""
        assert self.process is not None
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def told(self) -> dict[str, Any]:
        assert self.process is not None
        out, _ = self.process.communicate(timeout=_PATIENCE_S)
        found: dict[str, Any] = json.loads(out)
        return found


def _check_ended(outcome: Outcome, port: int, programs: _Programs, known: set[str]) -> None:
    assert programs.process is not None
    children = psutil.Process().children(recursive=True)
    left = [
        each
        for each in children
        if each.pid != programs.process.pid and "resource_tracker" not in " ".join(each.cmdline())
    ]
    outcome.check(not left, f"processes are left over: {left}")
    end = time.monotonic() + _PATIENCE_S
    while (names := _thread_names() - known) and time.monotonic() < end:
        time.sleep(0.1)
    outcome.check(not names, f"threads are left over: {names}")
    with closing(socket.socket()) as connection:
        outcome.check(connection.connect_ex(("127.0.0.1", port)) != 0, "the server still listens")


def _check_store(outcome: Outcome, store: Any, prompts: list[str]) -> None:
    with closing(Repository.open(store)) as repository:
        chats = [repository.open_conversation(each.id).messages for each in repository.list_conversations()]
    asked = sorted(each.text for messages in chats for each in messages if each.role.value == "user")
    outcome.check(asked == sorted(prompts), f"{len(asked)} prompts are stored of {len(prompts)}, or others")
    replies = sum(len(messages) for messages in chats) - len(asked)
    outcome.check(replies == len(prompts), f"{replies} replies are stored to {len(prompts)} prompts")


def _check_memory(outcome: Outcome, looks: list[Look], seconds: int) -> None:
    gc.collect()
    warm = looks[int(_WARM_UP * len(looks)) :]
    lows: dict[int, int] = {}
    for each in warm:
        block = each.reply // _BLOCK
        lows[block] = min(lows.get(block, each.memory), each.memory)
    if len(lows) < 2:
        outcome.figures["memory"] = "too short to tell"
        return
    rise, begin = theil_sen(lows)
    growth = rise * (max(lows) - min(lows)) / begin
    most = _MOST_SHORT_GROWTH if seconds < _SHORT_S else _MOST_GROWTH
    outcome.check(growth < most, f"memory grew by {growth:.1%}")
    for name, counts in (("threads", [each.threads for each in warm]), ("open files", [each.files for each in warm])):
        third = max(1, len(counts) // 3)
        grown = median(counts[-third:]) - median(counts[:third])
        outcome.check(grown < 8, f"{grown:.0f} more {name}")
    most_held = max(each.memory for each in warm)
    outcome.figures["memory"] = f"{begin / 2**20:.0f} MB, {growth:+.1%}, at most {most_held / 2**20:.0f} MB"
    outcome.figures["lows"] = " ".join(f"{low >> 20}" for low in lows.values())
    outcome.figures["at the end"] = f"{looks[-1].threads} threads, {looks[-1].files} open files"


def _thread_names() -> set[str]:
    return {thread.name for thread in threading.enumerate()}


def _free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port: int = server.getsockname()[1]
        return port
