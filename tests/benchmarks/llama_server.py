"""The same prompts through a llama-server and through us, prompt by prompt in turns.

    python -m tests.benchmarks.llama_server BINARY --prompts F.jsonl [--target starter] [--limit 40] [--max-tokens 128]

One server runs for each kind of drafting that needs no file (`--spec-type`, as the binary's `--help` lists them; `none`
is its plain decoding), on a free port of this machine, beside `plain`, `plain-2` and `auto` of ours. All get the same
tokens of the same prompts, greedily, with as many threads, and nothing is held from one prompt to the next. Seconds are
those of writing, without the prompt; a server's are what it says itself. Memory must hold the model once for each.

Prints two tables: ours over our plain, and each server over the plain server; “same” counts replies with the tokens of
plain, which may part where two tokens are nearly tied.
"""

from __future__ import annotations

import argparse
import json
import re
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import OpenerDirector, ProxyHandler, Request, build_opener

import numpy as np

from engine import STARTER, EngineConfig, ReplySettings, SamplingSettings, StopSignal
from engine.lab.measuring.bench import Bench, ModeComparison
from engine.lab.measuring.modes import Mode, ModeAnswer, WriterMode
from engine.lab.measuring.order import AUTO, PLAIN, PLAIN_AGAIN
from engine.lab.measuring.prompts import BenchQuestion, read_prompts
from engine.loading import load_target, speculate
from engine.speculation.decoding.figures import DecodingFigures
from engine.speculation.model.interface import Target
from engine.speculation.proposers.supply import DrafterSupply
from engine.speculation.replies.reply import ReplyWriter
from engine.use_cases.chat import resolve
from engine.values.config import TargetSettings

_PLAIN_SERVER = "none"
_NEEDS_NO_FILE = re.compile(r"none|ngram-.*")
_PATIENCE_S = 120.0  # until a server has loaded its model
_REPLY_S = 600.0


class ServerFailed(Exception):
    """It did not start, or does not answer as a llama-server does."""


def spec_types(help_text: str) -> list[str]:
    """Kinds of drafting that need no file, plain decoding first. Raises ServerFailed where there are none."""
    found = re.search(r"--spec-type\s+([\w,|\[\]{}-]+)", help_text)
    names = re.findall(r"[\w-]+", found[1]) if found else []
    types = [name for name in names if _NEEDS_NO_FILE.fullmatch(name)]
    if _PLAIN_SERVER not in types:
        raise ServerFailed("This llama-server has no --spec-type with “none”; take a newer one.")
    return sorted(set(types), key=lambda name: (name != _PLAIN_SERVER, names.index(name)))


class Server:
    """A llama-server that is ready to answer."""

    def __init__(self, port: int, pid: int) -> None:
        self.address = f"127.0.0.1:{port}"
        self.pid = pid
        self._url = f"http://{self.address}"
        self._opener: OpenerDirector = build_opener(ProxyHandler({}))

    @property
    def is_ready(self) -> bool:
        try:
            with self._opener.open(f"{self._url}/health", timeout=5):
                return True
        except (HTTPError, URLError, OSError):  # it still loads, or does not listen yet
            return False

    def complete(self, prompt: Sequence[int], max_tokens: int) -> Mapping[str, object]:
        """What it answers to these tokens, greedily."""
        wanted = {
            "prompt": list(prompt),
            "n_predict": max_tokens,
            "temperature": 0,
            "cache_prompt": False,
            "return_tokens": True,
        }
        request = Request(
            f"{self._url}/completion", json.dumps(wanted).encode(), {"Content-Type": "application/json"}, method="POST"
        )
        with self._opener.open(request, timeout=_REPLY_S) as response:
            answer = json.load(response)
        if not isinstance(answer, dict) or not isinstance(answer.get("timings"), dict):
            raise ServerFailed("The server's answer has no “timings”; take another version of it.")
        return answer


