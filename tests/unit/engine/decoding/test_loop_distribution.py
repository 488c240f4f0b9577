"""Rounds over a small target: whoever drafts, what is written follows the target's distribution, exactly. The whole
way: recall, drafter, translation, rounds; summed over every draft and every throw of the dice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.config import SamplingSettings
from engine.decoding.loop import Decoder
from engine.decoding.session import Session
from engine.decoding.speculation import Speculation
from engine.drafter.interface import LogitRow
from engine.messages.conversations import ChatTurn, Role
from engine.messages.origins import Origin
from engine.messages.pace import KnownChances
from engine.numerics.draft import NO_DRAFT, Draft
from engine.numerics.draft_length import FixedCosts
from engine.numerics.habits import NUM_KINDS, Expected
from engine.numerics.sampling import Dice, make_distribution
from engine.numerics.suffix_index import SuffixIndex
from engine.proposers.chooser import Chooser
from engine.proposers.drafted import DrafterProposer
from engine.proposers.interface import Context, Proposer, Worth
from engine.proposers.lookahead import LookaheadProposer
from engine.proposers.recall import RecallProposer
from engine.proposers.shared_vocabulary import SharedVocabularyDrafter
from engine.stop_signal import StopSignal
from engine.target.interface import FloatRows
from tests.fakes.dice import every_outcome
from tests.fakes.drafter import random_logits
from tests.fakes.proposers import choosing, drafting, neural_proposer, sharing_proposer
from tests.fakes.target import PIECES, FakeTarget

LETTERS = b"theing"
LIKELY = (*LETTERS, 256, 257)
TURNS = (ChatTurn(Role.USER, "Say it."),)
SAMPLED = SamplingSettings(temperature=0.8, top_k=3, top_p=1, min_p=0)
NUM_TOKENS = 3
VOCABULARY = FakeTarget().vocabulary


@cache  # a sum over every outcome comes by the same few texts thousands of times
def likely_row(seed: int, held: tuple[int, ...]) -> np.ndarray:
    row = np.full(len(PIECES), -np.inf, np.float32)
    chosen = np.random.default_rng([seed, *held]).permutation(LIKELY)[:4]
    row[chosen] = np.random.default_rng([seed + 1, *held]).standard_normal(4) * 2
    row.setflags(write=False)
    return row


class SmallTarget(FakeTarget):
    """Few tokens have a chance; which, and how great, depends on what was written before."""

    def __init__(self, seed: int, max_tokens: int = 8, max_branches: int = 1) -> None:
        super().__init__(max_tokens=max_tokens, max_branches=max_branches)
        self._seed = seed

    def evaluate(self, tokens: Sequence[int], num_rows: int, stop: StopSignal) -> FloatRows:
        super().evaluate(tokens, num_rows, stop)
        first = len(self.held) - num_rows + 1
        return np.stack([self.logits(self.held[:length]) for length in range(first, len(self.held) + 1)])

    def logits(self, held: Sequence[int]) -> np.ndarray:
        return likely_row(self._seed, tuple(held))

    def distribution(self) -> dict[tuple[int, ...], float]:
        """Of the first tokens that are written."""
        truth: dict[tuple[int, ...], float] = {(): 1.0}
        for _ in range(NUM_TOKENS):
            longer: dict[tuple[int, ...], float] = {}
            for written, weight in truth.items():
                distribution = make_distribution(self.logits([*b"a", *written]), SAMPLED, ())
                for token, probability in zip(
                    distribution.ids.tolist(), distribution.probabilities.tolist(), strict=True
                ):
                    longer[(*written, token)] = weight * probability
            truth = longer
        return truth


class Sum:
    """All that can be written. No pass is over more than `max_tokens`, so that a draft has one token less."""

    def __init__(self, seed: int, max_tokens: int, speculate: Callable[[], Speculation], max_branches: int = 1) -> None:
        self._seed = seed
        self._max_tokens = max_tokens
        self._max_branches = max_branches
        self._speculate = speculate
        self.num_together = 0  # rounds in which two drafted
        self.num_beside = 0  # branches beside another that stood

    def error(self) -> float:
        """Total variation between what is written and the target's distribution."""
        out: dict[tuple[int, ...], float] = defaultdict(float)
        for weight, written in every_outcome(self._write):
            out[written] += weight
        assert sum(out.values()) == pytest.approx(1, abs=1e-9)
        truth = SmallTarget(self._seed).distribution()
        return 0.5 * sum(abs(out[key] - truth.get(key, 0.0)) for key in out.keys() | truth.keys())

    def _write(self, dice: Dice) -> tuple[int, ...]:
        target = SmallTarget(self._seed, self._max_tokens, self._max_branches)
        session = Session(target)
        rows = session.read([*b"a"], StopSignal())
        decoder = Decoder(target, session, SAMPLED, TURNS, self._speculate(), dice)
        written: list[int] = []
        for tokens in decoder.rounds(rows, StopSignal()):
            written += tokens
            self.num_beside += decoder.verdict.num_accepted > decoder.verdict.num_straight
            assert target.held == session.tokens
            if len(written) >= NUM_TOKENS:
                break
        figures = decoder.figures
        num_drafts = sum(proposer.num_rounds for proposer in figures.by_proposer.values())
        self.num_together += max(0, num_drafts - figures.num_rounds)
        return tuple(written[:NUM_TOKENS])


