"""Copying, repetition and text that nobody can guess, at temperature 0 and 1, beside what passes allow.

    python -m tests.benchmarks.scripted [--replies 8] [--pass-costs 1,1.49,1.81,2.15] [--noise 0.1] [--seed 0]

What the target says is scripted, token by token; the starter's passes take the time, or with `--pass-costs` such as
`tests.benchmarks.record` prints, simulated ones, with noise, for counts that no other work on the machine can disturb.
Recall drafts, as in `auto`; every text begins with a new pace. The texts:

- copy: a passage of 300 tokens that the prompt holds, after five tokens of another kind;
- repeat: a phrase of 24 tokens that the prompt holds, twelve times;
- list: the same, but with three new tokens before each;
- random: tokens at random, eight of them equally likely when sampling;
- bait: tokens at random, but half the time it begins to repeat itself, for 2 to 6 tokens, and goes on otherwise.

At temperature 1 the scripted token has otherwise a chance of 0.9 at every place, and three others share the rest,
whatever was written before.

Prints for each the ratio to plain as measured and by counts (every pass taking what passes of its size take on
average in the run), and two ceilings, from pass costs and acceptance of the same run: over all rounds, and with the
rounds that had nothing to guess from as slow as plain ones. By counts, copying and repetition are to reach 0.9 of the
first ceiling, a list 0.9 of the second, and text that nobody can guess 0.99 of plain.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from engine.clock import now
from engine.config import SamplingSettings, TargetSettings
from engine.decoding.loop import Decoder
from engine.decoding.session import Session
from engine.decoding.speculation import Speculation
from engine.lab.measuring.bench import Bench, Comparison
from engine.lab.measuring.counted import acceptance, best_ratio, covered_ratio, pass_means, ratio_by_counts
from engine.lab.measuring.modes import Answer, Mode
from engine.lab.measuring.order import AUTO, PLAIN, SimulatedCosts
from engine.lab.measuring.prompts import Chat, Question
from engine.lab.measuring.report import ratio_to_plain
from engine.stop_signal import StopSignal
from engine.target.body import BodyTarget
from engine.target.interface import (
    FloatRows,
    Interrupted,
    Target,
    TargetDescription,
    TargetFeature,
    TargetLimits,
    Vocabulary,
)
from engine.target.llama_cpp import LlamaCppTarget
from engine.target.sources import starter_path
from engine.target.vocabulary import load_vocabulary
from tests.benchmarks.pace import CountedMode, CountingTarget, Noise, SimulatedBody, recalling
from tests.benchmarks.record import PassTimer
from tests.fakes.clock import FakeClock

_LIMITS = TargetLimits(32_768, 512, 64, 32_768)
_NEVER = np.float32(-50.0)  # a logit
_CHANCE = 0.9  # of the scripted token when sampling
_NUM_OTHERS = 3  # tokens that share the rest
_NUM_EQUAL = 8  # likely tokens where a text is random
_BARS = {"copy": 0.9, "repeat": 0.9, "list": 0.9, "random": 0.99, "bait": 0.99}


@dataclass(frozen=True, slots=True)
class Script:
    prompt: tuple[int, ...]
    reply: tuple[int, ...]
    is_random: bool = False  # whether the reply's tokens are no likelier than others, when sampling


def ordinary(vocabulary: Vocabulary) -> list[int]:
    """Tokens that a text may consist of."""
    never = vocabulary.special | vocabulary.end_of_generation
    return [token for token in range(len(vocabulary)) if token not in never]


class Scriptwriter:
    """Draws scripts over ordinary tokens."""

    def __init__(self, tokens: Sequence[int], seed: int) -> None:
        self._tokens = tokens
        self._dice = random.Random(seed)

    def write(self, name: str) -> Script:
        return {
            "copy": self._copy,
            "repeat": self._repeat,
            "list": self._list,
            "random": self._random,
            "bait": self._bait,
        }[name]()

    def _copy(self) -> Script:
        passage = self._new(300)
        return Script((*self._new(40), *passage, *self._new(20)), (*self._new(5), *passage))

    def _repeat(self) -> Script:
        phrase = self._new(24)
        return Script((*self._new(40), *phrase, *self._new(20)), phrase * 12)

    def _list(self) -> Script:
        phrase = self._new(24)
        reply = tuple(token for _ in range(12) for token in (*self._new(3), *phrase))
        return Script((*self._new(40), *phrase, *self._new(20)), reply)

    def _random(self) -> Script:
        return Script(self._new(60), self._new(256), is_random=True)

    def _bait(self) -> Script:
        said = list(self._new(60))
        while len(said) < 60 + 256:
            start = self._dice.randrange(len(said) - 6)
            said += said[start : start + self._dice.randint(2, 6)] if self._dice.random() < 0.5 else self._new(4)
            said += self._new(1)
        return Script(tuple(said[:60]), tuple(said[60 : 60 + 256]))

    def _new(self, count: int) -> tuple[int, ...]:
        return tuple(self._dice.choices(self._tokens, k=count))


class ScriptedTarget(CountingTarget):
    """Implements `engine.target.interface.Target` over one script at a time: what may follow depends on the place
    alone, not on what was written there."""

    limits = _LIMITS
    features = frozenset({TargetFeature.ROLLBACK})

    def __init__(self, vocabulary: Vocabulary, temperature: float) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.description = TargetDescription(Path("script"), "script", "scripted", 0, threads=1, chat_template=None)
        self._ordinary = ordinary(vocabulary)
        self._temperature = temperature
        self._rows = np.full((_LIMITS.max_rows, len(vocabulary)), _NEVER, np.float32)
        self._script = Script((0,), (0,))

    def play(self, script: Script) -> None:
        """From now on this is said. Nothing is held."""
        self._script = script
        self.num_held = 0

    def tokenize(self, text: str) -> list[int]:  # noqa: ARG002
        return []  # scripts are tokens

    def evaluate(self, tokens: Sequence[int], num_rows: int, stop: StopSignal) -> FloatRows:
        if stop.is_set():
            raise Interrupted
        rows = self._rows[:num_rows]
        rows.fill(_NEVER)
        first = self.num_held + len(tokens) - num_rows + 1 - len(self._script.prompt)
        for row, place in enumerate(range(first, first + num_rows)):
            ids, chances = self.likely(place)
            rows[row, ids] = np.log(chances)
        self.num_held += len(tokens)
        return rows

    def likely(self, place: int) -> tuple[list[int], list[float]]:
        """Tokens that may stand there in the reply, and their chances; the scripted one first."""
        reply = self._script.reply
        token = reply[min(max(place, 0), len(reply) - 1)]
        if self._temperature == 0:
            return [token], [1.0]
        num = _NUM_EQUAL - 1 if self._script.is_random else _NUM_OTHERS
        chance = 1 / _NUM_EQUAL if self._script.is_random else _CHANCE
        drawn = random.Random(f"{token} {place}").sample(self._ordinary, num + 1)
        others = [other for other in drawn if other != token][:num]
        return [token, *others], [chance, *[(1 - chance) / num] * num]


class ScriptMode:
    """Implements `engine.lab.measuring.modes.Mode`: plays the script that a question names."""

    def __init__(
        self,
        scripts: Mapping[str, Script],
        script: ScriptedTarget,
        target: Target,
        sampling: SamplingSettings,
        speculation: Speculation | None,
    ) -> None:
        """`target` evaluates what `script` says."""
        self._scripts = scripts
        self._script = script
        self._target = target
        self._sampling = sampling
        self._speculation = speculation

    def answer(self, question: Question, stop: StopSignal) -> Answer:
        script = self._scripts[question.id]
        self._target.roll_back(0)
        self._script.play(script)
        began, session = now(), Session(self._target)
        rows = session.read(script.prompt, stop)
        read = now()
        decoder = Decoder(self._target, session, self._sampling, question.turns, self._speculation)
        tokens: list[int] = []
        for new in decoder.rounds(rows, stop, max_tokens=len(script.reply)):
            tokens += new
            if len(tokens) >= len(script.reply):
                break
        wall_s = now() - read
        if self._speculation is not None:
            self._speculation.end_reply()
        return Answer("", script.prompt, tuple(tokens), read - began, wall_s, decoder.figures)


@dataclass(frozen=True, slots=True)
class Result:
    """Ratios to plain: medians over the replies, and what could be reached."""

    measured: float
    counted: float
    worst: float  # by counts
    acceptance: float | None  # None where nothing was drafted
    allowed: float  # over all rounds, by what passes cost and the acceptance
    covered: float  # the same, with rounds that had nothing to guess from as slow as plain ones

    @classmethod
    def of(cls, comparisons: Sequence[Comparison], costs: Mapping[int, float]) -> Result:
        """`costs`: V(n) as multiples of V(1), for some n."""
        plain, auto = ([each.answers[mode].figures for each in comparisons] for mode in (PLAIN, AUTO))
        means = pass_means([*plain, *auto])
        counted = [ratio_by_counts(theirs, ours, means) or 0.0 for theirs, ours in zip(plain, auto, strict=True)]
        measured = [ratio_to_plain(comparison, AUTO) or 0.0 for comparison in comparisons]
        accepted = acceptance(auto)
        allowed = 1.0 if accepted is None else best_ratio(accepted, costs)
        return cls(
            float(np.median(measured)),
            float(np.median(counted)),
            min(counted),
            accepted,
            allowed,
            covered_ratio(allowed, auto),
        )

    def share(self, name: str) -> float:
        """By counts: the share of what this text is measured by."""
        return self.counted / {"copy": self.allowed, "repeat": self.allowed, "list": self.covered}.get(name, 1.0)

    def __str__(self) -> str:
        accepted = "nothing drafted" if self.acceptance is None else f"accepted {self.acceptance:.2f}"
        return (
            f"{self.measured:6.3f} measured, {self.counted:.3f} by counts (worst {self.worst:.3f}); allowed "
            f"{self.allowed:.3f}, with rounds without a guess {self.covered:.3f}; {accepted}"
        )


def play(
    scripts: Sequence[Script],
    vocabulary: Vocabulary,
    temperature: float,
    body: Target,
    seed: int = 0,
) -> Result:
    """All scripts, by plain decoding and by `auto` with recall."""
    script = ScriptedTarget(vocabulary, temperature)
    target = BodyTarget(script, body)
    sampling = SamplingSettings(temperature=temperature, top_p=1.0, min_p=0.0, seed=seed)
    by_name = {str(place): each for place, each in enumerate(scripts)}
    by_name["warm-up"] = replace(scripts[0], reply=scripts[0].reply[:8])  # that a measurement begins with
    modes: dict[str, Mode] = {
        name: ScriptMode(by_name, script, target, sampling, speculation)
        for name, speculation in {PLAIN: None, AUTO: recalling(target)}.items()
    }
    chats = [Chat(str(place), "", (), ("-",)) for place in range(len(scripts))]
    if isinstance(body, SimulatedBody):
        modes = {name: CountedMode(mode, body) for name, mode in modes.items()}
        return Result.of(Bench(modes).run(chats, StopSignal()).comparisons, dict(enumerate(body.costs, 1)))
    timer = PassTimer(target)
    outcome = Bench(modes).run(chats, StopSignal(), lambda comparison: timer.time(comparison.answers[PLAIN].tokens))
    return Result.of(outcome.comparisons, timer.costs)


def play_all(vocabulary: Vocabulary, num_replies: int, seed: int, make_body: Callable[[], Target]) -> bool:
    """Whether all are within their bars."""
    is_within = True
    for temperature in (0.0, 1.0):
        writer = Scriptwriter(ordinary(vocabulary), seed)
        for name, bar in _BARS.items():
            scripts = [writer.write(name) for _ in range(num_replies)]
            result = play(scripts, vocabulary, temperature, make_body(), seed)
            share = result.share(name)
            is_within &= share >= bar
            print(f"{name:6} temperature {temperature:.0f}: {result}; share {share:.3f} (bar {bar})", flush=True)
    return is_within


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replies", type=int, default=8, help="of each text")
    parser.add_argument("--pass-costs", help="V(1),V(2),… as multiples of V(1); by default the starter's own time")
    parser.add_argument("--switch", type=float, default=0.0, help="of a simulated pass over another number of tokens")
    parser.add_argument("--noise", type=float, default=0.1, help="spread of a simulated pass's time")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    path = starter_path()
    with closing(load_vocabulary(path)) as source:
        vocabulary = source.vocabulary
    if options.pass_costs is None:
        with closing(LlamaCppTarget.load(path, "starter", TargetSettings(), lambda _: None, StopSignal())) as starter:
            is_within = play_all(vocabulary, options.replies, options.seed, lambda: starter)
    else:
        costs = SimulatedCosts.parse("0", options.pass_costs).passes
        with pytest.MonkeyPatch.context() as patch:
            spend, noise = FakeClock(patch).spend, Noise(options.noise, 0.2, options.seed)
            is_within = play_all(
                vocabulary, options.replies, options.seed, lambda: SimulatedBody(costs, options.switch, noise, spend)
            )
    return 0 if is_within else 1


if __name__ == "__main__":
    raise SystemExit(main())
