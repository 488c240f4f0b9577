"""Passes of several builds of llama.cpp over the same models, in turns.

    python -m tests.benchmarks.builds LIBRARIES... [--files A.gguf B.gguf] [--turns 12] [--threads 2]

Each of LIBRARIES is a folder with all of llama.cpp's libraries, such as
.venv/lib/python3.11/site-packages/llama_cpp/lib; the first is what the others are compared with, and named twice it
shows what the machine's noise is. Every build holds the model in a process of its own, and they time a few passes
each in turns, so that all meet the same machine. Printed are the least disturbed passes in ms and, behind them, the
first build's time divided by theirs (above 1 is faster). Without files, the model is the starter. On a busy
machine, `--threads 1` tells more, as several threads wait for each other.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.speculation.model.files.sources import starter_path
from engine.speculation.model.llama.llama_cpp import LlamaCppTarget
from engine.values.config import TargetSettings
from engine.values.stop_signal import StopSignal

ROOT = Path(__file__).parents[2]
ROWS = (1, 2, 4, 8)
PASSES = 6  # of a turn, each number of rows; the first of them builds the graph of this size
_CONTEXT_SIZE = 512
_PROMPT = (
    "<|im_start|>user\nExplain in three sentences why the sea is salty, and where the salt comes from.<|im_end|>\n"
    "<|im_start|>assistant\n"
)


class Build:
    """A process in which one build of llama.cpp holds one model."""

    def __init__(self, libraries: Path, file: Path, threads: int | None = None) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __spec__.name, "--here", str(file), "--threads", str(threads or 0)],
            cwd=ROOT,
            env={**os.environ, "LLAMA_CPP_LIB_PATH": str(libraries)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._libraries = libraries
        self._ask({"text": 1})  # returns when the model is loaded

    def time_passes(self, num_rows: int) -> float:
        """ms of the least disturbed of a few."""
        return float(self._ask({"rows": num_rows}))

    def text(self, num_tokens: int) -> str:
        """What it writes greedily."""
        return str(self._ask({"text": num_tokens}))

    def close(self) -> None:
        self._process.communicate()

    def _ask(self, question: dict[str, int]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(question), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(f"{self._libraries} ended with {self._process.wait()}.")
        return json.loads(answer)


def compare(builds: dict[str, Build], turns: int) -> dict[str, list[float]]:
    """The least ms of each build's passes, by the order of ROWS."""
    found: dict[str, list[list[float]]] = {name: [] for name in builds}
    order = list(builds)
    for _ in range(turns):
        for name in order:
            found[name].append([builds[name].time_passes(rows) for rows in ROWS])
        order.reverse()
    return {name: [min(times) for times in zip(*all_times, strict=True)] for name, all_times in found.items()}


def print_table(title: str, least: dict[str, list[float]]) -> None:
    first = next(iter(least.values()))
    width = max(len(name) for name in (title, *least))
    print(f"\n{title:{width}}  " + "  ".join(f"{f'{rows} rows':>14}" for rows in ROWS))
    for name, ms in least.items():
        cells = (f"{mine:7.2f} ({theirs / mine:.2f})" for mine, theirs in zip(ms, first, strict=True))
        print(f"{name:{width}}  " + "  ".join(f"{cell:>14}" for cell in cells), flush=True)


def _answer(file: Path, threads: int | None) -> None:
    """In the process of a build: answers questions, one a line, until there are no more. The first asks for text, so
    that passes are timed behind the prompt."""
    stop = StopSignal()
    settings = TargetSettings(_CONTEXT_SIZE, threads=threads)
    target = LlamaCppTarget.load(file, file.stem, settings, lambda _: None, stop)
    prompt = target.tokenize(_PROMPT)
    for line in sys.stdin:
        question = json.loads(line)
        if "text" in question:
            target.roll_back(0)
            tokens: list[int] = []
            rows = target.evaluate(prompt, 1, stop)
            while len(tokens) < question["text"]:
                tokens.append(int(rows[0].argmax()))
                rows = target.evaluate(tokens[-1:], 1, stop)
            text = b"".join(target.vocabulary.pieces[token] for token in tokens).decode("utf-8", "replace")
            print(json.dumps(text), flush=True)
        else:
            target.roll_back(min(target.num_held, len(prompt)))
            print(json.dumps(1000 * _least(target, prompt[: question["rows"]], stop)), flush=True)
    target.close()


def _least(target: LlamaCppTarget, tokens: Sequence[int], stop: StopSignal) -> float:
    held = target.num_held
    seconds = []
    for _ in range(PASSES):
        began = time.perf_counter()
        target.evaluate(tokens, len(tokens), stop)
        seconds.append(time.perf_counter() - began)
        target.roll_back(held)
    return min(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="*", type=Path)
    parser.add_argument("--files", nargs="+", type=Path, default=[starter_path()])
    parser.add_argument("--turns", type=int, default=12)
    parser.add_argument("--threads", type=int, help="as many as the app takes unless given")
    parser.add_argument("--here", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here is not None:
        _answer(options.here, options.threads or None)
        return
    for file in options.files:
        builds = {
            f"{place} {folder}": Build(folder.resolve(), file.resolve(), options.threads)
            for place, folder in enumerate(options.libraries, 1)
        }
        print_table(file.name, compare(builds, options.turns))
        for build in builds.values():
            build.close()


if __name__ == "__main__":
    main()