@settings(max_examples=5)
@given(seed=st.integers(0, 10_000), merge=st.booleans(), length=st.integers(1, 2))
def test_sampled_text_follows_the_targets_distribution_exactly(seed: int, merge: bool, length: int) -> None:
    def speculate() -> Speculation:
        return drafting(neural_proposer(VOCABULARY, random_logits(seed, LETTERS), merge), length)

    assert Sum(seed, 3, speculate).error() < 1e-9


@settings(max_examples=5)
@given(seed=st.integers(0, 10_000), length=st.integers(1, 2))
def test_it_does_so_where_the_drafter_has_the_targets_vocabulary(seed: int, length: int) -> None:
    def speculate() -> Speculation:
        return drafting(sharing_proposer(VOCABULARY, random_logits(seed, LETTERS, PIECES)), length)

    assert Sum(seed, 3, speculate).error() < 1e-9


@settings(max_examples=8)
@given(seed=st.integers(0, 10_000), merge=st.booleans())
def test_it_does_so_where_guesses_are_dropped_that_are_not_worth_checking(seed: int, merge: bool) -> None:
    def speculate() -> Speculation:
        drafter = neural_proposer(VOCABULARY, random_logits(seed, LETTERS), merge)
        return Speculation(Chooser(FixedCosts({1: 1.0, 16: 8.0}), [drafter], step_s=0.0))

    assert Sum(seed, 3, speculate).error() < 1e-9


def shared_drafter(seed: int) -> SharedVocabularyDrafter:
    """With the target's own vocabulary, of which it guesses the likely tokens."""

    return sharing_proposer(VOCABULARY, lambda held: shared_row(seed, tuple(held[-3:])))


@cache
def shared_row(seed: int, last: tuple[int, ...]) -> LogitRow:
    row = np.full(len(PIECES), -30.0, np.float32)
    row[[*LIKELY]] = 2 * np.random.default_rng([seed, *last]).standard_normal(len(LIKELY))
    row.setflags(write=False)
    return row


@settings(max_examples=5)
@given(seed=st.integers(0, 10_000), slope=st.sampled_from([1.0, 8.0]))
def test_it_does_so_where_both_have_one_vocabulary(seed: int, slope: float) -> None:
    """Also where guesses are dropped that are not worth checking, by what the rounds before showed."""

    def speculate() -> Speculation:
        return Speculation(Chooser(FixedCosts({1: 1.0, 16: slope}), [shared_drafter(seed)], step_s=0.0))

    assert Sum(seed, 3, speculate).error() < 1e-9


