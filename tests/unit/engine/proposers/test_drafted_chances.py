"""How far the drafter drafts, by what its guesses are worth, and how it learns what they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from engine.config import SamplingSettings
from engine.drafter.interface import LogitRow
from engine.numerics.draft import Draft, Verdict
from engine.numerics.sampling import Dice
from tests.fakes.dice import every_outcome
from tests.fakes.drafter import PIECES, Logits, guesses, random_logits
from tests.fakes.proposers import Generous
from tests.unit.engine.proposers.bench import GREEDY, Bench, bytes_of, context_of, tokens_of

SAMPLED = SamplingSettings(temperature=0.8)


class Frugal(Generous):
    """Takes so many tokens. Writes down the chances it is told."""

    def __init__(self, most: int = 99, goes_on: bool = True) -> None:
        self._most = most
        self._goes_on = goes_on
        self.judged: list[tuple[float, ...]] = []

    def is_checked(self, chances: Sequence[float]) -> bool:
        self.judged.append(tuple(chances))
        return len(chances) <= self._most

    def goes_on(self, chances: Sequence[float]) -> bool:
        self.judged.append(tuple(chances))
        return self._goes_on


def unsure(share: float) -> Logits:
    """After every token a letter with that share, and the rest on others."""

    def logits(held: Sequence[int]) -> LogitRow:
        row = np.full(len(PIECES), -30.0, np.float32)
        letters = [PIECES.index(bytes([letter])) for letter in b"abcdefxyz"]
        row[letters] = np.log((1 - share) / 8)
        row[letters[len(held) % 9]] = np.log(share)
        return row

    return logits


@pytest.mark.parametrize("sampling", [GREEDY, SAMPLED], ids=["greedy", "sampled"])
def test_it_drafts_no_token_that_is_not_worth_checking(sampling: SamplingSettings) -> None:
    for most in range(5):
        draft = Bench(logits=unsure(0.9)).draft(tokens_of("in"), 9, Frugal(most), sampling=sampling)
        assert len(draft.tokens) == len(draft.chances) == most
        assert (draft.path is None) == (sampling is GREEDY or most == 0)
        assert draft.num_steps == most + 1  # one for each token it drew or refused to draw


@pytest.mark.parametrize("sampling", [GREEDY, SAMPLED], ids=["greedy", "sampled"])
def test_it_takes_no_step_that_is_not_worth_its_time(sampling: SamplingSettings) -> None:
    draft = Bench(logits=unsure(0.9)).draft(tokens_of("in"), 9, Frugal(goes_on=False), sampling=sampling)
    assert len(draft.tokens) == 1
    assert draft.num_steps == 1


@pytest.mark.parametrize("sampling", [GREEDY, SAMPLED], ids=["greedy", "sampled"])
def test_a_surer_guess_has_a_higher_chance(sampling: SamplingSettings) -> None:
    chances = [
        Bench(logits=unsure(share)).draft(tokens_of("in"), 3, sampling=sampling).chances for share in (0.3, 0.6, 0.9)
    ]
    assert [*zip(*chances, strict=True)] == [tuple(sorted(column)) for column in zip(*chances, strict=True)]
    assert chances[0][0] < chances[2][0]


def test_every_token_has_a_chance_also_where_several_spell_one_of_the_drafters() -> None:
    """The target has no "th" and no "he"."""
    bench = Bench(logits=guesses("thhethhe"))
    draft = bench.draft([ord("t")], 6)
    assert bytes_of(draft.tokens) == b"hhethhe"[: len(bytes_of(draft.tokens))]
    assert len(draft.chances) == len(draft.tokens) > 3


@pytest.mark.parametrize("sampling", [GREEDY, SAMPLED], ids=["greedy", "sampled"])
def test_a_step_that_makes_a_token_longer_is_judged_as_that_token(sampling: SamplingSettings) -> None:
    """The target merges the drafter's letters."""
    worth = Frugal()
    draft = Bench("in hahhahhah").draft(tokens_of("in "), 3, worth, sampling=sampling)
    assert draft.tokens[:2] == (*tokens_of("hah"),) * 2
    assert max(len(chances) for chances in worth.judged) <= 3


