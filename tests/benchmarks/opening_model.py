"""What it takes to open a model: seconds, and memory against its estimate.

    python -m tests.benchmarks.opening_model MODEL.gguf [--drafter starter] [--context 8192]

Reading its header, trying it in a process of its own, loading it, reading 1,024 tokens, writing one with 1,024 before
it, and loading a drafter for it: the first time, when the map between both vocabularies is built, and again. Seconds by
the clock, and of processors, which hardly depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from engine.speculation.drafter.choice import drafter_source
from engine.speculation.model.files.estimate import estimate
from engine.speculation.model.files.facts import facts_of
from engine.speculation.model.llama.llama_cpp import LlamaCppTarget
from engine.speculation.model.llama.preflight import preflight
from engine.speculation.proposers.supply import open_drafting
from engine.values.config import STARTER, EngineConfig, SpeculationSettings, TargetSettings
from engine.values.stop_signal import StopSignal

_GUIDE = Path(__file__).parents[2] / "docs" / "guide.md"
_NUM_READ, _NUM_WRITTEN = 1024, 16


@contextmanager
def timed(what: str, count: int = 1) -> Iterator[None]:
    """Prints the seconds of one of `count`."""
    began, used = time.perf_counter(), _processor_s()
    yield
    seconds, processor_s = (time.perf_counter() - began) / count, (_processor_s() - used) / count
    print(f"{what}: {seconds:.3f} s, {processor_s:.3f} s of processors", flush=True)


def _processor_s() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--drafter", default=STARTER, help="as of slipstream bench")
    parser.add_argument("--context", type=int, default=8192, help="tokens")
    options = parser.parse_args()
    settings, stop, process = TargetSettings(context_size=options.context), StopSignal(), psutil.Process()

    with timed("its header"):
        facts = facts_of(options.model)
    with timed("trying it in a process of its own"):
        preflight(options.model, stop)
    before = process.memory_info().rss
    with timed("loading"):
        target = LlamaCppTarget.load(options.model, options.model.stem, settings, lambda _progress: None, stop)
    tokens = target.tokenize(_GUIDE.read_text("utf-8"))[: _NUM_READ + _NUM_WRITTEN]
    with timed(f"reading {_NUM_READ:,} tokens"):
        for start in range(0, _NUM_READ, target.limits.max_tokens):
            target.evaluate(tokens[start : min(start + target.limits.max_tokens, _NUM_READ)], 1, stop)
    with timed("a token", _NUM_WRITTEN):
        for token in tokens[_NUM_READ:]:
            target.evaluate([token], 1, stop)
    taken, expected = process.memory_info().rss - before, estimate(facts, settings).total
    print(f"memory: {taken / 1e6:.0f} MB, estimated {expected / 1e6:.0f} MB")
    with tempfile.TemporaryDirectory() as folder:
        config, drafter = (
            EngineConfig(Path(folder), SpeculationSettings()),
            drafter_source(options.drafter, Path(folder)),
        )
        for which in ("first", "again"):
            with timed(f"{drafter.name} as drafter, {which}"):
                open_drafting(config, drafter, target.vocabulary)
    target.close()


if __name__ == "__main__":
    main()