class Expecting(Proposer):
    """Guesses nothing, but expects something of every token; some of it no drafter can draw."""

    origin = Origin("expecting", "Expecting", "", "")
    is_free = True

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def propose(self, context: Context, limit: int, worth: Worth) -> Draft:  # noqa: ARG002
        return NO_DRAFT

    def expect(self, ahead: Sequence[int]) -> Expected:
        random = np.random.default_rng([self._seed, *ahead])
        tokens = random.permutation(LIKELY)[:3].tolist()
        return Expected(dict(zip(tokens, random.dirichlet(np.ones(4))[:3].tolist(), strict=True)), kind=0)


def weighing(drafter: DrafterProposer, weight: float) -> DrafterProposer:
    """Has learned that weight of what others expect."""
    tried = drafter.calibration.known.tried
    accepted = [*drafter.calibration.known.accepted]
    accepted[-NUM_KINDS:] = [weight * each for each in tried[-NUM_KINDS:]]
    drafter.calibration.know(KnownChances(tuple(accepted), tried))
    return drafter


def mixing(seed: int, make: Callable[[], DrafterProposer]) -> Callable[[], Speculation]:
    return lambda: choosing(Expecting(seed), weighing(make(), 0.6))


@settings(max_examples=2)
@given(seed=st.integers(0, 10_000), merge=st.booleans())
def test_it_does_so_where_a_drafter_is_mixed_with_what_is_expected(seed: int, merge: bool) -> None:
    def make() -> DrafterProposer:
        return neural_proposer(VOCABULARY, random_logits(seed, LETTERS), merge)

    assert Sum(seed, 3, mixing(seed, make)).error() < 1e-9


@settings(max_examples=2)
@given(seed=st.integers(0, 10_000))
def test_it_does_so_where_one_with_the_targets_vocabulary_is_mixed(seed: int) -> None:
    assert Sum(seed, 3, mixing(seed, lambda: shared_drafter(seed))).error() < 1e-9


@settings(max_examples=8)
@given(seed=st.integers(0, 10_000), merge=st.booleans())
def test_it_does_so_where_the_drafter_goes_on_from_recall(seed: int, merge: bool) -> None:
    random = np.random.default_rng(seed)
    # After any two tokens something was said once, and nothing after that.
    said = [[first, second, int(random.choice(LIKELY))] for first in (*b"a", *LIKELY) for second in LIKELY]
    kept = [SuffixIndex(said)]

    def speculate() -> Speculation:
        drafter = neural_proposer(VOCABULARY, random_logits(seed, LETTERS), merge)
        return choosing(RecallProposer(lambda: kept), drafter)

    every = Sum(seed, 3, speculate)
    assert every.error() < 1e-9
    assert every.num_together > 9


def branching(seed: int) -> Sum:
    random = np.random.default_rng(seed)
    # After any token three different things were said, one or two tokens long.
    said = [[token, *random.permutation(LIKELY)[: 1 + number % 2].tolist()] for token in LIKELY for number in range(3)]
    kept = [SuffixIndex([*before, *each] for each in said) for before in ([*b"x"], [*b"a"])]
    return Sum(seed, 4, lambda: choosing(RecallProposer(lambda: kept)), max_branches=3)


@settings(max_examples=2)
@given(seed=st.integers(0, 10_000))
def test_it_does_so_where_recall_guesses_branches(seed: int) -> None:
    assert branching(seed).error() < 1e-9
    every = branching(2)  # of one text in six, no branch that was said before is what the target may write
    assert every.error() < 1e-9
    assert every.num_beside > 2


def test_it_does_so_with_lookahead_and_its_window_beside_what_recall_quotes() -> None:
    def summed(seed: int) -> Sum:
        said = np.random.default_rng(seed).choice(LIKELY, 60).tolist()
        index = SuffixIndex([[*b"a", *said]])
        return Sum(seed, 16, lambda: choosing(RecallProposer(lambda: [index]), LookaheadProposer()), max_branches=8)

    sums = [summed(seed) for seed in range(3)]
    assert max(each.error() for each in sums) < 1e-9
    assert sum(each.num_together for each in sums)