def test_whether_a_token_is_drawn_is_judged_before_it_is_and_by_nothing_else_than_what_was_drawn() -> None:
    judged: dict[tuple[int, ...], set[tuple[float, ...]]] = {}

    def run(dice: Dice) -> None:
        thrown: list[int] = []

        class Watched(Frugal):
            may_throw = False

            def is_checked(self, chances: Sequence[float]) -> bool:
                self.may_throw = True
                judged.setdefault(tuple(thrown), set()).add(tuple(chances))
                return True

        class WatchedDice:
            def happens(self, probability: float) -> bool:
                return dice.happens(probability)

            def choose(self, weights: np.ndarray) -> int:
                assert worth.may_throw
                worth.may_throw = False
                thrown.append(dice.choose(weights))
                return thrown[-1]

        worth = Watched()
        sampling = SamplingSettings(temperature=0.8, top_k=3, top_p=1, min_p=0)
        context = replace(context_of([ord("t")]), sampling=sampling, dice=WatchedDice())
        Bench(logits=random_logits(5, b"theing")).proposer.propose(context, 3, worth)

    for _ in every_outcome(run):
        pass
    assert len(judged) > 9
    assert all(len(chances) == 1 for chances in judged.values())


def came_of(draft: Draft, num_accepted: int, then: int = ord("?")) -> Verdict:
    return Verdict(draft, num_accepted, (*draft.tokens[:num_accepted], then))


def test_chances_follow_what_stands() -> None:
    bench = Bench(logits=unsure(0.6))
    first = bench.draft(tokens_of("in"), 2)
    for _ in range(40):
        bench.proposer.observe(came_of(bench.draft(tokens_of("in"), 2), 2))
    good = bench.draft(tokens_of("in"), 2)
    assert good.chances[0] > max(0.8, first.chances[0])
    for _ in range(40):
        bench.proposer.observe(came_of(bench.draft(tokens_of("in"), 2), 0))
    assert bench.draft(tokens_of("in"), 2).chances[0] < 0.25


def chance_after(num_accepted: int, ahead: Sequence[int] = ()) -> float:
    """After rounds in which so many of the tokens stood, what is ahead included."""
    bench = Bench(logits=unsure(0.6))
    for _ in range(10):
        draft = bench.draft(tokens_of("in"), 2, ahead=ahead)
        if ahead:
            draft = draft.after(Draft(tuple(ahead), chances=(0.5,) * len(ahead)))
        bench.proposer.observe(came_of(draft, num_accepted))
    return bench.draft(tokens_of("in"), 2).chances[0]


def test_only_guesses_that_were_reached_are_learned_from() -> None:
    untaught = Bench(logits=unsure(0.6)).draft(tokens_of("in"), 2).chances[0]
    assert chance_after(0) < chance_after(1) < chance_after(2)
    ahead = [ord("x"), ord("y")]
    assert chance_after(0, ahead) == chance_after(1, ahead) == untaught  # its own were not reached
    assert chance_after(2, ahead) == chance_after(0)
    assert chance_after(4, ahead) == chance_after(2)


def test_a_guess_that_was_not_worth_drafting_is_learned_from_too() -> None:
    def chance(written: bytes) -> float:
        bench = Bench("in abcdef")
        for _ in range(20):
            draft = bench.draft(tokens_of("in"), 4, Frugal(most=1))
            assert bytes_of(draft.tokens) == b" "
            bench.proposer.observe(came_of(draft, 1, written[0]))
        return bench.draft(tokens_of("in"), 4).chances[1]

    assert chance(b"?") < 0.7 < chance(b"a")


def test_what_would_have_come_of_a_refused_guess_is_known_only_if_all_before_it_stood() -> None:
    def chance(num_accepted: int) -> float:
        bench = Bench("in abcdef")
        for _ in range(20):
            draft = bench.draft(tokens_of("in"), 4, Frugal(most=0)).after(Draft((ord("x"),)))
            bench.proposer.observe(came_of(draft, num_accepted))
        return bench.draft(tokens_of("in")).chances[0]

    untaught = Bench("in abcdef").draft(tokens_of("in")).chances[0]
    assert chance(0) == untaught
    assert chance(1) < untaught


def test_a_round_in_which_it_was_not_asked_teaches_nothing() -> None:
    bench, other = Bench(logits=unsure(0.6)), Bench(logits=unsure(0.6))
    for each in (bench, other):
        each.proposer.observe(came_of(each.draft(tokens_of("in"), 2), 1))
    for draft in (Draft(), Draft((1, 2), proposer="recall")):
        bench.proposer.observe(came_of(draft, 0))
    assert bench.draft(tokens_of("in"), 2).chances == other.draft(tokens_of("in"), 2).chances
