"""How exact the rounds are, in figures.

    python -m tests.benchmarks.exactness [--draws 100000] [--temperature 0.8] [--seed 1]
        [--target MODEL.gguf] [--drafter DRAFTER]

First the largest errors on small vocabularies, summed over every draft and every throw of the dice: of the trie walk,
of the rule of rejection, of both beside branches, and of whole rounds with a drafter that is translated, or that has
the target's vocabulary, as a GGUF of its family may have; also under a grammar, under all rules, and with a seed.

Then first and second tokens on the real starter with the built-in drafter, or, alone, on other models: DRAWS rounds
against the distribution that they should follow, and against as many plain draws, by chi-square; with drafts that are
sampled, and with trees of certain guesses, which one pass of llama.cpp checks. The rows of target and drafter are
computed once for each beginning and stored, so that only proposing and acceptance run so many times.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from engine.loading import load_target
from engine.speculation.decoding.session import Session
from engine.speculation.drafter.choice import BUILT_IN, built_in_source, drafter_source
from engine.speculation.drafter.interface import Drafter, Heads, LogitRow
from engine.speculation.model.files.sources import file_source, starter_source
from engine.speculation.model.interface import StateRow, Target, branching
from engine.speculation.numerics.acceptance import accept
from engine.speculation.numerics.draft import NO_DRAFT, Draft
from engine.speculation.numerics.sampling import Distribution, RandomDice, make_distribution
from engine.speculation.proposers.drafted import DrafterProposer
from engine.speculation.proposers.heads import HeadsProposer
from engine.speculation.proposers.interface import Context, SuppliedProposer
from engine.speculation.proposers.supply import open_drafting, open_heads
from engine.speculation.proposers.window import ReadingWindow
from engine.speculation.replies.reply import ReplyWriter
from engine.values.config import (
    STARTER,
    EngineConfig,
    SamplingSettings,
    SpeculationSettings,
    TargetSettings,
    data_dir,
)
from engine.values.conversations import ChatTurn, Role
from engine.values.drafters import DrafterRunner, DrafterSource
from engine.values.stop_signal import StopSignal
from tests.fakes.drafter import PIECES, random_logits
from tests.fakes.proposers import Generous, drafting, neural_proposer, sharing_proposer
from tests.fakes.target import FakeTarget
from tests.unit.engine.speculation.decoding.test_loop_distribution import (
    LETTERS,
    LIMITS,
    Sum,
    error_under,
    mixing,
    shared_drafter,
    who_drafts,
)
from tests.unit.engine.speculation.numerics.test_acceptance import VOCABULARIES, SharedToy, Toy
from tests.unit.engine.speculation.numerics.test_trees import BranchingSharedToy, BranchingToy, SampledTreeToy

TURNS = (ChatTurn(Role.USER, "Tell me about a lighthouse."),)
OPENING = "The lighthouse is located on the"  # the reply so far; a third of the draft tokens after it are accepted
_FEW = 5.0  # outcomes that are expected less often are counted together


class CachingDrafter:
    """Implements `drafter.interface.Drafter`; the drafter behind it computes each row once."""

    def __init__(self, drafter: Drafter) -> None:
        self._drafter = drafter
        self._rows: dict[tuple[int, ...], LogitRow] = {}
        self._held: tuple[int, ...] = ()
        self.max_held = drafter.max_held

    @property
    def num_held(self) -> int:
        return len(self._held)

    def read(self, tokens: Sequence[int]) -> LogitRow:
        self._held = (*self._held, *tokens)
        row = self._rows.get(self._held)
        if row is None:
            self._drafter.roll_back(0)
            row = self._rows[self._held] = self._drafter.read(self._held).copy()
        return row

    def roll_back(self, num_kept: int) -> None:
        self._held = self._held[:num_kept]

    most_threads = 1
    can_drop = False

    def drop(self, start: int, end: int) -> None: ...

    def use_threads(self, num_threads: int) -> None: ...

    def refresh(self, is_original: bool = False) -> bool:  # noqa: ARG002
        return False


class CachingHeads:
    """Implements `drafter.interface.Heads`; the heads behind it guess once from one state."""

    def __init__(self, heads: Heads) -> None:
        self.hidden = heads.hidden
        self._heads = heads
        self._known: dict[tuple[bytes, int], tuple[list[list[int]], list[list[float]]]] = {}

    def guess(self, state: StateRow, pending: int) -> tuple[list[list[int]], list[list[float]]]:
        key = state.tobytes(), pending
        if key not in self._known:
            self._known[key] = self._heads.guess(state, pending)
        return self._known[key]


@dataclass(frozen=True, slots=True)
class Comparison:
    num_rounds: int
    num_accepted: int
    p_value_of_distribution: float
    p_value_of_plain: float
    num_beside: int  # rounds in which a branch beside the trunk stood


class Experiment:
    """Many rounds after the same beginning."""

    def __init__(self, target: Target, proposer: SuppliedProposer, sampling: SamplingSettings) -> None:
        if isinstance(proposer, DrafterProposer):
            proposer._drafter = CachingDrafter(proposer._drafter)
            proposer._window = ReadingWindow(proposer._drafter)
        if isinstance(proposer, HeadsProposer):
            proposer._heads = CachingHeads(proposer._heads)
        self._proposer = proposer
        self._sampling = sampling
        self._target = target
        prompt = ReplyWriter(target).prepare(TURNS).prompt.tokens
        between = "" if target.description.chat_template else "\n\n"  # else the prompt itself goes on
        self._begun = [*prompt, *target.tokenize(between + OPENING)]
        self._start = len(prompt)
        self._distributions: dict[tuple[int, ...], Distribution] = {}

    def distribution(self, written: tuple[int, ...]) -> Distribution:
        if written not in self._distributions:
            rows = Session(self._target)
            self._target.roll_back(0)
            row = rows.read([*self._begun, *written], StopSignal())[-1]
            self._distributions[written] = make_distribution(row, self._sampling, ())
        return self._distributions[written]

    def check(self, draft: Draft) -> list[Distribution]:
        """The distributions before the draft and after each of its tokens. Those of a tree are of one pass over it."""
        if draft.parents and draft.line(len(draft.tokens) - 1) not in self._distributions:
            self._target.roll_back(0)
            Session(self._target).read(self._begun[:-1], StopSignal())
            rows = branching(self._target).evaluate_tree(self._begun[-1], draft.tokens, draft.parents, StopSignal())
            for place, row in enumerate(rows, -1):
                self._distributions[draft.line(place)] = make_distribution(row, self._sampling, ())
        return [self.distribution(draft.line(place)) for place in range(-1, len(draft.tokens))]

    def compare(self, num_rounds: int, seed: int, limit: int = 2, max_branches: int = 1) -> Comparison:
        """With branches, drafts are the drafter's likeliest tokens and those beside them, whatever the temperature."""
        dice = RandomDice(seed)
        context = Context(TURNS, self._begun[:-1], self._begun[-1], self._start, self._sampling, dice)
        context = replace(context, state=self._state())
        if max_branches > 1:
            context = replace(context, sampling=SamplingSettings(temperature=0), max_branches=max_branches)
        drafted: Counter[tuple[int, ...]] = Counter()
        plain: Counter[tuple[int, ...]] = Counter()
        num_accepted = num_beside = 0
        for _ in range(num_rounds):
            draft = self._proposer.propose(context, limit, Generous())
            verdict = accept(draft, self.check(draft).__getitem__, (), dice)
            num_accepted += verdict.num_accepted
            num_beside += verdict.num_accepted > verdict.num_straight
            pair = verdict.tokens[:2]
            drafted[pair if len(pair) == 2 else (*pair, self.distribution(pair).draw(dice))] += 1
            first = self.distribution(()).draw(dice)
            plain[(first, self.distribution((first,)).draw(dice))] += 1
        return Comparison(num_rounds, num_accepted, self._p_value(drafted), self._p_value(plain), num_beside)

    def _state(self) -> StateRow:
        """What the last token of the beginning was drawn from, for heads."""
        session = Session(self._target)
        self._target.roll_back(0)
        session.read(self._begun[:-2], StopSignal())
        session.check(self._begun[-2], NO_DRAFT, StopSignal(), with_states=True)
        assert session.states is not None
        state: StateRow = session.states[0].copy()
        return state

    def _p_value(self, counts: Counter[tuple[int, ...]]) -> float:
        """Chi-square of the first two tokens against their distribution."""
        num_rounds = counts.total()
        observed, expected = [0.0], [0.0]
        known = 0
        first = self.distribution(())
        for token, p in zip(first.ids.tolist(), first.probabilities.tolist(), strict=True):
            second = self.distribution((token,))
            for other, q in zip(second.ids.tolist(), second.probabilities.tolist(), strict=True):
                count = counts[(token, other)]
                known += count
                if p * q * num_rounds < _FEW:
                    observed[0] += count
                    expected[0] += p * q * num_rounds
                else:
                    observed.append(count)
                    expected.append(p * q * num_rounds)
        assert known == num_rounds, "a token outside of the distribution came out"
        if expected[0] < _FEW:  # too rare even together: a single one would weigh too much
            rare_observed, rare_expected = observed.pop(0), expected.pop(0)
            smallest = int(np.argmin(expected))
            observed[smallest] += rare_observed
            expected[smallest] += rare_expected
        difference = np.array(observed) - np.array(expected)
        chi_square = float((difference**2 / np.array(expected)).sum())
        freedom = torch.tensor((len(observed) - 1) / 2, dtype=torch.float64)
        return float(torch.special.gammaincc(freedom, torch.tensor(chi_square / 2, dtype=torch.float64)))


