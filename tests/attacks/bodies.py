"""Requests whose few bytes become much memory or time, and programs that leave, while the window is open beside them.

What is measured: the memory of the app, how long any thread waited for the interpreter, how long the window's was held,
and how long it takes from Enter to the first word while a program's reply has no end. The programs are a process of
their own: `python -m tests.attacks.bodies ADDRESS` does what it is told, line by line.
"""

from __future__ import annotations

import json
import random
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from tests.attacks.attack import Memory, Outcome, Plan

if TYPE_CHECKING:  # the programs need no window
    from engine.values.growing_reply import ReplySoFar
    from tests.attacks.desk import Desk

_MEMORY_BAR, _HELD_BAR_MS, _BEGUN_BAR_S = 150 << 20, 300.0, 0.5
_LOADING_S = 10.0
_PART = 1 << 16
_LARGE, _SMALL = (8 << 20, 64 << 20), (1 << 17, 3 << 20)  # bytes
_CHAT, _BARE, _MESSAGES, _EMBED = "/v1/chat/completions", "/v1/completions", "/v1/messages", "/v1/embeddings"
_SAID = '{"role":"user","content":"Hi"},'
_PICTURE = '{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,'
# Where, how it begins, what comes again and again, how it ends; small ones are what they should be.
_BODIES = {
    "lists": (_CHAT, '{"messages":[', "[],"),
    "objects": (_MESSAGES, '{"model":"x","max_tokens":4,"messages":[', "{},"),
    "lists of prompts": (_BARE, '{"prompt":[', "[1],", "[1]]}"),
    "numbers": (_BARE, '{"prompt":[', "1,", "1]}"),
    "fractions": (_EMBED, '{"input":[', "1.2345678e300,"),
    "small messages": (_CHAT, '{"messages":[', _SAID, f"{_SAID[:-1]}]}}"),
    "parts": (
        *(_MESSAGES, '{"model":"x","max_tokens":4,"messages":[{"role":"user","content":['),
        *('{"type":"text","text":"x"},', '{"type":"text","text":"x"}]}]}'),
    ),
    "predicted parts": (
        *(_CHAT, f'{{"messages":[{_SAID[:-1]}],"prediction":{{"type":"content","content":['),
        *('{"type":"text","text":"x"},', '{"type":"text","text":"x"}]},"max_tokens":4}'),
    ),
    "a prediction": (
        *(_CHAT, f'{{"messages":[{_SAID[:-1]}],"max_tokens":4,"prediction":{{"type":"content","content":"'),
        *("all of it ", '"}}'),
    ),
    "a text": (_CHAT, '{"messages":[{"role":"user","content":"', "some words ", '"}]}'),
    "a word": (_MESSAGES, '{"model":"x","max_tokens":4,"messages":[{"role":"user","content":"', "é", '"}]}'),
    "emoji": (_CHAT, '{"messages":[{"role":"user","content":"😀', "words ", '"}]}'),
    "escapes": (_BARE, '{"prompt":"', "\\u0041", '"}'),
    "halves of signs": (_BARE, '{"prompt":"', "\\ud83d", '"}'),
    "a picture": (_CHAT, _PICTURE, "iVBORw0KGgoA", '"}}]}]}'),
    "escaped base64": (_CHAT, _PICTURE, "iVBO\\/\\u002Bkg", '"}}]}]}'),
    "depth": (_CHAT, '{"messages":', "["),
    "depth of objects": (_MESSAGES, "", '{"a":'),
    "quotes": (_CHAT, "", '"'),
    "spaces": (_EMBED, "", " \n"),
}


def run(plan: Plan) -> Outcome:
    from engine.values.serving import ServerSettings
    from tests.attacks.desk import Desk, Held

    outcome, memory, held, interpreter = Outcome(), Memory(), Held(), _Interpreter()
    with Desk(plan.folder) as desk:
        engine = desk.bridge.engine
        opened = engine.ask(engine.server.use, ServerSettings(port=0)).result()
        assert opened is not None
        desk.ask("Hi.")
        desk.studio.pass_time(_LOADING_S)  # all that is made once is there
        alone = _taken_up(desk)
        with _programs(opened.address) as programs:
            programs.tell(["small messages"], 1)
            desk.until(lambda: programs.has_told)
            with memory.watched(), interpreter.watched():
                for number in range(plan.count):
                    kinds = _kinds(plan, number)
                    programs.tell(kinds, number)
                    with desk.watching() as now:
                        desk.until(lambda: programs.has_told)
                    held = held.worst(now)
                    outcome.tried += 1
                    outcome.check(now.is_within_bar, f"{number}: {kinds}: the interface thread was {now}")
                    outcome.check(desk.studio.app.bridge is not None, "the window is gone")
            outcome.check(programs.failures == [], f"{programs.failures}")
            outcome.figures["statuses"] = programs.statuses
            beside = [_beside_endless(desk, programs) for _ in range(3)]
    outcome.check(memory.most < _MEMORY_BAR, f"memory: {memory}")
    waited = interpreter.longest_ms - 2 * held.beside_ms
    outcome.check(waited < _HELD_BAR_MS, f"a thread waited {interpreter.longest_ms:.0f} ms for the interpreter")
    begun = max(each[0] for each in beside)
    outcome.check(begun < _BEGUN_BAR_S, f"beside an endless reply, a prompt was taken up after {begun:.2f} s")
    outcome.figures |= {
        "memory": str(memory),
        "interpreter": f"held for {interpreter.longest_ms:.0f} ms",
        "interface": str(held),
        "from Enter until a prompt is taken up, and its first word": (
            f"{_told(alone)}; beside an endless reply {' and '.join(map(_told, beside))}"
        ),
    }
    return outcome