@contextmanager
def running(
    binary: Path, model: Path, spec_type: str, threads: int, context_size: int, log: Path, more: Sequence[object] = ()
) -> Iterator[Server]:
    """Starts one, with `more` options, and ends it afterwards. Raises ServerFailed with the last words of its log."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {"-m": model, "-t": threads, "-tb": threads, "-c": context_size, "-np": 1, "--spec-type": spec_type}
    arguments = [str(part) for option in options.items() for part in option] + list(map(str, more))
    command = [str(binary), *arguments, "--host", "127.0.0.1", "--port", str(port)]
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT) as process:
        try:
            server, began = Server(port, process.pid), time.monotonic()
            while not server.is_ready:
                if process.poll() is not None or time.monotonic() - began > _PATIENCE_S:
                    words = log.read_text("utf-8", "replace")[-400:]
                    raise ServerFailed(f"The server with --spec-type {spec_type} did not start: {words}")
                time.sleep(0.05)
            yield server
        finally:
            process.terminate()


class ServerMode:
    """Implements `engine.lab.measuring.modes.Mode` by asking a server, in the seconds that it says."""

    def __init__(self, server: Server, target: Target, max_tokens: int) -> None:
        """`target`: the model that the server runs, for the tokens of prompts."""
        self._server = server
        self._target = target
        self._max_tokens = max_tokens

    def answer(self, question: BenchQuestion, stop: StopSignal) -> ModeAnswer:  # noqa: ARG002
        prompt = ReplyWriter(self._target).prepare(question.turns).prompt.tokens
        answer = self._server.complete(prompt, self._max_tokens)
        timings = answer["timings"]
        assert isinstance(timings, dict)
        figures = DecodingFigures(
            num_written=max(0, int(timings["predicted_n"]) - 1),  # the first comes out of the prompt
            num_drafted=int(timings.get("draft_n", 0)),
            num_accepted=int(timings.get("draft_n_accepted", 0)),
        )
        tokens = answer.get("tokens")
        return ModeAnswer(
            text=str(answer.get("content", "")),
            prompt=tuple(prompt),
            tokens=tuple(tokens) if isinstance(tokens, list) else (),
            prompt_s=float(timings["prompt_ms"]) / 1e3,
            wall_s=float(timings["predicted_ms"]) / 1e3,
            figures=figures,
        )


@dataclass(frozen=True, slots=True)
class Row:
    """One way of decoding, beside the plain one of the same program."""

    name: str
    tokens_per_s: float
    median: float
    p10: float
    worst: float
    num_drafted: int
    num_accepted: int
    num_same: int  # replies whose tokens are those of plain

    @classmethod
    def of(cls, comparisons: Sequence[ModeComparison], name: str, plain: str) -> Row:
        pairs = [(each.answers[plain], each.answers[name]) for each in comparisons]
        pairs = [pair for pair in pairs if all(answer.figures.num_written and answer.wall_s for answer in pair)]
        ratios = [_s_per_token(theirs) / _s_per_token(ours) for theirs, ours in pairs] or [float("nan")]
        answers = [ours for _, ours in pairs]
        wall_s = sum(answer.wall_s for answer in answers)
        p10, median = np.percentile(ratios, (10, 50))
        return cls(
            name,
            sum(answer.figures.num_written for answer in answers) / wall_s if wall_s else 0.0,
            float(median),
            float(p10),
            min(ratios),
            sum(answer.figures.num_drafted for answer in answers),
            sum(answer.figures.num_accepted for answer in answers),
            sum(theirs.tokens == ours.tokens for theirs, ours in pairs),
        )

    def __str__(self) -> str:
        return (
            f"{self.name:16} {self.tokens_per_s:8.1f} {self.median:8.3f} {self.p10:8.3f} {self.worst:8.3f} "
            f"{self.num_accepted:>7}/{self.num_drafted:<7} {self.num_same:>5}"
        )


def _s_per_token(answer: ModeAnswer) -> float:
    return answer.wall_s / answer.figures.num_written


def print_tables(comparisons: Sequence[ModeComparison], ours: Sequence[str], servers: Sequence[str]) -> None:
    for title, names in (("ours", ours), ("llama-server", servers)):
        print(f"{title:16}    tok/s   median      p10    worst accepted/drafted   same   (over its own {names[0]})")
        for name in names:
            print(Row.of(comparisons, name, names[0]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=Path)
    parser.add_argument("--prompts", type=Path, required=True)
    parser.add_argument("--target", default=STARTER)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--max-tokens", type=int, default=128)
    parser.add_argument("--types", help="only these, with commas between them; none is among them always")
    arguments = parser.parse_args()
    asked = subprocess.run([arguments.binary, "--help"], capture_output=True, text=True, check=False)
    types = spec_types(asked.stdout + asked.stderr)
    if arguments.types is not None:
        types = [name for name in types if name in (_PLAIN_SERVER, *arguments.types.split(","))]
    chats = read_prompts(arguments.prompts, arguments.limit)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        config, stop = EngineConfig(folder), StopSignal()
        source = resolve(config, arguments.target)
        target = load_target(source, TargetSettings(), lambda _progress: None, stop)
        stack.callback(target.close)
        modes: dict[str, Mode] = {}
        for name in types:
            size, threads = target.limits.context_size, target.description.threads
            log = folder / f"{name}.log"
            server = stack.enter_context(running(arguments.binary, source.path, name, threads, size, log))
            modes[f"server {name}"] = ServerMode(server, target, arguments.max_tokens)
        settings = ReplySettings(SamplingSettings(temperature=0), arguments.max_tokens)
        auto = speculate(config, target, stop, DrafterSupply(config, target), at_once=True)
        for name, speculation in {PLAIN: None, PLAIN_AGAIN: None, AUTO: auto}.items():
            modes[name] = WriterMode(target, settings, speculation)
        outcome = Bench(modes).run(
            chats, stop, lambda comparison: print(f"\r{comparison.question.id:40}", end="", flush=True)
        )
        print(f"\r{len(outcome.comparisons)} prompts, {threads} threads{'':24}")
        print_tables(outcome.comparisons, [PLAIN, PLAIN_AGAIN, AUTO], [f"server {name}" for name in types])


if __name__ == "__main__":
    main()
