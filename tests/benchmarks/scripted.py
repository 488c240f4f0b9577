"""Copying, repetition and text that nobody can guess, greedy and at the app's temperature, beside what passes allow.

    python -m tests.benchmarks.scripted [--replies 8] [--pass-costs 1,1.49,1.81,2.15] [--noise 0.1] [--seed 0]

What the target says is scripted, token by token (`scripts.py`); the starter's passes take the time, or with
`--pass-costs` such as `tests.benchmarks.record` prints, simulated ones, with noise, for counts that no other work on
the machine can disturb. Recall drafts, as in `auto`; every text begins with a new draft policy, and of each there are
several replies, so that the policy learns. When sampling, the logits of the scripted token are those of a chance of 0.9
at temperature 1, and three others share the rest, whatever was written before: at 0.8 it has 0.95.

Prints for each the ratio to plain as measured and by counts (every pass taking what passes of its size take on
average in the run), and what passes allow: the ratio of a *perfect copyist*. It drafts every token that goes on with a
copy and none that does not, knows how likely each is accepted, resumes behind every other token at once, and checks as
many at a time as is best over the whole reply, by what passes cost. What begins a copy is new to it: nothing announces
that. By counts, texts that copy are to reach a share of that, and text that nobody can guess 0.99 of plain. Besides:
rounds from the first token that a copy begins with until a draft follows it, and tokens of a round.
"""

from __future__ import annotations

import argparse
import math
import random
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from engine.lab.measuring.bench import Bench, ModeComparison
from engine.lab.measuring.modes import Mode, ModeAnswer
from engine.lab.measuring.order import AUTO, PLAIN, SimulatedCosts
from engine.lab.measuring.prompts import BenchQuestion, ScriptedChat
from engine.lab.measuring.report import acceptance, attainable, pass_means, ratio_by_counts, ratio_to_plain
from engine.speculation.decoding.loop import Decoder
from engine.speculation.decoding.session import Session
from engine.speculation.decoding.speculation import Speculation
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
from engine.speculation.model.llama.llama_cpp import LlamaCppTarget
from engine.speculation.model.llama.vocabulary import VocabularyFile, load_vocabulary
from engine.speculation.numerics.draft_length import MAX_LENGTH, PassCosts
from engine.values.clock import now
from engine.values.config import SamplingSettings, TargetSettings
from engine.values.stop_signal import StopSignal
from tests.benchmarks.draft_policy import CountedMode, CountingTarget, Noise, SimulatedBody, recalling
from tests.benchmarks.record import PassTimer
from tests.benchmarks.scripts import Script, Scriptwriter, ordinary
from tests.fakes.clock import FakeClock

_LIMITS = TargetLimits(32_768, 512, 64, 32_768)
_NEVER = np.float32(-50.0)  # a logit
_CHANCE = 0.9  # of the scripted token when sampling
_NUM_OTHERS = 3  # tokens that share the rest
_NUM_EQUAL = 8  # likely tokens where a text is random
_TEMPERATURES = (0.0, SamplingSettings().temperature)
_BARS = {
    "copy": 0.93,
    "repeat": 0.93,
    "list": 0.85,
    "quote": 0.85,
    "correct": 0.65,
    "rename": 0.7,
    "translate": 0.85,
    "random": 0.99,
    "bait": 0.99,
}
_BY_PLAIN = ("random", "bait")  # texts that nothing is to be gained from