def _kinds(plan: Plan, number: int) -> list[str]:
    """Each comes once before any comes again; every third time two come at once."""
    names = [*_BODIES]
    plan.dice(number // len(names)).shuffle(names)
    kinds = [names[number % len(names)]]
    return [*kinds, plan.dice(-number).choice(names)] if number % 3 == 2 else kinds


def _beside_endless(desk: Desk, programs: _Programs) -> tuple[float, float]:
    """A program's reply without an end is being written."""
    programs.begin_endless()
    desk.until(lambda: programs.has_told)
    found = _taken_up(desk)
    programs.end_endless()
    desk.until(lambda: programs.has_told)
    return found


def _taken_up(desk: Desk) -> tuple[float, float]:
    """Seconds from Enter until the window's prompt is taken up, and until the first word of its reply."""
    from PySide6.QtCore import Qt
    from PySide6.QtTest import QTest

    from engine.values.events import ReplyFinished
    from tests.fakes.ear import Grew

    desk.type("Name a colour.")
    desk.events.clear()
    told: list[ReplySoFar] = []

    def note(_request: object, so_far: ReplySoFar) -> None:
        told.append(so_far)

    desk.bridge._progressed.connect(note)
    began = time.monotonic()
    QTest.keyClick(desk.window.prompt_box.editor, Qt.Key.Key_Return)
    desk.until(lambda: any(so_far.num_prompt_tokens for so_far in told))
    begun = time.monotonic() - began
    desk.until(lambda: desk.studio.heard(Grew))
    spoken = time.monotonic() - began
    desk.until(lambda: desk.studio.heard(ReplyFinished))
    desk.bridge._progressed.disconnect(note)
    return begun, spoken


def _told(seconds: tuple[float, float]) -> str:
    return f"{seconds[0]:.2f} s, {seconds[1]:.2f} s"


class _Interpreter:
    """How late a thread is that wants the interpreter every millisecond."""

    def __init__(self) -> None:
        self.longest_ms = 0.0

    @contextmanager
    def watched(self) -> Iterator[None]:
        is_over = threading.Event()

        def beat() -> None:
            last = time.perf_counter()
            while not is_over.is_set():
                time.sleep(0.001)
                now = time.perf_counter()
                self.longest_ms, last = max(self.longest_ms, 1000 * (now - last) - 1), now

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()


class _Programs:
    """In a process of their own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._told = threading.Event()
        self.failures: list[str] = []
        self._statuses: Counter[int] = Counter()
        threading.Thread(target=self._hear, daemon=True).start()

    def tell(self, kinds: list[str], seed: int) -> None:
        self._say({"kinds": kinds, "seed": seed})

    def begin_endless(self) -> None:
        self._say({"endless": True})

    def end_endless(self) -> None:
        self._say({"endless": False})

    @property
    def has_told(self) -> bool:
        return self._told.is_set()

    @property
    def statuses(self) -> str:
        return ", ".join(f"{status or 'none'} × {count}" for status, count in sorted(self._statuses.items()))

    def _say(self, order: dict[str, object]) -> None:
        self._told.clear()
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def _hear(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            for kind, status in json.loads(line).items():
                self._statuses[status] += 1
                if status not in (0, 200, 400, 413, 501, 503):  # 0: it was closed while the rest was still being sent
                    self.failures.append(f"{kind}: {status}")
            self._told.set()


@contextmanager
def _programs(address: str) -> Iterator[_Programs]:
    command = [sys.executable, "-m", "tests.attacks.bodies", address]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield _Programs(process)
    finally:
        process.kill()
        process.wait()


def _do(address: str) -> None:
    """Runs in the process of the programs."""
    endless: socket.socket | None = None
    for line in sys.stdin:
        order = json.loads(line)
        told: dict[str, int] = {}
        if "kinds" in order:
            with ThreadPoolExecutor(2) as pool:
                seeds = (f"{order['seed']}:{place}" for place in range(2))
                statuses = pool.map(_sent, [address] * 2, order["kinds"], seeds)
            told = dict(zip(order["kinds"], statuses, strict=True))
        elif order["endless"]:
            endless = _connected(address)
            body = json.dumps(
                {"messages": [{"role": "user", "content": "Count."}], "grammar": _ENDLESS, "stream": True}
            )
            head = f"POST {_CHAT} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
            endless.sendall((head + body).encode())
            heard = b""
            while heard.count(b"data:") < 5:
                heard += endless.recv(_PART)
        elif endless is not None:
            endless.close()
        print(json.dumps(told), flush=True)


_ENDLESS = 'root ::= [a-z]+ " " root'


def _sent(address: str, kind: str, seed: str) -> int:
    """The status; 0 where the connection was closed before it could be read."""
    path, begin, again, *end = _BODIES[kind]
    dice = random.Random(seed)
    is_declared = dice.random() < 0.5  # then it may be refused before any of it is sent
    num_bytes = dice.randint(*dice.choice([_SMALL, _LARGE]))
    part = (again * (_PART // len(again))).encode()
    parts = [begin.encode(), *[part] * (num_bytes // len(part)), "".join(end).encode()]
    length = f"Content-Length: {sum(map(len, parts))}" if is_declared else "Transfer-Encoding: chunked"
    with _connected(address) as connection:
        with suppress(ConnectionError):
            connection.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{length}\r\n\r\n".encode())
            for each in filter(None, parts):
                connection.sendall(each if is_declared else b"%x\r\n%s\r\n" % (len(each), each))
            if not is_declared:
                connection.sendall(b"0\r\n\r\n")
        with suppress(ConnectionError):
            heard = connection.recv(_PART)
            return int(heard.split()[1]) if heard else 0
    return 0


def _connected(address: str) -> socket.socket:
    host, port = address.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), 60)


if __name__ == "__main__":
    _do(sys.argv[1])
