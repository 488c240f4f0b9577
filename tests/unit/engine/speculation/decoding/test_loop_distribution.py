"""Rounds over a small target: whoever drafts, what is written follows the target's distribution, exactly. The whole
way: recall, drafter, translation, rounds; summed over every draft and every throw of the dice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
import pytest

from engine.speculation.decoding.loop import Decoder
from engine.speculation.decoding.session import Session
from engine.speculation.decoding.speculation import Speculation
from engine.speculation.drafter.interface import LogitRow
from engine.speculation.model.chat.grammar import Grammar
from engine.speculation.model.interface import FloatRows
from engine.speculation.numerics.draft import NO_DRAFT, Draft
from engine.speculation.numerics.draft_length import FixedCosts
from engine.speculation.numerics.habits import NUM_KINDS, Expected
from engine.speculation.numerics.likeliest import RowScan
from engine.speculation.numerics.rules import Rules, TokenLetters, has_rules
from engine.speculation.numerics.sampling import Dice, Distribution, distribution_of
from engine.speculation.numerics.suffix_index import SuffixIndex
from engine.speculation.proposers.draft_policy import DraftPolicy
from engine.speculation.proposers.drafted import DrafterProposer
from engine.speculation.proposers.guesses import FIRST_WEIGHT
from engine.speculation.proposers.interface import Context, Proposer, Worth
from engine.speculation.proposers.lookahead import LookaheadProposer
from engine.speculation.proposers.recall import RecallProposer
from engine.speculation.proposers.shared_vocabulary import SharedVocabularyDrafter
from engine.values.config import SamplingSettings
from engine.values.conversations import ChatTurn, Role
from engine.values.draft_policy import KnownChances
from engine.values.origins import Origin
from engine.values.stop_signal import StopSignal
from tests.fakes.dice import every_outcome
from tests.fakes.drafter import random_logits
from tests.fakes.grammars import grammars_of
from tests.fakes.proposers import choosing, drafting, neural_proposer, sharing_proposer
from tests.fakes.target import END, PIECES, START, FakeTarget

LETTERS = b"theing"
LIKELY = (*LETTERS, 256, 257)
WRITABLE = (*LIKELY, ord(" "), END)  # with which every text of a grammar can be written to its end
TURNS = (ChatTurn(Role.USER, "Say it."),)
SAMPLED = SamplingSettings(temperature=0.8, top_k=3, top_p=1, min_p=0)
NUM_TOKENS = 3
VOCABULARY = FakeTarget().vocabulary
GRAMMARS = grammars_of(VOCABULARY)
TEXTS = (b"the ", b"thing", b"thin", b"hen", b"in", b"ingen", b"eight", b"getting", b"nine", b"n")


@dataclass(frozen=True)
class Limited:
    """What a reply is limited to: by rules of its sampling, and to these texts, whose grammar is written from them."""

    sampling: SamplingSettings = SAMPLED
    texts: tuple[bytes, ...] = ()

    @cached_property
    def rules(self) -> Rules | None:
        return Rules(self.sampling, TokenLetters(PIECES, frozenset({START, END}))) if has_rules(self.sampling) else None

    def grammar(self) -> Grammar | None:
        if not self.texts:
            return None
        return GRAMMARS.begin("root ::= " + " | ".join(f'"{text.decode()}"' for text in self.texts))

    def is_over(self, written: Sequence[int]) -> bool:
        text = b"".join(PIECES[token] for token in written)
        return END in written or [each for each in self.texts if each.startswith(text)] == [text]

    def distribution(self, row: np.ndarray, written: Sequence[int]) -> Distribution:
        """By the definition: what is written must begin one of the texts, and end where one ends."""
        if self.texts:
            text = b"".join(PIECES[token] for token in written)
            fits = [any(each.startswith(text + piece) for each in self.texts) for piece in PIECES]
            fits[END] = text in self.texts
            row = np.where(fits, row, np.float32(-np.inf))
        return distribution_of(RowScan(row), self.sampling, [*b"a", *written], self.rules)


@cache  # a sum over every outcome comes by the same few texts thousands of times
def likely_row(seed: int, num_likely: int, held: tuple[int, ...]) -> np.ndarray:
    row = np.full(len(PIECES), -np.inf, np.float32)
    likely = LIKELY if num_likely < len(LIKELY) else WRITABLE
    chosen = np.random.default_rng([seed, *held]).permutation(likely)[:num_likely]
    row[chosen] = np.random.default_rng([seed + 1, *held]).standard_normal(len(chosen)) * 2
    row.setflags(write=False)
    return row


class SmallTarget(FakeTarget):
    """Few tokens have a chance; which, and how great, depends on what was written before."""

    def __init__(self, seed: int, max_tokens: int = 8, max_branches: int = 1, num_likely: int = 4) -> None:
        super().__init__(max_tokens=max_tokens, max_branches=max_branches)
        self._seed = seed
        self._num_likely = num_likely

    def evaluate(self, tokens: Sequence[int], num_rows: int, stop: StopSignal) -> FloatRows:
        super().evaluate(tokens, num_rows, stop)
        first = len(self.held) - num_rows + 1
        return np.stack([self.logits(self.held[:length]) for length in range(first, len(self.held) + 1)])

    def logits(self, held: Sequence[int]) -> np.ndarray:
        return likely_row(self._seed, self._num_likely, tuple(held))

    def distribution(self, limited: Limited, num_tokens: int) -> dict[tuple[int, ...], float]:
        """Of the first tokens that are written."""
        truth: dict[tuple[int, ...], float] = {(): 1.0}
        for _ in range(num_tokens):
            longer: dict[tuple[int, ...], float] = {}
            for written, weight in truth.items():
                if limited.is_over(written):
                    longer[written] = weight
                    continue
                distribution = limited.distribution(self.logits([*b"a", *written]), written)
                for token, probability in zip(
                    distribution.ids.tolist(), distribution.probabilities.tolist(), strict=True
                ):
                    if probability > 0:  # not of what a grammar forbids
                        longer[(*written, token)] = weight * probability
            truth = longer
        return truth


class Sum:
    """All that can be written. No pass is over more than `max_tokens`, so that a draft has one token less."""

    def __init__(
        self,
        seed: int,
        max_tokens: int,
        speculate: Callable[[], Speculation],
        max_branches: int = 1,
        limited: Limited = Limited(),
        num_tokens: int = NUM_TOKENS,
    ) -> None:
        self._seed = seed
        self._limited = limited
        self._num_tokens = num_tokens
        self._num_likely = len(WRITABLE) if limited.texts else 4
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
        truth = SmallTarget(self._seed, num_likely=self._num_likely).distribution(self._limited, self._num_tokens)
        return 0.5 * sum(abs(out[key] - truth.get(key, 0.0)) for key in out.keys() | truth.keys())

    def _write(self, dice: Dice) -> tuple[int, ...]:
        target = SmallTarget(self._seed, self._max_tokens, self._max_branches, self._num_likely)
        session = Session(target)
        rows = session.read([*b"a"], StopSignal())
        decoder = Decoder(
            *(target, session, self._limited.sampling, TURNS, self._speculate(), dice),
            rules=self._limited.rules,
            grammar=self._limited.grammar(),
        )
        written: list[int] = []
        for tokens in decoder.rounds(rows, StopSignal()):
            written += tokens
            self.num_beside += decoder.verdict.num_accepted > decoder.verdict.num_straight
            assert target.held == session.tokens
            if len(written) >= self._num_tokens:
                break
        figures = decoder.figures
        num_drafts = sum(proposer.num_rounds for proposer in figures.by_proposer.values())
        self.num_together += max(0, num_drafts - figures.num_rounds)
        return tuple(written[: self._num_tokens])


@pytest.mark.parametrize(("seed", "merge"), [(1, False), (2, True)])
def test_sampled_text_follows_the_targets_distribution_exactly(seed: int, merge: bool) -> None:
    def speculate() -> Speculation:
        return drafting(neural_proposer(VOCABULARY, random_logits(seed, LETTERS), merge), 2)

    assert Sum(seed, 3, speculate).error() < 1e-9


@pytest.mark.parametrize(("seed", "length"), [(3, 1), (4, 2)])
def test_it_does_so_where_the_drafter_has_the_targets_vocabulary(seed: int, length: int) -> None:
    def speculate() -> Speculation:
        return drafting(sharing_proposer(VOCABULARY, random_logits(seed, LETTERS, PIECES)), length)

    assert Sum(seed, 3, speculate, num_tokens=1 + length).error() < 1e-9


@pytest.mark.parametrize(("seed", "merge"), [(5, False), (6, True)])
def test_it_does_so_where_guesses_are_dropped_that_are_not_worth_checking(seed: int, merge: bool) -> None:
    def speculate() -> Speculation:
        drafter = neural_proposer(VOCABULARY, random_logits(seed, LETTERS), merge)
        return Speculation(DraftPolicy(FixedCosts({1: 1.0, 16: 8.0}), [drafter], step_s=0.0))

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


@pytest.mark.parametrize(("seed", "slope"), [(7, 1.0), (8, 8.0)])
def test_it_does_so_where_both_have_one_vocabulary(seed: int, slope: float) -> None:
    """Also where guesses are dropped that are not worth checking, by what the rounds before showed."""

    def speculate() -> Speculation:
        return Speculation(DraftPolicy(FixedCosts({1: 1.0, 16: slope}), [shared_drafter(seed)], step_s=0.0))

    assert Sum(seed, 3, speculate, num_tokens=2).error() < 1e-9


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
    known = drafter.calibration.known[0]
    weights = slice(FIRST_WEIGHT, FIRST_WEIGHT + NUM_KINDS)
    accepted = [*known.accepted]
    accepted[weights] = [weight * each for each in known.tried[weights]]
    drafter.calibration.know(KnownChances(tuple(accepted), known.tried))
    return drafter


def mixing(seed: int, make: Callable[[], DrafterProposer]) -> Callable[[], Speculation]:
    return lambda: choosing(Expecting(seed), weighing(make(), 0.6))


@pytest.mark.parametrize(("seed", "merge"), [(9, False), (10, True)])
def test_it_does_so_where_a_drafter_is_mixed_with_what_is_expected(seed: int, merge: bool) -> None:
    def make() -> DrafterProposer:
        return neural_proposer(VOCABULARY, random_logits(seed, LETTERS), merge)

    assert Sum(seed, 3, mixing(seed, make), num_tokens=2).error() < 1e-9


def test_it_does_so_where_one_with_the_targets_vocabulary_is_mixed() -> None:
    assert Sum(11, 3, mixing(11, lambda: shared_drafter(11)), num_tokens=2).error() < 1e-9


@pytest.mark.parametrize(("seed", "merge"), [(12, False), (13, True)])
def test_it_does_so_where_the_drafter_goes_on_from_recall(seed: int, merge: bool) -> None:
    random = np.random.default_rng(seed)
    # After any two tokens something was said once, and nothing after that.
    said = [[first, second, int(random.choice(LIKELY))] for first in (*b"a", *LIKELY) for second in LIKELY]
    kept = [SuffixIndex(said)]

    def speculate() -> Speculation:
        drafter = neural_proposer(VOCABULARY, random_logits(seed, LETTERS), merge)
        return choosing(RecallProposer(lambda _owner: kept), drafter)

    every = Sum(seed, 3, speculate)
    assert every.error() < 1e-9
    assert every.num_together > 9


def branching(seed: int) -> Sum:
    random = np.random.default_rng(seed)
    # After any token three different things were said, one or two tokens long.
    said = [[token, *random.permutation(LIKELY)[: 1 + number % 2].tolist()] for token in LIKELY for number in range(3)]
    kept = [SuffixIndex([*before, *each] for each in said) for before in ([*b"x"], [*b"a"])]
    return Sum(seed, 4, lambda: choosing(RecallProposer(lambda _owner: kept)), max_branches=3)


def test_it_does_so_where_recall_guesses_branches() -> None:
    assert branching(14).error() < 1e-9
    every = branching(2)  # of one text in six, no branch that was said before is what the target may write
    assert every.error() < 1e-9
    assert every.num_beside > 2


def test_it_does_so_with_lookahead_and_its_window_beside_what_recall_quotes() -> None:
    def summed(seed: int) -> Sum:
        said = np.random.default_rng(seed).choice(LIKELY, 60).tolist()
        index = SuffixIndex([[*b"a", *said]])
        return Sum(
            seed, 16, lambda: choosing(RecallProposer(lambda _owner: [index]), LookaheadProposer()), max_branches=8
        )

    sums = [summed(seed) for seed in range(3)]
    assert max(each.error() for each in sums) < 1e-9
    assert sum(each.num_together for each in sums)


LIMITS = {
    "grammar": Limited(texts=TEXTS),
    "rules": Limited(
        replace(
            SAMPLED,
            dry_multiplier=2,
            dry_length=1,
            banned_words="en\ngt\nni",
            logit_bias="the=2\ning=-1",
            xtc_probability=0.5,
            xtc_threshold=0.05,
            temperature_range=0.5,
            top_n_sigma=3,
        )
    ),
    "seed": Limited(replace(SAMPLED, seed=3)),
}


def who_drafts(seed: int) -> dict[str, Callable[[], Speculation]]:
    """A certain tree, a drawn path, and one behind what another guessed."""
    random = np.random.default_rng(seed)
    said = [[first, second, int(random.choice(LIKELY))] for first in (*b"a", *LIKELY) for second in LIKELY]
    kept = [SuffixIndex(said), SuffixIndex([*b"a", *each] for each in said)]
    return {
        "recall": lambda: choosing(RecallProposer(lambda _owner: kept)),
        "shared": lambda: drafting(shared_drafter(seed), 2),
        "one after the other": lambda: choosing(
            RecallProposer(lambda _owner: kept[:1]),
            neural_proposer(FakeTarget().vocabulary, random_logits(seed, LETTERS)),
        ),
    }


def error_under(limited: Limited, who: str, seed: int, num_tokens: int) -> float:
    branches = 3 if who == "recall" else 1
    return Sum(seed, 2 + branches, who_drafts(seed)[who], branches, limited, num_tokens).error()


@pytest.mark.parametrize("limited", LIMITS)
def test_it_does_so_under_all_that_bends_the_distribution(limited: str) -> None:
    """Of a grammar the masked distribution, also where guesses are cut that it forbids; of XTC the mixture."""
    for seed in (1, 3):
        assert max(error_under(LIMITS[limited], who, seed, num_tokens=2) for who in who_drafts(seed)) < 1e-9


def test_with_a_seed_the_text_is_the_same_whatever_is_drafted() -> None:
    def write(seed: int, speculation: Speculation | None) -> tuple[list[int], bool]:
        target = SmallTarget(1, max_branches=3)
        session = Session(target)
        rows = session.read([*b"a"], StopSignal())
        decoder = Decoder(target, session, replace(SAMPLED, seed=seed), TURNS, speculation)
        written: list[int] = []
        for tokens in decoder.rounds(rows, StopSignal()):
            written += tokens
            if len(written) >= 12:
                break
        return written[:12], decoder.is_repeatable

    plain = [write(seed, None) for seed in range(3)]
    assert plain[0] != plain[1]
    for speculate in who_drafts(1).values():
        assert [write(seed, speculate()) for seed in range(3)] == plain