class ScriptedTarget(CountingTarget):
    """Implements `model.interface.Target` over one script at a time: what may follow depends on the place
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
        self._script = Script((0,), (0,), (False,))

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

    @property
    def chance(self) -> float:
        """That the scripted token is drawn, where the text is not random."""
        if self._temperature == 0:
            return 1.0
        odds: float = (_CHANCE * _NUM_OTHERS / (1 - _CHANCE)) ** (1 / self._temperature)
        return odds / (odds + _NUM_OTHERS)

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
        self.rounds_until_draft: dict[str, int] = {}  # by the script: rounds from the first copied token on

    def answer(self, question: BenchQuestion, stop: StopSignal) -> ModeAnswer:
        script = self._scripts[question.id]
        self._target.roll_back(0)
        self._script.play(script)
        began, session = now(), Session(self._target)
        rows = session.read(script.prompt, stop)
        read = now()
        sampling = replace(self._sampling, seed=zlib.crc32(f"{self._sampling.seed} {question.id}".encode()))
        decoder = Decoder(self._target, session, sampling, question.turns, self._speculation)
        tokens: list[int] = []
        begins, num_rounds = script.is_copied.index(True) if any(script.is_copied) else None, 0
        for new in decoder.rounds(rows, stop, max_tokens=len(script.reply)):
            if begins is not None and len(tokens) >= begins and question.id not in self.rounds_until_draft:
                num_rounds += 1
                if decoder.verdict.num_accepted:
                    self.rounds_until_draft[question.id] = num_rounds - 1
            tokens += new
            if len(tokens) >= len(script.reply):
                break
        wall_s = now() - read
        if self._speculation is not None:
            self._speculation.end_reply()
        return ModeAnswer("", script.prompt, tuple(tokens), read - began, wall_s, decoder.figures)


def allowed(script: Script, chance: float, costs: Mapping[int, float]) -> float:
    """The ratio to plain of a perfect copyist, on average over what the target draws. `chance`: that it draws the
    scripted token; `costs`: V(n) as multiples of V(1), for some n, 1 among them.

    Backwards over the places of the reply: the least seconds from there to its end, over all numbers of copied tokens
    that a round can check. The first token is drawn from the prompt's own pass.
    """
    passes, end = PassCosts(costs), len(script.reply)
    left_s = [0.0] * (end + 1)
    for place in range(end - 1, 0, -1):
        best_s, rejected_s, reached = math.inf, 0.0, 1.0
        for checked in range(min(end - place, MAX_LENGTH + 1)):
            best_s = min(best_s, passes.of(1 + checked) + rejected_s + reached * left_s[place + checked + 1])
            if not script.is_copied[place + checked]:
                break
            rejected_s += reached * (1 - chance) * left_s[place + checked + 1]
            reached *= chance
        left_s[place] = best_s
    return (end - 1) * passes.of(1) / left_s[1]


@dataclass(frozen=True, slots=True)
class Result:
    """Ratios to plain: medians over the replies, and what could be reached."""

    measured: float
    counted: float
    worst: float  # by counts
    allowed: float  # of a perfect copyist
    acceptance: float | None  # None where nothing was drafted
    rounds_until_draft: float | None  # from the first copied token on; None where nothing is copied
    tokens_per_round: float

    @classmethod
    def of(
        cls,
        comparisons: Sequence[ModeComparison],
        costs: Mapping[int, float],
        scripts: Sequence[Script],
        chance: float,
        rounds_until_draft: Sequence[int],
    ) -> Result:
        """`costs`: V(n) as multiples of V(1), for some n; of those that the rounds had many of, theirs count."""
        plain, auto = ([each.answers[mode].figures for each in comparisons] for mode in (PLAIN, AUTO))
        means = pass_means([*plain, *auto])
        counted = [ratio_by_counts(theirs, ours, means) or 0.0 for theirs, ours in zip(plain, auto, strict=True)]
        measured = [ratio_to_plain(comparison, AUTO) or 0.0 for comparison in comparisons]
        seen = attainable(plain, auto, pass_costs=costs)
        costs = {**costs, **(seen.pass_costs if seen is not None else {})}
        return cls(
            float(np.median(measured)),
            float(np.median(counted)),
            min(counted),
            float(np.median([allowed(script, chance, costs) for script in scripts])),
            acceptance(auto),
            float(np.median(rounds_until_draft)) if rounds_until_draft else None,
            sum(each.num_written for each in auto) / sum(each.num_rounds for each in auto),
        )

    def share(self, name: str) -> float:
        """By counts: the share of what this text is measured by."""
        return self.counted / (1.0 if name in _BY_PLAIN else self.allowed)

    def __str__(self) -> str:
        accepted = "nothing drafted" if self.acceptance is None else f"accepted {self.acceptance:.2f}"
        until = "" if self.rounds_until_draft is None else f"drafts after {self.rounds_until_draft:g} rounds, "
        return (
            f"{self.measured:6.3f} measured, {self.counted:.3f} by counts (worst {self.worst:.3f}); "
            f"allowed {self.allowed:.3f}; {until}{self.tokens_per_round:.2f} tokens a round, {accepted}"
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
    auto = ScriptMode(by_name, script, target, sampling, recalling(target))
    modes: dict[str, Mode] = {PLAIN: ScriptMode(by_name, script, target, sampling, None), AUTO: auto}
    chats = [ScriptedChat(name, "", (), ("-",)) for name in by_name if name != "warm-up"]
    if isinstance(body, SimulatedBody):
        modes = {name: CountedMode(mode, body) for name, mode in modes.items()}
        comparisons = Bench(modes).run(chats, StopSignal()).comparisons
        costs: Mapping[int, float] = dict(enumerate(body.costs, 1))
    else:
        timer = PassTimer(target)
        bench, stop = Bench(modes), StopSignal()
        comparisons = bench.run(chats, stop, lambda each: timer.time(each.answers[PLAIN].tokens)).comparisons
        costs = timer.costs
    until = [auto.rounds_until_draft[chat.id] for chat in chats if chat.id in auto.rounds_until_draft]
    return Result.of(comparisons, costs, scripts, script.chance, until)


def play_all(
    names: Sequence[str],
    source: VocabularyFile,
    num_replies: int,
    seed: int,
    make_body: Callable[[], Target],
) -> bool:
    """Whether all are within their bars."""
    is_within, vocabulary = True, source.vocabulary
    for temperature in _TEMPERATURES:
        writer = Scriptwriter(ordinary(vocabulary), seed, source.spell)
        for name in names:
            scripts = [writer.write(name) for _ in range(num_replies)]
            result = play(scripts, vocabulary, temperature, make_body(), seed)
            share, bar = result.share(name), _BARS[name]
            is_within &= share >= bar
            print(f"{name:9} temperature {temperature:.1f}: {result}; share {share:.3f} (bar {bar})", flush=True)
    return is_within


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replies", type=int, default=8, help="of each text")
    parser.add_argument("--pass-costs", help="V(1),V(2),… as multiples of V(1); by default the starter's own time")
    parser.add_argument("--switch", type=float, default=0.0, help="of a simulated pass over another number of tokens")
    parser.add_argument("--noise", type=float, default=0.1, help="spread of a simulated pass's time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--texts", nargs="+", choices=[*_BARS], default=[*_BARS])
    options = parser.parse_args()
    path = starter_path()
    with closing(load_vocabulary(path)) as source:
        texts = (options.texts, source, options.replies, options.seed)
        if options.pass_costs is None:
            target = LlamaCppTarget.load(path, "starter", TargetSettings(), lambda _: None, StopSignal())
            with closing(target) as starter:
                is_within = play_all(*texts, lambda: starter)
        else:
            costs = SimulatedCosts.parse("0", options.pass_costs).passes
            with pytest.MonkeyPatch.context() as patch:
                spend, noise = FakeClock(patch).spend, Noise(options.noise, 0.2, options.seed)
                is_within = play_all(*texts, lambda: SimulatedBody(costs, options.switch, noise, spend))
    return 0 if is_within else 1


if __name__ == "__main__":
    raise SystemExit(main())
