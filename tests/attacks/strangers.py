"""Programs of another user of this machine ask the server: they are refused at every address, whatever they send and
however they leave, while those of its own user are answered without a key. Needs root, to become that other user."""

from __future__ import annotations

import contextlib
import json
import os
import random
import socket
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from statistics import median
from typing import Any

from engine.speculation.model.files.sources import starter_path
from tests.attacks.attack import Outcome, Plan
from tests.fakes.served import Served, served
from tests.fakes.target import FakeTarget, says

_NOBODY = 65_534
_PATIENCE_S = 20.0
_PATHS = ("/health", "/v1/health", "/v1/models", "/models", "/v1/models/fake", "/props", "/", "/nothing", "*")
_ASKED = ("/v1/chat/completions", "/chat/completions", "/v1/completions", "/completions", "/v1/messages")
_BODY = json.dumps({"model": "x", "max_tokens": 4, "prompt": "a", "messages": [{"role": "user", "content": "a"}]})
_LAST = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
_HEADERS = ("", "Authorization: Bearer sk-any\r\n", "x-api-key: slip-x\r\n", "X-Forwarded-For: 127.0.0.1\r\n")
_HELD = 300  # connections, which are more than there may be
_Order = dict[str, Any]
_held: list[socket.socket] = []  # in the process of the other user
_WAYS = ("asks", "asks twice", "closes", "resets", "half closes", "same port")


def run(plan: Plan) -> Outcome:
    outcome = Outcome()
    if os.getuid() != 0:
        outcome.figures["left out"] = "only root can become another user"
        return outcome
    target = FakeTarget(says("Hello."), 4_096)
    with _stranger() as ask, served(plan.folder / "data", target) as found:
        host, _, port = found.serving.address.removeprefix("http://").rpartition(":")
        statuses: Counter[str] = Counter()
        found.said("Hi.")
        before = target.num_evaluated
        for number in range(plan.count):
            dice = plan.dice(number)
            order = _order(dice, host, int(port))
            answers = ask(order)
            outcome.tried += 1
            for each in answers:
                statuses[each[9:12]] += 1
                outcome.check(each[9:12] in ("400", "401", "429"), f"{number}: {order['way']} got {each[:300]!r}")
                _check_words(outcome, found, each, number)
            is_answered = bool(answers) or order["way"] in ("closes", "resets")
            outcome.check(is_answered, f"{number}: no answer to {order}")
        _hold(outcome, ask, found)
        time.sleep(0.5)  # what was sent in passing has been read by now
        outcome.check(target.num_evaluated == before, "the target was set to work for another user")
        outcome.check(found.said("Hi.")["choices"][0]["message"]["content"] == "Hello.", "its own user is not answered")
        outcome.figures["answers"] = ", ".join(f"{status} × {count}" for status, count in sorted(statuses.items()))
        outcome.figures["a connection of its own user"] = f"{_connection_ms(found):.2f} ms"
    return outcome


def _hold(outcome: Outcome, ask: Callable[[_Order], list[str]], found: Served) -> None:
    """Another user holds all connections; the own one is answered on one that is open, and on a new one."""
    there = {"from": "127.0.0.1", "port": int(found.serving.address.rpartition(":")[2])}
    ask({"way": "holds", **there})
    begun = time.monotonic()
    kept, new = found.http.get("/health"), _connected(0, there)
    with closing(new):
        new.sendall(_LAST)
        told = _read(new)
    outcome.check(kept.status_code == 200 and told[9:12] == "200", f"{kept} and {told!r} beside held connections")
    outcome.figures["beside held connections"] = f"{1000 * (time.monotonic() - begun):.0f} ms"
    ask({"way": "lets go"})


def _check_words(outcome: Outcome, found: Served, answer: str, number: int) -> None:
    for words in (str(found.data_dir), str(starter_path().parent), "Hello.", "fake"):
        outcome.check(words not in answer, f"{number}: another user is told {words}: {answer[:300]!r}")


def _connection_ms(found: Served) -> float:
    """With one request, the median."""
    times = []
    there = {"from": "127.0.0.1", "port": int(found.serving.address.rpartition(":")[2])}
    for _ in range(50):
        begun = time.perf_counter()
        with closing(_connected(0, there)) as own:
            own.sendall(_LAST)
            _read(own)
        times.append(1000 * (time.perf_counter() - begun))
    return median(times)


def _order(dice: random.Random, host: str, port: int) -> _Order:
    path = dice.choice(_PATHS + _ASKED)
    method = dice.choice(("GET", "POST", "OPTIONS", "HEAD")) if path in _PATHS else "POST"
    host = dice.choice(("localhost", host, "[::1]"))
    head = f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{dice.choice(_HEADERS)}"
    request = f"{head}Content-Length: {len(_BODY)}\r\n\r\n{_BODY}" if method == "POST" else f"{head}\r\n"
    return {"way": dice.choice(_WAYS), "request": request, "from": f"127.0.0.{dice.choice((1, 1, 2))}", "port": port}


@contextmanager
def _stranger() -> Iterator[Callable[[_Order], list[str]]]:
    """A process of another user, made before there are threads. What it yields hands it an order, and returns what it
    was answered."""
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        ours.close()
        _live(theirs)
    theirs.close()
    with closing(ours), ours.makefile("rw") as line:

        def ask(order: _Order) -> list[str]:
            if order["way"] == "same port":  # where a connection of the own user was a moment ago
                with closing(_connected(0, order)) as own:
                    own.sendall(_LAST)
                    order["own port"] = own.getsockname()[1]
                    _read(own)
            line.write(json.dumps(order) + "\n")
            line.flush()
            found: list[str] = json.loads(line.readline())
            return found

        yield ask
    os.waitpid(child, 0)


def _live(line: socket.socket) -> None:
    """Never returns."""
    try:
        os.setgroups([])
        os.setgid(_NOBODY)
        os.setuid(_NOBODY)
        with line.makefile("rw") as orders:
            for each in orders:
                try:
                    answers = _carry_out(json.loads(each))
                except OSError as error:
                    answers = [f"HTTP/1.1 {error!r}"]
                orders.write(json.dumps(answers) + "\n")
                orders.flush()
    finally:
        os._exit(0)


def _carry_out(order: _Order) -> list[str]:
    if order["way"] == "lets go":
        _held.clear()
        return []
    if order["way"] == "holds":
        _held.extend(_connected(0, order) for _ in range(_HELD))
        return []
    with closing(_connected(order.get("own port", 0), order)) as connection:
        connection.sendall(order["request"].encode())
        match order["way"]:
            case "closes":
                return []
            case "resets":
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return []
            case "half closes":
                connection.shutdown(socket.SHUT_WR)
            case "asks twice":
                with contextlib.suppress(OSError):  # it is closed by then
                    connection.sendall(order["request"].encode())
        return [_read(connection)]


def _connected(own_port: int, order: _Order) -> socket.socket:
    connection = socket.socket()
    connection.settimeout(_PATIENCE_S)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    connection.bind((order["from"], own_port))
    connection.connect(("127.0.0.1", order["port"]))
    return connection


def _read(connection: socket.socket) -> str:
    found = b""
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(65_536):
            found += part
    return found.decode("utf-8", "replace")
