"""What the server costs: the starter over HTTP beside the same engine without it, prompt by prompt in turns.

    python -m tests.benchmarks.server [--prompts F.jsonl] [--limit 12] [--max-tokens 128]

Tokens per second, greedy: those of the reply, without its prompt, of the writer that `slipstream bench` measures as
auto, of a chat in the window, and of the server, streamed to a client in a process of its own. The writer has a starter
of its own; chat and server share an engine. Nothing is remembered or learned.

Time to first token: of a chat in the window (from the command to the first event with text, without Qt), and of the
server (from before the client connects until it has read the first text). `over HTTP` is what HTTP adds within each
request: the client's time, less the engine's from the command to the first text. It needs no second run for
comparison, so that what else the machine does hardly shows.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import mean, median
from typing import Any

from engine import STARTER, EngineConfig, ReplySettings, SamplingSettings, Send, StopSignal, open_writer
from engine.config import TargetSettings
from engine.lab.measuring.prompts import read_prompts
from engine.messages.commands import Command, LoadTarget
from engine.messages.conversations import ChatTurn, Role
from engine.messages.events import AnswerText, Event, Failed, Finished, ReplyFinished, ReplyText
from engine.messages.replies import ReplyListener
from engine.messages.serving import ServerSettings
from engine.server.serving import Server
from engine.threads import Engine

_PROMPTS = Path(__file__).parent / "prompts" / "repetition.jsonl"
_GREEDY = SamplingSettings(temperature=0)
_PATIENCE_S = 300.0


class Bench:
    """An engine with a server, and when it was asked and first had text."""

    def __init__(self, folder: Path) -> None:
        self._over = threading.Event()
        self._failure = ""
        self._awaited: Command | None = None
        self.asked_at = self.text_at = 0.0
        self.tokens_per_s = 0.0  # of the last reply of a chat
        self._engine = Engine(EngineConfig(folder), self._hear)
        self._server = Server(ServerSettings(port=0), folder, self._post)
        self.address = self._server.open().removeprefix("http://")
        self.do(LoadTarget(STARTER))

    def close(self) -> None:
        self._server.close()
        self._engine.close()

    def do(self, command: Command) -> float:
        """Seconds until the first text of a reply."""
        self._over.clear()
        self._awaited = command
        self._post(command)
        assert self._over.wait(_PATIENCE_S), "it came to no end"
        assert not self._failure, self._failure
        return self.text_at - self.asked_at

    def _post(self, command: Command) -> StopSignal:
        self.asked_at, self.text_at = time.monotonic(), 0.0
        return self._engine.post(command)

    def _hear(self, event: Event) -> None:
        if isinstance(event, ReplyText | AnswerText) and not self.text_at:
            self.text_at = time.monotonic()
        if isinstance(event, ReplyFinished) and event.message.statistics is not None:
            self.tokens_per_s = event.message.statistics.tokens_per_s
        self._server.hear(event)
        if isinstance(event, Failed):
            self._failure = event.sentence
        if isinstance(event, Finished | Failed) and event.command is self._awaited:
            self._over.set()


def client(address: str, asked: Connection) -> None:
    """In a process of its own: answers each body with its times and what the server said of its own."""
    while (body := asked.recv()) is not None:
        began, first_at = time.monotonic(), 0.0
        timings: dict[str, Any] = {}
        with closing(http.client.HTTPConnection(address, timeout=_PATIENCE_S)) as connection:
            connection.request("POST", "/v1/chat/completions", json.dumps(body))
            response = connection.getresponse()
            assert response.status == 200, response.read()
            for line in response:
                if not line.startswith(b"data: {"):
                    continue
                told = json.loads(line[6:])
                timings = told.get("timings") or timings
                if not first_at and told["choices"] and told["choices"][0]["delta"].get("content"):
                    first_at = time.monotonic()
        asked.send((first_at - began, timings))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=Path, default=_PROMPTS)
    parser.add_argument("--limit", type=int, default=12)
    parser.add_argument("--max-tokens", type=int, default=128)
    arguments = parser.parse_args()
    prompts = [chat.prompts[0] for chat in read_prompts(arguments.prompts, arguments.limit)]
    with tempfile.TemporaryDirectory() as folder, closing(Bench(Path(folder) / "served")) as bench:
        here, there = multiprocessing.get_context("spawn").Pipe()
        process = multiprocessing.get_context("spawn").Process(target=client, args=(bench.address, there), daemon=True)
        process.start()
        _measure(bench, here, prompts, arguments.max_tokens, Path(folder) / "bench")
        here.send(None)
        process.join()


def _measure(bench: Bench, asked: Connection, prompts: Sequence[str], max_tokens: int, folder: Path) -> None:
    settings = ReplySettings(_GREEDY, max_tokens, learns=False)
    rows: list[tuple[float, ...]] = []

    def served(prompt: str) -> tuple[float, float, float]:
        """Tokens per second, seconds to the first, and what HTTP adds to these."""
        body = {"messages": [{"role": "user", "content": prompt}], "max_tokens": max_tokens}
        asked.send({**body, "temperature": 0, "stream": True})
        first_s, timings = asked.recv()
        return timings["predicted_per_second"], first_s, first_s - (bench.text_at - bench.asked_at)

    def chatted(prompt: str) -> tuple[float, float]:
        """Seconds to the first token, and tokens per second."""
        settings = ReplySettings(_GREEDY, max_tokens, learns=False)
        return bench.do(Send(prompt, None, settings, incognito=True)), bench.tokens_per_s

    with open_writer(EngineConfig(folder), STARTER, TargetSettings(), lambda _part: None, StopSignal()) as writer:

        def written(prompt: str) -> float:
            prepared = writer.prepare([ChatTurn(Role.USER, prompt)])
            return writer.write(prepared, settings, StopSignal(), ReplyListener()).statistics.tokens_per_s

        for place, prompt in enumerate(["Say hello.", *prompts]):
            # Each begins with a number of its own, so that nothing of it was read before.
            runs: list[Any] = [
                lambda place=place, prompt=prompt: written(f"{place}a. {prompt}"),
                lambda place=place, prompt=prompt: served(f"{place}b. {prompt}"),
                lambda place=place, prompt=prompt: chatted(f"{place}c. {prompt}"),
            ]
            found: dict[int, Any] = {}
            for number in (0, 1, 2) if place % 2 else (2, 1, 0):
                found[number] = runs[number]()
            if place:  # the first one warms up
                rows.append((found[0], *found[1], *found[2]))
                print(_line(str(place), rows[-1]), flush=True)
    columns = list(zip(*rows, strict=True))
    print(_line("all", (*map(mean, columns[:2]), *map(median, columns[2:4]), median(columns[4]), mean(columns[5]))))
    for name, place in (("auto", 0), ("a chat in the same engine", 5)):
        shares = [row[1] / row[place] for row in rows]
        print(f"tokens per second over HTTP: {mean(shares):.3f} of {name} (median {median(shares):.3f})")
    print(f"time to first token: {1000 * median(columns[3]):+.1f} ms over HTTP (median; bar 5 ms)")


def _line(name: str, row: Sequence[float]) -> str:
    auto, server, first_s, over_s, window_s, chat = row
    return (
        f"{name:>4}  auto {auto:6.1f}/s  chat {chat:6.1f}/s  server {server:6.1f}/s  "
        f"first: window {1000 * window_s:7.1f} ms  server {1000 * first_s:7.1f} ms  over HTTP {1000 * over_s:+6.1f} ms"
    )


if __name__ == "__main__":
    main()
