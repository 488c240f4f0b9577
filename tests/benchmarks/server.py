"""What the server costs: the starter over HTTP beside the same engine without it, prompt by prompt in turns.

    python -m tests.benchmarks.server [--llama-server BINARY] [--prompts F.jsonl] [--limit 12] [--rounds 1]
        [--max-tokens 128] [--sides auto,server] [--seed 1]

Every side writes the same replies to the same prompts, greedily, in a process of its own, which stands still while
another one is measured: `auto` is the writer that `slipstream bench` measures as such, `server` an engine with a server
for a client in this process, `chat` that engine without the server, as the window asks it, and `llama` a llama-server
without drafts, for the same client. Tokens per second are those of the reply, without its prompt, as each side counts
them. Nothing is remembered or learned. Which side comes first is drawn anew for each prompt. Memory must hold the model
once for each.

Processor time is that of all threads of a side's process, the server's among them, for a reply whose prompt is held
already. Where other programs keep the cores busy, it tells more than the clock does. The share of the server's thread
is taken within each reply, and needs no second run for comparison either: on two cores, both of which the target waits
for, it costs up to twice as large a share of the tokens per second.

`over HTTP` is what HTTP adds to the time to the first token within each request: the client's time, from before it
connects until it has read the first text, less the engine's from the request to the first text, when a window would
have it. It needs no second run for comparison, so that what else the machine does hardly shows.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

import psutil

from engine import STARTER, EngineConfig, ReplySettings, SamplingSettings, StopSignal, open_writer
from engine.backend.server.hosting import Served
from engine.backend.server.serving import Server
from engine.lab.measuring.prompts import read_prompts
from engine.speculation.model.llama.cpu import usable_cores
from engine.threads import Engine
from engine.use_cases.chat import resolve
from engine.values.config import TargetSettings
from engine.values.conversations import ChatTurn, Role
from engine.values.events import Event, ReplyFinished
from engine.values.growing_reply import ReplySoFar
from engine.values.orders import Send
from engine.values.replies import ReplyStatistics, StopReason
from engine.values.requests import Request, ignore
from engine.values.serving import ServerSettings
from engine.values.targets import LoadOrder
from tests.benchmarks.llama_server import running

_PROMPTS = Path(__file__).parent / "prompts" / "repetition.jsonl"
_GREEDY = SamplingSettings(temperature=0)
_PATIENCE_S = 300.0
_LULL_S = 0.8  # before a side is measured, in which it does what it does when nobody waits
_CONTEXT_SIZE = 8192
Ask = Callable[[str, int], "Measured"]  # a prompt, and tokens of its reply at most
AUTO, CHAT, SERVER, LLAMA = "auto", "chat", "server", "llama"


@dataclass(frozen=True, slots=True)
class Measured:
    """One reply."""

    tokens_per_s: float
    num_tokens: int
    text: str
    over_http_s: float = 0.0
    processor_s: float = 0.0
    server_s: float = 0.0  # of it, in the server's thread

    @property
    def processor_ms(self) -> float:
        """Of each token."""
        return 1000 * self.processor_s / self.num_tokens


class Bench:
    """An engine with a server, and when it was asked and first had text."""

    def __init__(self, folder: Path) -> None:
        self._finished: ReplyFinished | None = None
        self.asked_at = self.text_at = 0.0
        self._engine = Engine(EngineConfig(folder), self._hear)
        served = Served(self._begin, self._engine)
        self._server = Server(ServerSettings(port=0), folder, served)
        before = {*threading.enumerate()}
        self.address = self._server.open().removeprefix("http://")
        (thread,) = {*threading.enumerate()} - before
        self.server_clock = time.pthread_getcpuclockid(thread.ident or 0)
        served.loaded = self._engine.ask(self._engine.target.load, LoadOrder(STARTER)).result()

    def close(self) -> None:
        self._server.close()
        self._engine.close()

    def chat(self, prompt: str, max_tokens: int) -> Measured:
        order = Send(prompt, None, ReplySettings(_GREEDY, max_tokens, learns=False), incognito=True)
        self._begin(self._engine.chat.answer, (order,), {}).result(_PATIENCE_S)
        finished = self._finished
        assert finished is not None
        assert finished.message.statistics is not None
        return measured(finished.message.statistics, finished.message.text)

    def _begin(
        self,
        method: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        progress: Callable[[ReplySoFar], object] = ignore,
    ) -> Request[Any]:
        """As `Engine.begin`."""
        self.asked_at, self.text_at = time.monotonic(), 0.0

        def note(so_far: ReplySoFar) -> None:
            if so_far.num_pieces and not self.text_at:
                self.text_at = time.monotonic()
            progress(so_far)

        return self._engine.begin(method, args, kwargs, note)

    def _hear(self, event: Event) -> None:
        if isinstance(event, ReplyFinished):
            self._finished = event


def measured(statistics: ReplyStatistics, text: str) -> Measured:
    ended = statistics.stop_reason is StopReason.END
    return Measured(statistics.tokens_per_s, statistics.reply_tokens + ended, text)


def serve(asked: Connection, folder: Path) -> None:
    """In a process of its own: chats with each prompt; to an empty one, says how long the last first text took, and the
    processor time of the server's thread until now."""
    with closing(Bench(folder)) as bench:
        asked.send(bench.address)
        while (question := asked.recv()) is not None:
            prompt, max_tokens = question
            told = (bench.text_at - bench.asked_at, time.clock_gettime(bench.server_clock))
            asked.send(bench.chat(prompt, max_tokens) if prompt else told)


