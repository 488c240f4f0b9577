"""What own code costs: all of a reply's time that is neither the target's passes nor a drafter's.

    python -m tests.benchmarks.own_code [--prompts F.jsonl] [--limit 12] [--max-tokens 64] [--target starter]
    python -m tests.benchmarks.own_code --twin 100 [--prompts F.jsonl]

Three parts. *Replies*: every prompt is answered by plain decoding and by `auto`, greedy and at temperature 0.8, each
with and without the notes that learning takes (the learner itself works between replies), and by plain decoding where
numpy reads the rows, in turns. *Steps*: the starter drafts for the target; what a step takes beyond `llama_decode`.
*Rows*: noise of several vocabularies, swept out of the processor's caches before each reading, by the library and by
numpy in turns.

Prints milliseconds, medians: on a busy machine the operating system takes its share of every millisecond, and whoever
else fills the caches makes our code slower, so a quiet one is wanted. Bars are those of a vocabulary of 49,000; one of
262,000 may take 1.6 times as long.

`--twin N`: instead, answers N prompts by plain decoding with the library and with numpy, at both temperatures, with a
seed; all texts must be the same. (Drafts change the shapes of passes, and so the texts at near ties, by the clock.)
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from statistics import median

import numpy as np
from llama_cpp import llama_cpp as lib

from engine import STARTER, EngineConfig, ReplySettings, SamplingSettings, StopSignal
from engine.lab.measuring.bench import Bench, ModeComparison
from engine.lab.measuring.modes import Mode, ModeAnswer, WriterMode
from engine.lab.measuring.order import AUTO, PLAIN
from engine.lab.measuring.prompts import BenchQuestion, ScriptedChat, read_prompts
from engine.loading import load_target, speculate
from engine.speculation.drafter.choice import starter_drafter
from engine.speculation.model.interface import Target
from engine.speculation.native import rows
from engine.speculation.numerics.draft_length import FixedCosts
from engine.speculation.numerics.likeliest import NUM_NOTED, DistributionNotes, RowScan
from engine.speculation.numerics.sampling import RandomDice, distribution_of, make_distribution
from engine.speculation.proposers.blending import outlook_of
from engine.speculation.proposers.costly import Always, GoingRate
from engine.speculation.proposers.drafted import DrafterProposer, drafting
from engine.speculation.proposers.interface import Context
from engine.speculation.proposers.supply import DrafterSupply, open_drafting
from engine.use_cases.chat import resolve
from engine.values.config import TargetSettings
from engine.values.conversations import ChatTurn, Role
from tests.benchmarks.plain_decoding import PROMPTS

LEARNING = ", learning"  # behind the name of a mode
NUMPY = ", numpy"
WARM = 0.8
PLAIN_BAR_MS = {0.0: 0.13, WARM: 0.20}  # a token, by temperature
AUTO_BAR_MS = 0.12  # a round, more than plain
LEARNING_BAR_MS = 0.05  # a round, more than without
STEP_BAR_MS = 0.10  # a step of the drafter, more than llama.cpp takes
LARGE, LARGE_FACTOR = 200_000, 1.6  # of vocabularies with more tokens, what bars are multiplied with
SIZES = (49_152, 128_000, 262_144)
_SWEPT = 25_000_000  # floats, more than any processor's cache holds
_TURNS = 31
_STEPS = 4  # of a draft
_DRAFTS = 120


def own_ms(answer: ModeAnswer) -> float:
    return (answer.wall_s - answer.figures.target_s - answer.figures.draft_s) * 1e3


def per_round_ms(comparisons: Sequence[ModeComparison]) -> dict[str, float]:
    """By mode; the median over its replies."""
    answers: dict[str, list[ModeAnswer]] = {}
    for comparison in comparisons:
        for mode, answer in comparison.answers.items():
            if answer.figures.num_rounds:
                answers.setdefault(mode, []).append(answer)
    return {mode: median(own_ms(each) / each.figures.num_rounds for each in given) for mode, given in answers.items()}


def bars(round_ms: Mapping[str, float], temperature: float, factor: float = 1.0) -> list[tuple[str, float, float]]:
    """What is measured, how much of it there is, and how much there may be."""
    plain, auto = round_ms[PLAIN], round_ms[AUTO]
    return [
        ("plain, a token", plain, PLAIN_BAR_MS[temperature] * factor),
        ("auto over plain, a round", auto - plain, AUTO_BAR_MS * factor),
        ("learning, over plain without", round_ms[PLAIN + LEARNING] - plain, LEARNING_BAR_MS * factor),
        ("learning, over auto without", round_ms[AUTO + LEARNING] - auto, LEARNING_BAR_MS * factor),
    ]


def tell(name: str, spent_ms: float, most_ms: float) -> bool:
    print(f"{name:28} {spent_ms:.3f} ms (at most {most_ms:.2f}{'' if spent_ms <= most_ms else ': NOT MET'})")
    return spent_ms <= most_ms


def print_table(comparisons: Sequence[ModeComparison], temperature: float = 0.0, factor: float = 1.0) -> bool:
    """Whether all is within its bar."""
    round_ms = per_round_ms(comparisons)
    print(f"\nReplies at temperature {temperature}")
    for mode, spent_ms in round_ms.items():
        answers = [each.answers[mode] for each in comparisons]
        rounds, written = (
            sum(getattr(answer.figures, name) for answer in answers) for name in ("num_rounds", "num_written")
        )
        print(f"{mode:16} {spent_ms:.3f} ms a round, {spent_ms * rounds / written:.3f} a token ({written} tokens)")
    within = [tell(*each) for each in bars(round_ms, temperature, factor)]  # all are told
    return all(within)


class ByNumpy:
    """A mode whose rows numpy reads."""

    def __init__(self, mode: Mode) -> None:
        self._mode = mode

    def answer(self, question: BenchQuestion, stop: StopSignal) -> ModeAnswer:
        with rows.read_by_numpy():
            return self._mode.answer(question, stop)


class Replies:
    def __init__(self, config: EngineConfig, target: Target, chats: Sequence[ScriptedChat], max_tokens: int) -> None:
        self._config = config
        self._target = target
        self._chats = chats
        self._max_tokens = max_tokens
        self._stop = StopSignal()

    def run(self, temperature: float, factor: float) -> bool:
        modes: dict[str, Mode] = {}
        for learns in (False, True):
            for name in (PLAIN, AUTO):
                modes[name + LEARNING * learns] = self._mode(name, SamplingSettings(temperature=temperature), learns)
        modes[PLAIN + NUMPY] = ByNumpy(modes[PLAIN])
        return print_table(Bench(modes).run(self._chats, self._stop).comparisons, temperature, factor)

    def compare(self) -> bool:
        """Whether the library and numpy write the same texts."""
        num_texts = num_tokens = num_different = 0
        for temperature in (0.0, WARM):
            mode = self._mode(PLAIN, SamplingSettings(temperature=temperature, seed=7))
            bench = Bench({PLAIN: mode, PLAIN + NUMPY: ByNumpy(mode)})
            for each in bench.run(self._chats, self._stop).comparisons:
                ours, theirs = (each.answers[name].tokens for name in (PLAIN, PLAIN + NUMPY))
                num_texts, num_tokens = num_texts + 1, num_tokens + len(ours)
                if ours != theirs:
                    num_different += 1
                    print(f"{each.question.id} at {temperature}: the texts differ")
        print(f"{num_texts} texts of {num_tokens} tokens, {num_different} differ")
        return not num_different

    def _mode(self, name: str, sampling: SamplingSettings, learns: bool = False) -> WriterMode:
        settings = ReplySettings(sampling, self._max_tokens, keeps_distributions=learns)
        speculation = None
        if name == AUTO:
            supply = DrafterSupply(self._config, self._target)
            speculation = speculate(self._config, self._target, self._stop, supply, at_once=True)
        return WriterMode(self._target, settings, speculation)


@contextmanager
def timed_decoding(spent: list[float]) -> Iterator[None]:
    """Notes the seconds of every call of `llama_decode`."""
    decode = lib.llama_decode

    def timed(*arguments: object) -> int:
        began = time.perf_counter()
        result: int = decode(*arguments)
        spent.append(time.perf_counter() - began)
        return result

    lib.llama_decode = timed
    try:
        yield
    finally:
        lib.llama_decode = decode


def step_ms(proposer: DrafterProposer, target: Target, temperature: float) -> float:
    """What a step takes beyond llama.cpp's pass, as each draft takes a while, too, which its steps share."""
    text = " ".join(PROMPTS * 3)
    tokens = target.tokenize(text)
    sampling, dice = SamplingSettings(temperature=temperature), RandomDice(0)
    turns = (ChatTurn(Role.USER, PROMPTS[0]),)
    worth = GoingRate(FixedCosts({1: 1.0}), 1.0, always=Always(_STEPS, _STEPS))
    held: list[int] = tokens[:32]
    above: list[float] = []
    for token in tokens[32 : 32 + _DRAFTS]:
        spent: list[float] = []
        context = Context(turns, held, token, 32, sampling, dice, max_branches=8)
        with timed_decoding(spent):
            began = time.perf_counter()
            draft = proposer.propose(context, _STEPS, worth)
            took = time.perf_counter() - began
        if draft.num_steps:
            above.append((took - sum(spent)) / draft.num_steps)
        held.append(token)
    proposer.end_reply()
    return median(above[len(above) // 4 :]) * 1e3


def measure_steps(config: EngineConfig, target: Target, factor: float) -> bool:
    print("\nSteps of the starter as drafter, beyond llama.cpp's")
    opened = open_drafting(config, starter_drafter(), target.vocabulary)
    proposer = opened.proposer
    assert isinstance(proposer, DrafterProposer)
    proposer.measure_cost()
    within = []
    for temperature in (0.0, WARM):
        with rows.read_by_numpy():
            by_numpy = step_ms(proposer, target, temperature)
        own = step_ms(proposer, target, temperature)
        within.append(tell(f"at temperature {temperature}", own, STEP_BAR_MS * factor))
        print(f"{'  by numpy':28} {by_numpy:.3f} ms: {by_numpy / own:.1f} times")
    return all(within)


def row_jobs(row: rows.LogitRow) -> dict[str, Callable[[], object]]:
    greedy, warm, dice = SamplingSettings(temperature=0), SamplingSettings(temperature=WARM), RandomDice(0)

    def learning() -> None:
        scan = RowScan(row, NUM_NOTED)
        DistributionNotes().note(distribution_of(scan, warm, ()).draw(dice), scan)

    def drafted() -> None:
        outlook = outlook_of(row)
        rows.reaching(outlook.logits, outlook.total - 4)

    def drawn() -> None:
        outlook_of(row)
        make_distribution(row, drafting(warm), ()).draw(dice)

    return {
        "greedy": lambda: make_distribution(row, greedy, ()).draw(dice),
        "at temperature 0.8": lambda: make_distribution(row, warm, ()).draw(dice),
        "the same, learning": learning,
        "a drafter's, greedy": drafted,
        "a drafter's, drawn": drawn,
    }


def measure_rows() -> None:
    print("\nRows of noise, cold, in microseconds: the library, numpy, how many times that is")
    swept = np.ones(_SWEPT, np.float32)
    for size in SIZES:
        row = np.random.default_rng(size).normal(scale=3, size=size).astype(np.float32)
        for name, job in row_jobs(row).items():
            took: dict[bool, list[float]] = {False: [], True: []}
            for turn in range(2 * _TURNS):
                by_numpy = bool(turn % 2)
                with ExitStack() as stack:
                    if by_numpy:
                        stack.enter_context(rows.read_by_numpy())
                    swept.sum()
                    began = time.perf_counter()
                    job()
                    took[by_numpy].append(time.perf_counter() - began)
            ours, theirs = (median(took[by_numpy]) * 1e6 for by_numpy in (False, True))
            print(f"{size:8,} {name:20} {ours:6.0f} {theirs:6.0f} {theirs / ours:6.1f}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=Path)
    parser.add_argument("--limit", type=int, default=12)
    parser.add_argument("--max-tokens", type=int, default=64)
    parser.add_argument("--target", default=STARTER)
    parser.add_argument("--twin", type=int, metavar="N")
    asked = parser.parse_args()
    chats: Sequence[ScriptedChat] = [
        ScriptedChat(str(place), "", (), (prompt,)) for place, prompt in enumerate(PROMPTS)
    ]
    if asked.prompts is not None:
        chats = read_prompts(asked.prompts, asked.twin or asked.limit)
    if not rows.IS_NATIVE:
        parser.error("the library is missing: `make setup` builds it")
    with tempfile.TemporaryDirectory() as folder:
        config, stop = EngineConfig(Path(folder)), StopSignal()
        source = resolve(config, asked.target)
        with closing(load_target(source, TargetSettings(), lambda _progress: None, stop)) as target:
            replies = Replies(config, target, chats, asked.max_tokens)
            if asked.twin:
                return 0 if replies.compare() else 1
            factor = LARGE_FACTOR if len(target.vocabulary) > LARGE else 1.0
            within = [replies.run(temperature, factor) for temperature in PLAIN_BAR_MS]
            within.append(measure_steps(config, target, factor))
        measure_rows()
    return 0 if all(within) else 1


if __name__ == "__main__":
    raise SystemExit(main())