def open_experiment(
    target: Target, folder: Path, sampling: SamplingSettings, drafter: DrafterSource | None = None
) -> Experiment:
    """`drafter` None: the built-in one."""
    drafter = drafter or built_in_source()
    if drafter.runner is DrafterRunner.HEADS:
        return Experiment(target, open_heads(drafter, target).proposer, sampling)
    config = EngineConfig(folder, SpeculationSettings(device="cpu"))
    return Experiment(target, open_drafting(config, drafter, target.vocabulary).proposer, sampling)


def largest_errors() -> Iterator[tuple[str, float]]:
    """What was summed, and how far at most it is from the target's distribution."""
    seeds = range(4)
    for name, pieces in VOCABULARIES.items():
        yield f"the trie walk, {name}", max(Toy(pieces, seed).error(5 if seed < 2 else 4) for seed in seeds)
    for mixed in (0.0, 0.5, 1.0):
        errors = (SharedToy(4, seed, mixed=mixed).error(3, masked=masked) for seed in seeds for masked in (True, False))
        yield f"rejection, {mixed:.0%} of the target's distribution in the drafter's", max(errors)
    for name, pieces in VOCABULARIES.items():
        yield f"branches beside the trie walk, {name}", max(BranchingToy(pieces, seed).error(3) for seed in seeds)
    for mixed in (0.0, 0.5, 1.0):
        for toy, kind in ((BranchingSharedToy, "certain branches"), (SampledTreeToy, "branches without replacement")):
            errors = (toy(3, seed, mixed=mixed).error(2, masked=masked) for seed in seeds for masked in (True, False))
            yield f"{kind}, {mixed:.0%} of the target's distribution in the drafter's", max(errors)
    vocabulary = FakeTarget().vocabulary

    def rounds(seed: int, is_shared: bool) -> float:
        logits = random_logits(seed, LETTERS, vocabulary.pieces if is_shared else PIECES)
        make = sharing_proposer if is_shared else neural_proposer
        return Sum(seed, 3, lambda: drafting(make(vocabulary, logits), 2)).error()

    yield "whole rounds, a drafter that is translated", max(rounds(seed, False) for seed in seeds)
    yield "whole rounds, a drafter with the target's vocabulary", max(rounds(seed, True) for seed in seeds)

    def mixed_rounds(seed: int, is_shared: bool) -> float:
        def make() -> DrafterProposer:
            return shared_drafter(seed) if is_shared else neural_proposer(vocabulary, random_logits(seed, LETTERS))

        return Sum(seed, 3, mixing(seed, make)).error()

    yield "whole rounds, translated and mixed with what is expected", max(mixed_rounds(seed, False) for seed in seeds)
    yield "whole rounds, the target's vocabulary and mixed", max(mixed_rounds(seed, True) for seed in seeds)
    for name, limited in LIMITS.items():
        errors = (error_under(limited, who, seed, num_tokens=2) for seed in seeds for who in who_drafts(seed))
        yield f"whole rounds under {name}", max(errors)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=100_000)
    parser.add_argument("--temperature", type=float, default=0.8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", default=STARTER, help="a GGUF file, in place of the starter")
    parser.add_argument("--drafter", default=BUILT_IN, help="as of slipstream bench; also a folder of heads")
    options = parser.parse_args()

    if (options.target, options.drafter) == (STARTER, BUILT_IN):  # else it is the models that are asked about
        for name, error in largest_errors():
            print(f"largest error of {name}: {error:.1e}")
    source = starter_source() if options.target == STARTER else file_source(Path(options.target))
    target = load_target(source, TargetSettings(context_size=2048), lambda _progress: None, StopSignal())
    drafter = drafter_source(options.drafter, data_dir())
    for label, sampling in (
        ("top-k 40, top-p 0.95, min-p 0.05", SamplingSettings(temperature=options.temperature)),
        ("top-k 20 alone", SamplingSettings(temperature=options.temperature, top_k=20, top_p=1, min_p=0)),
    ):
        for kind, max_branches in (("sampled drafts", 1), ("trees", 4)):
            experiment = open_experiment(target, data_dir(), sampling, drafter)
            began = time.perf_counter()
            result = experiment.compare(options.draws, options.seed, max_branches=max_branches)
            print(
                f"{source.name}, {drafter.name} drafting, temperature {options.temperature:g}, {label}, {kind}: "
                f"{result.num_rounds:,} rounds, "
                f"{result.num_accepted / result.num_rounds:.2f} draft tokens accepted in each, in "
                f"{result.num_beside / result.num_rounds:.0%} beside the trunk; chi-square of the first two tokens "
                f"against their distribution: p = {result.p_value_of_distribution:.3f}, of plain draws: p = "
                f"{result.p_value_of_plain:.3f} ({time.perf_counter() - began:.0f} s)"
            )
    target.close()


if __name__ == "__main__":
    main()
