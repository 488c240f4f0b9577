"""Servers of targets that send what none should: each try ends with a reply or a sentence, within bounds of memory and
time, the chat goes on, nobody else is called, and the key is in no file."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from typing import Any

import engine.opening
from engine.backend.remote import writer
from engine.backend.remote.connection import ConnectionLimits, ServerConnection
from engine.backend.remote.keys import Keys
from engine.backend.remote.servers import Servers
from engine.threads import Engine
from engine.values.config import EngineConfig, ReplySettings, SamplingSettings
from engine.values.events import Event, PromptStored, ReplyFinished
from engine.values.orders import Send
from engine.values.remote import ServerSeen
from engine.values.requests import Failure
from engine.values.targets import LoadOrder
from tests.attacks.attack import Memory, Outcome, Plan
from tests.fakes.keyring import FakeKeyring
from tests.fakes.remote import FakeServer, Reaction, Visit, delta, serving, streaming

_KEY = "sk-attack-0123456789abcdef"
_PATIENCE_S = 60.0
_NO_END = Failure("nothing ended it")
_LIMITS = ConnectionLimits(connect_s=5, answer_s=2, first_s=2, silence_s=0.5)
_GREEDY = ReplySettings(SamplingSettings(temperature=0))
_NUMBERS = (10**400, -(10**18), 1e308, -0.0, True, 2**63, "1e999", float("nan"))
_TYPES: tuple[Any, ...] = (None, 5, "x", [], {}, [[]], [None], {"a": 1}, True, 1.5)


def run(plan: Plan) -> Outcome:
    outcome, memory, keyring = Outcome(), Memory(), FakeKeyring()
    num_sentences = 0
    longest_s = 0.0
    with _bounded(keyring), serving() as server, serving() as trap:
        server.key = _KEY
        desk = _Desk(EngineConfig(plan.folder))
        try:
            desk.set_up(server)
            for place in range(plan.count):
                dice = plan.dice(place)
                name, make = _KINDS[place % len(_KINDS)]
                server.replies = [make(dice, trap)]
                began = time.monotonic()
                with memory.watched():
                    failure = desk.send(f"Try {place}.")
                longest_s = max(longest_s, time.monotonic() - began)
                if failure is not None:
                    num_sentences += 1
                    is_told = failure != _NO_END and "Something went wrong inside" not in failure.sentence
                    outcome.check(is_told, f"{place}: {name}: {failure.sentence}")
                server.replies = [streaming("All is well.")]
                after = desk.send("And now?", desk.chat)
                server.asked.clear()
                outcome.check(after is None, f"{place}: {name}: the chat did not go on: {after}")
                outcome.check(desk.last_text == "All is well.", f"{place}: {name}: the chat said {desk.last_text!r}")
                outcome.tried += 1
        finally:
            outcome.check(desk.engine.close(), "the engine did not end")
        outcome.check(not trap.asked, f"{len(trap.asked)} requests reached an address that nobody chose")
    outcome.check(_KEY in keyring.kept.values(), "the key is not in the keyring")
    for file in plan.folder.rglob("*"):
        outcome.check(not file.is_file() or _KEY.encode() not in file.read_bytes(), f"the key is in {file.name}")
    outcome.check(memory.is_within_bar, f"memory: {memory}")
    outcome.figures = {"sentences": str(num_sentences), "memory": str(memory), "longest": f"{longest_s:.1f} s"}
    return outcome


class _Desk:
    def __init__(self, config: EngineConfig) -> None:
        self._events: list[Event] = []
        self.engine = Engine(config, self._events.append)
        self.last_text = ""
        self.chat: int | None = None  # the last one

    def set_up(self, server: FakeServer) -> None:
        ask, remote = self.engine.ask, self.engine.remote
        seen = ask(remote.look, server.address, _KEY).result()
        assert isinstance(seen, ServerSeen)
        ask(remote.save, seen.server, _KEY).result()
        ask(remote.agree, server.address).result()
        self.engine.ask(self.engine.target.load, LoadOrder(server.reference)).result()

    def send(self, prompt: str, chat: int | None = None) -> Failure | None:
        """Without a chat, in a new one. Returns when it is answered, or fails."""
        self._events.clear()
        request = self.engine.ask(self.engine.chat.answer, Send(prompt, chat, _GREEDY))
        try:
            request.future.exception(_PATIENCE_S)
        except TimeoutError:
            request.stop()
            return _NO_END
        replies = [each for each in self._events if isinstance(each, ReplyFinished)]
        self.last_text = replies[-1].message.text if replies else ""
        prompts = [each for each in self._events if isinstance(each, PromptStored)]
        self.chat = prompts[-1].message.conversation_id if prompts else self.chat
        return request.failure


@contextmanager
def _bounded(keyring: FakeKeyring) -> Iterator[None]:
    """With short times, and no pauses between tries; what is too much stays the same."""

    class Quick(Servers):
        def connection(self, address: str) -> ServerConnection:
            return replace(super().connection(address), limits=_LIMITS)

    before = engine.opening.open_servers, writer._PAUSES_S
    engine.opening.open_servers = lambda config: Quick(config.data_dir, Keys(lambda: keyring))
    writer._PAUSES_S = (0.01,) * len(before[1])
    try:
        yield
    finally:
        engine.opening.open_servers, writer._PAUSES_S = before


def _raw(data: bytes) -> Reaction:
    """Bytes in place of an answer."""

    def react(visit: Visit) -> None:
        visit.wfile.write(data)
        visit.close_connection = True

    return react


def _endless(piece: bytes) -> Reaction:
    def react(visit: Visit) -> None:
        visit.begin()
        while not visit.server.over.is_set():
            visit.send(piece)

    return react


def _events(*events: object) -> Reaction:
    def react(visit: Visit) -> None:
        visit.begin()
        for each in events:
            visit.send(each) if isinstance(each, bytes) else visit.event(each)
        visit.end()

    return react


def _drip(dice: Random, _trap: FakeServer) -> Reaction:
    pause_s = dice.uniform(0.01, 0.2)

    def react(visit: Visit) -> None:
        visit.begin()
        while not visit.server.over.is_set():
            visit.send(b"x")
            time.sleep(pause_s)

    return react


def _bomb(dice: Random, _trap: FakeServer) -> Reaction:
    bomb = gzip.compress(b"data: " + b"x" * (64 << 20))
    kind = dice.choice(("text/event-stream", "application/json"))
    return lambda visit: visit.tell(bomb, 200, kind, Content_Encoding=dice.choice(("gzip", "x-gzip", "GZIP")))


def _nonsense(dice: Random, _trap: FakeServer) -> Reaction:
    def value(depth: int = 0) -> Any:
        if depth > 3 or dice.random() < 0.4:
            return dice.choice((*_TYPES, *_NUMBERS))
        names = (
            "choices",
            "delta",
            "content",
            "tool_calls",
            "function",
            "arguments",
            "usage",
            "index",
            "error",
            "name",
        )
        if dice.random() < 0.5:
            return {dice.choice(names): value(depth + 1) for _ in range(dice.randint(1, 4))}
        return [value(depth + 1) for _ in range(dice.randint(0, 3))]

    return _events(*({"choices": [{"delta": value(), "finish_reason": value()}], "usage": value()} for _ in range(5)))


def _numbers(dice: Random, _trap: FakeServer) -> Reaction:
    number = dice.choice(_NUMBERS)
    usage = {"prompt_tokens": number, "completion_tokens": number}
    names = "predicted_n", "prompt_n", "cache_n", "draft_n", "draft_n_accepted", "speedup"
    told = {"usage": usage, "timings": dict.fromkeys(names, number)}
    return _events(delta("a") | told, delta(finish="stop") | told, "[DONE]")


def _forged(dice: Random, _trap: FakeServer) -> Reaction:
    forged = (
        b"event: error\nid: 1\nretry: 99999999\ndata: {}\n\n",
        b"data:\ndata: [DONE]\n\n",
        b"\xff\xfe\x00data: \xc3\x28\n\n",
        b"data: \x00\x1b[2J\n\n",
        b"\r\n\r\n\n\r",
        json.dumps(delta("a\n\ndata: [DONE]\n\n")).encode() + b"\n\n",
        b"data: " + json.dumps(delta("a\u2028\n\ndata: [DONE]")).encode() + b"\n\n",
        b"data: " + json.dumps(delta("\ud800 lone")).encode() + b"\n\n",
    )
    return _events(delta("a"), *dice.sample(forged, 4), delta(finish=dice.choice(("stop", "\n", "x" * 9999))))


def _calls(dice: Random, _trap: FakeServer) -> Reaction:
    calls = [
        {
            "index": dice.choice((number, -1, 10**30)),
            "function": {"name": "x" * dice.randint(0, 9999), "arguments": "{"},
        }
        for number in range(500)
    ]
    return _events(*(delta(tool_calls=calls) for _ in range(3)), delta(finish="tool_calls"))


def _elsewhere(dice: Random, trap: FakeServer) -> Reaction:
    status = dice.choice((301, 302, 303, 307, 308))
    return lambda visit: visit.tell(b"", status, Location=f"{trap.address}/chat/completions", Set_Cookie="who=you")


def _status(dice: Random, _trap: FakeServer) -> Reaction:
    status = dice.choice((204, 400, 401, 403, 404, 408, 409, 413, 418, 422, 429, 500, 501, 502, 503, 504))
    body = dice.choice(
        (b"", b"{", b"<html>" * 10_000, b'{"error": {"message": ' + b'"x' * 5_000 + b'"}}', b"\xff" * 999)
    )
    return lambda visit: visit.tell(body, status, Retry_After=dice.choice(("0", "-5", "1e999", "Wed", "\xff")))


def _heads(dice: Random, _trap: FakeServer) -> Reaction:
    kinds = (
        b"\x00\x01\x02\x03",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 50_000,
        b"HTTP/1.1 200 " + b"O" * 500_000 + b"\r\n\r\n",
        b"HTTP/1.1 99999 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\nContent-Type: application/json\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/event-stream\r\n\r\nzzzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/event-stream\r\n\r\nffffffffff\r\nx",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000,
        b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 200_000,
        b"",
    )
    return _raw(dice.choice(kinds))


def _endings(dice: Random, _trap: FakeServer) -> Reaction:
    piece = dice.choice((b"data: " + b"x" * 65_536, b"data: \n" * 5_000, b": ping\n" * 5_000, b"\n" * 65_536))
    return _endless(piece)


def _deep(dice: Random, _trap: FakeServer) -> Reaction:
    depth = dice.choice((100, 5_000, 1_000_000))
    return _events("[" * depth, '{"choices":' * (depth // 10), "9" * min(depth, 100_000))


def _large(dice: Random, _trap: FakeServer) -> Reaction:
    text = "x" * dice.choice((1_000_000, 3_000_000))
    return _events(*(delta(text) for _ in range(5)), delta(finish="stop"))


_KINDS: tuple[tuple[str, Callable[[Random, FakeServer], Reaction]], ...] = (
    ("no end", _endings),
    ("a bomb", _bomb),
    ("drops", _drip),
    ("nonsense", _nonsense),
    ("numbers", _numbers),
    ("forged events", _forged),
    ("calls", _calls),
    ("elsewhere", _elsewhere),
    ("statuses", _status),
    ("heads", _heads),
    ("depth", _deep),
    ("much", _large),
)