def write(asked: Connection, folder: Path) -> None:
    """In a process of its own: writes the reply to each prompt."""
    with open_writer(EngineConfig(folder), STARTER, TargetSettings(), lambda _part: None, StopSignal()) as writer:
        asked.send("")
        while (question := asked.recv()) is not None:
            prompt, max_tokens = question
            prepared = writer.prepare([ChatTurn(Role.USER, prompt)])
            settings = ReplySettings(_GREEDY, max_tokens, learns=False)
            reply = writer.write(prepared, settings, StopSignal())
            asked.send(measured(reply.statistics, reply.text))


class Apart:
    """A process that stands still unless it is asked."""

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)
        self._process.suspend()

    def measure(self, answer: Ask, prompt: str, max_tokens: int) -> Measured:
        """It holds the prompt by then, and has done what it does when nobody waits."""
        self._process.resume()
        try:
            answer(prompt, 1)
            time.sleep(_LULL_S)
            before = self._processor_s
            found = answer(prompt, max_tokens)
            return replace(found, processor_s=self._processor_s - before)
        finally:
            self._process.suspend()

    @property
    def _processor_s(self) -> float:
        times = self._process.cpu_times()
        return float(times.user + times.system)

    def wake(self) -> None:
        """For good, so that it can end."""
        self._process.resume()


@contextmanager
def apart(run: Callable[..., None], folder: Path) -> Iterator[tuple[Apart, Connection, str]]:
    """One of ours, its end of a pipe, and what it said at first."""
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    process = spawn.Process(target=run, args=(there, folder), daemon=True)
    process.start()
    said = here.recv()
    found = Apart(process.pid or 0)
    try:
        yield found, here, said
    finally:
        found.wake()
        here.send(None)
        process.join()


def streamed(address: str, prompt: str, max_tokens: int) -> tuple[float, str, Mapping[str, Any]]:
    """Seconds until the first text was read, the text, and the timings that the server told."""
    body = {"messages": [{"role": "user", "content": prompt}], "max_tokens": max_tokens, "temperature": 0}
    began, first_at = time.monotonic(), 0.0
    timings: dict[str, Any] = {}
    pieces: list[str] = []
    with closing(http.client.HTTPConnection(address, timeout=_PATIENCE_S)) as connection:
        connection.request("POST", "/v1/chat/completions", json.dumps({**body, "stream": True}))
        response = connection.getresponse()
        assert response.status == 200, response.read()
        for line in response:
            if not line.startswith(b"data: {"):
                continue
            told = json.loads(line[6:])
            timings = told.get("timings") or timings
            if told["choices"] and (piece := told["choices"][0]["delta"].get("content")):
                pieces.append(piece)
                first_at = first_at or time.monotonic()
    return first_at - began, "".join(pieces), timings


