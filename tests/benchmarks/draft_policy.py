"""How the draft policy does on a target's recorded replies while the clock is noisy, by counts.

    python -m tests.benchmarks.draw PROMPTS.jsonl FILE.jsonl [FILE.jsonl …] --count 100 --seed 19 --even task
    python -m tests.benchmarks.record TRACE.jsonl --prompts PROMPTS.jsonl
    python -m tests.benchmarks.draft_policy TRACE.jsonl --pass-costs 1,1.49,1.81,2.15 --noise 0.1 --drift 0.2 --runs 3

The middle command prints the pass costs of this machine. Replies are written by plain decoding and by `auto` with
recall, the starter's file being the vocabulary. Nothing is computed, and time is simulated: to the draft policy, which
measures and learns what passes cost as it does on a real target, a pass over n tokens takes V(n), times a lognormal
noise, three times as long now and then, while all passes drift slowly up and down. The ratios that are printed count
V(n) itself: so they are free of noise, and show what noise has the draft policy do wrong. `--switch` adds a share of
V(1) to each pass over another number of tokens than the one before, for both. The draft policy's own work takes no
time here.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from engine.lab.measuring.bench import Bench, BenchOutcome
from engine.lab.measuring.modes import Mode, ModeAnswer, ReplayMode
from engine.lab.measuring.order import AUTO, PLAIN, SimulatedCosts
from engine.lab.measuring.prompts import BenchQuestion, ScriptedChat, read_prompts
from engine.lab.measuring.report import ratio_to_plain
from engine.speculation.decoding.speculation import Speculation, open_speculation
from engine.speculation.model.body import BodyTarget
from engine.speculation.model.files.sources import starter_path
from engine.speculation.model.interface import (
    FloatRows,
    Interrupted,
    Target,
    TargetDescription,
    TargetFeature,
    TargetLimits,
    Vocabulary,
)
from engine.speculation.model.llama.trace import TraceTarget
from engine.speculation.model.llama.vocabulary import load_vocabulary
from engine.speculation.numerics.draft_length import filled
from engine.speculation.proposers import catalogue
from engine.speculation.proposers.costs import measure_passes
from engine.speculation.proposers.draft_policy import DraftPolicy
from engine.speculation.proposers.interface import Supplies
from engine.values.config import ReplySettings, SamplingSettings
from engine.values.speed import SLOWER
from engine.values.stop_signal import StopSignal
from tests.fakes.clock import FakeClock

_SINGLE_S = 0.008  # of a pass over one token; ratios do not depend on it
_SPIKE, _SPIKES = 3.0, 0.01  # how much longer a pass takes now and then, and in which share of them
_DRIFT_PASSES = 400  # from one extreme of the machine's speed to the other


@dataclass(frozen=True, slots=True)
class Noise:
    sigma: float = 0.0  # of the logarithm of a pass's time
    drift: float = 0.0  # how much slower and quicker the machine gets over hundreds of passes
    seed: int = 0


class CountingTarget:
    """What a target of a measurement shares that only counts the tokens it holds."""

    def __init__(self) -> None:
        self.num_held = 0

    def roll_back(self, num_kept: int) -> bool:
        self.num_held = num_kept
        return True

    def save(self) -> None: ...

    def restore(self, saved: object) -> bool:  # noqa: ARG002
        raise AssertionError("nothing was saved")

    def close(self) -> None: ...


class SimulatedBody(CountingTarget):
    """Implements `model.interface.Target`, for its time: a pass spends what it costs, with noise, on the clock;
    its rows say nothing."""

    vocabulary = Vocabulary((b"",), frozenset(), frozenset(), None, None, begins_prompts=False)
    description = TargetDescription(Path("simulated"), "simulated", "", 0, threads=1, chat_template=None)
    limits = TargetLimits(32_768, 512, 64, 32_768)
    features = frozenset({TargetFeature.ROLLBACK})

    def __init__(self, costs: Sequence[float], switch: float, noise: Noise, spend: Callable[[float], None]) -> None:
        """`costs`: V(1), V(2), … as multiples of V(1), as many as are known; `switch`: the same, for another number of
        tokens."""
        super().__init__()
        self.costs = filled(dict(enumerate(costs, 1)))
        self._seconds = [_SINGLE_S * cost for cost in self.costs]
        self._switch_s = _SINGLE_S * switch
        self._noise = noise
        self._spend = spend
        self._dice = random.Random(noise.seed)
        self._phase = self._dice.uniform(0, 2 * math.pi)
        self._last = 1
        self.passes: list[tuple[int, float]] = []  # tokens of each, and the seconds that it costs, noise left out

    def tokenize(self, text: str) -> list[int]:  # noqa: ARG002
        raise AssertionError("another target says the words")

    def evaluate(self, tokens: Sequence[int], num_rows: int, stop: StopSignal) -> FloatRows:
        if stop.is_set():
            raise Interrupted
        seconds = self._seconds[min(len(tokens), len(self._seconds)) - 1]
        seconds += self._switch_s if len(tokens) != self._last else 0.0
        self._last = len(tokens)
        self.num_held += len(tokens)
        self.passes.append((len(tokens), seconds))
        self._spend(seconds * self._disturbance())
        return np.zeros((num_rows, 1), np.float32)

    def _disturbance(self) -> float:
        if not self._noise.sigma:
            return 1.0
        drift: float = (1 + self._noise.drift) ** math.sin(math.pi * len(self.passes) / _DRIFT_PASSES + self._phase)
        spike = _SPIKE if self._dice.random() < _SPIKES else 1.0
        return drift * spike * math.exp(self._dice.gauss(0, self._noise.sigma))


class CountedMode:
    """Implements `engine.lab.measuring.modes.Mode`: the answers of another one, in the seconds that its passes cost."""

    def __init__(self, mode: Mode, body: SimulatedBody) -> None:
        self._mode = mode
        self._body = body

    def answer(self, question: BenchQuestion, stop: StopSignal) -> ModeAnswer:
        answer = self._mode.answer(question, stop)
        pass_s: defaultdict[int, float] = defaultdict(float)
        for num_rows, seconds in self._body.passes[len(self._body.passes) - answer.figures.num_rounds :]:
            pass_s[num_rows] += seconds
        return replace(answer, wall_s=sum(pass_s.values()), figures=replace(answer.figures, pass_s=pass_s))


def recalling(target: Target) -> Speculation:
    """As the app drafts for the target where no drafter pays and nothing was said before."""
    passes = measure_passes(target, StopSignal())
    proposers = catalogue.paying(passes, None)
    return open_speculation(DraftPolicy(passes), Supplies(target), proposers, at_once=True)


def simulate(
    chats: Sequence[ScriptedChat],
    trace: TraceTarget,
    costs: Sequence[float],
    switch: float,
    noise: Noise,
    max_tokens: int,
) -> BenchOutcome:
    """All replies, by plain decoding and by `auto` with recall."""
    settings, stop = ReplySettings(SamplingSettings(temperature=0), max_tokens), StopSignal()
    with pytest.MonkeyPatch.context() as patch:
        body = SimulatedBody(costs, switch, noise, FakeClock(patch).spend)
        target = BodyTarget(trace, body)
        modes = {PLAIN: None, AUTO: recalling(target)}
        bench = Bench(
            {name: CountedMode(ReplayMode(trace, target, settings, each), body) for name, each in modes.items()}
        )
        return bench.run(chats, stop)


@dataclass(frozen=True, slots=True)
class Ratios:
    """Of `auto` over plain, of all replies or those of a task."""

    median: float
    p10: float
    worst: float
    together: float  # seconds of all replies of plain over those of auto
    num_slow: int
    num: int

    @classmethod
    def of(cls, outcomes: Sequence[BenchOutcome], task: str | None = None) -> Ratios:
        compared = [
            each
            for outcome in outcomes
            for each in outcome.comparisons
            if task in (None, each.question.task) and each.answers[PLAIN].figures.num_written
        ]
        ratios = [ratio for each in compared if (ratio := ratio_to_plain(each, AUTO)) is not None]
        p10, median = np.percentile(ratios, (10, 50))
        plain_s, auto_s = (sum(each.answers[mode].wall_s for each in compared) for mode in (PLAIN, AUTO))
        num_slow = sum(ratio < SLOWER for ratio in ratios)
        return cls(float(median), float(p10), min(ratios), plain_s / auto_s, num_slow, len(ratios))

    def __str__(self) -> str:
        return (
            f"median {self.median:.3f}, p10 {self.p10:.3f}, worst {self.worst:.3f}, together {self.together:.3f} "
            f"({self.num} replies, {self.num_slow} below {SLOWER})"
        )


def worst_replies(outcomes: Sequence[BenchOutcome], count: int) -> list[tuple[float, str, Counter[int]]]:
    """Ratio, id, and rows of a pass -> passes, of those where `auto` did worst."""
    found = [
        (ratio, comparison.question.id, comparison.answers[AUTO].figures.passes)
        for outcome in outcomes
        for comparison in outcome.comparisons
        if (ratio := ratio_to_plain(comparison, AUTO)) is not None
    ]
    return sorted(found, key=lambda each: each[:2])[:count]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=Path)
    parser.add_argument("--vocabulary", type=Path, help="a GGUF file; the starter's by default")
    parser.add_argument("--pass-costs", required=True, help="V(1),V(2),… as multiples of V(1)")
    parser.add_argument("--switch", type=float, default=0.0, help="of a pass over another number of tokens")
    parser.add_argument("--noise", type=float, default=0.1, help="spread of a pass's time; 0: none, and no drift")
    parser.add_argument("--drift", type=float, default=0.2)
    parser.add_argument("--seed", type=int, default=0, help="of the first run")
    parser.add_argument("--runs", type=int, default=1, help="each with a seed and a new draft policy")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--max-tokens", type=int, default=128)
    parser.add_argument("--worst", type=int, default=0, help="how many of the worst replies to show")
    parser.add_argument("--json", type=Path, help="ratios of each reply and run")
    arguments = parser.parse_args()

    costs = SimulatedCosts.parse("0", arguments.pass_costs).passes
    path = arguments.vocabulary or starter_path()
    trace = TraceTarget(load_vocabulary(path), path)
    chats = read_prompts(arguments.trace, arguments.limit, recorded=True)
    outcomes = []
    for seed in range(arguments.seed, arguments.seed + arguments.runs):
        noise = Noise(arguments.noise, arguments.drift, seed)
        outcomes.append(simulate(chats, trace, costs, arguments.switch, noise, arguments.max_tokens))
        print(f"seed {seed}: {Ratios.of(outcomes[-1:])}", flush=True)
    print(f"all: {Ratios.of(outcomes)}")
    for task in sorted({chat.task for chat in chats}):
        print(f"  {task}: {Ratios.of(outcomes, task)}")
    for ratio, name, passes in worst_replies(outcomes, arguments.worst):
        print(f"  {ratio:.3f} {name}: passes by tokens {dict(sorted(passes.items()))}")
    if arguments.json is not None:
        ratios: defaultdict[str, list[float]] = defaultdict(list)
        for ratio, name, _ in worst_replies(outcomes, len(chats) * len(outcomes)):
            ratios[name].append(round(ratio, 4))
        arguments.json.write_text(json.dumps(ratios, indent=1) + "\n", "utf-8")
    trace.close()


if __name__ == "__main__":
    main()