def ratio(pairs: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    """Of the first over the second of each pair: the mean, its standard error, and the median."""
    ratios = [ours / theirs for ours, theirs in pairs]
    error = stdev(ratios) / len(ratios) ** 0.5 if len(ratios) > 1 else float("nan")
    return fmean(ratios), error, median(ratios)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--llama-server", type=Path, metavar="BINARY")
    parser.add_argument("--prompts", type=Path, default=_PROMPTS)
    parser.add_argument("--limit", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--max-tokens", type=int, default=128)
    parser.add_argument("--sides", help="only these, with commas between them; the server is among them always")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    prompts = [chat.prompts[0] for chat in read_prompts(arguments.prompts, arguments.limit)]
    dice, rows = random.Random(arguments.seed), list[dict[str, Measured]]()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        sides = _sides(stack, folder, arguments.llama_server)
        if arguments.sides is not None:
            sides = {name: side for name, side in sides.items() if name in (SERVER, *arguments.sides.split(","))}
        for place, prompt in enumerate(["Say hello.", *prompts * arguments.rounds]):
            order = dice.sample(sorted(sides), len(sides))
            found = {name: sides[name](prompt, arguments.max_tokens) for name in order}
            if place:  # the first one warms up
                rows.append(found)
                print(_line(place, found), flush=True)
    _print_ratios(rows)


def _sides(stack: ExitStack, folder: Path, llama_server: Path | None) -> dict[str, Ask]:
    served, asked, address = stack.enter_context(apart(serve, folder / "served"))
    writing, written, _ = stack.enter_context(apart(write, folder / "written"))

    def auto(prompt: str, max_tokens: int) -> Measured:
        written.send((prompt, max_tokens))
        return _received(written)

    def chat(prompt: str, max_tokens: int) -> Measured:
        asked.send((prompt, max_tokens))
        return _received(asked)

    def server(prompt: str, max_tokens: int) -> Measured:
        asked.send(("", 0))
        _, before = asked.recv()
        first_s, text, timings = streamed(address, prompt, max_tokens)
        asked.send(("", 0))
        text_s, after = asked.recv()
        counts = timings["predicted_per_second"], timings["predicted_n"]
        return Measured(*counts, text, first_s - text_s, server_s=after - before)

    sides: dict[str, Ask] = {
        AUTO: partial(writing.measure, auto),
        CHAT: partial(served.measure, chat),
        SERVER: partial(served.measure, server),
    }
    if llama_server is None:
        return sides
    model, log = resolve(EngineConfig(folder), STARTER).path, folder / "llama.log"
    other = stack.enter_context(running(llama_server, model, "none", usable_cores(), _CONTEXT_SIZE, log))
    standing = Apart(other.pid)
    stack.callback(standing.wake)

    def llama(prompt: str, max_tokens: int) -> Measured:
        _, text, timings = streamed(other.address, prompt, max_tokens)
        num_tokens = int(timings["predicted_n"])  # of which the first comes out of the prompt
        return Measured(1000 * (num_tokens - 1) / max(1e-9, timings["predicted_ms"]), num_tokens, text)

    return {**sides, LLAMA: partial(standing.measure, llama)}


def _received(asked: Connection) -> Measured:
    found = asked.recv()
    assert isinstance(found, Measured)
    return found


def _line(place: int, found: Mapping[str, Measured]) -> str:
    speeds = "  ".join(f"{name} {one.tokens_per_s:6.1f}/s {one.processor_ms:5.1f} ms" for name, one in found.items())
    return f"{place:>4}  {speeds}  over HTTP {1000 * found[SERVER].over_http_s:+6.1f} ms"


def _print_ratios(rows: Sequence[Mapping[str, Measured]]) -> None:
    for ours, theirs in ((SERVER, AUTO), (SERVER, CHAT), (CHAT, AUTO), (SERVER, LLAMA)):
        pairs = [(row[ours], row[theirs]) for row in rows if ours in row and theirs in row]
        if not pairs:
            continue
        same = sum(one.text == other.text for one, other in pairs)
        print(f"{ours} over {theirs}; {same} of {len(pairs)} replies are the same")
        _print_ratio("tokens per second", [(one.tokens_per_s, other.tokens_per_s) for one, other in pairs])
        _print_ratio("processor time of a token", [(one.processor_ms, other.processor_ms) for one, other in pairs])
    share = sum(row[SERVER].server_s for row in rows) / sum(row[SERVER].processor_s for row in rows)
    print(f"processor time of replies to the server: {share:.2%} of it in the server's thread")
    added = [1000 * row[SERVER].over_http_s for row in rows]
    print(f"time to first token: {median(added):+.1f} ms over HTTP (median; {max(added):+.1f} ms at most; bar 5 ms)")


def _print_ratio(name: str, pairs: Sequence[tuple[float, float]]) -> None:
    mean, error, middle = ratio(pairs)
    print(f"    {name:26} {mean:.3f} ± {error:.3f} (median {middle:.3f})")


if __name__ == "__main__":
    main()
