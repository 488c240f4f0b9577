"""How far the drafter drafts, by what its guesses are worth, and how it learns what they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from engine.speculation.drafter.interface import LogitRow
from engine.speculation.numerics.draft import Draft, Verdict
from engine.speculation.numerics.sampling import Dice, Distribution
from engine.speculation.proposers.drafted import DrafterProposer
from engine.speculation.proposers.shared_vocabulary import SharedVocabularyDrafter
from engine.values.config import SamplingSettings
from engine.values.drafters import Guesses
from tests.fakes.dice import every_outcome
from tests.fakes.drafter import PIECES, FakeDrafter, Logits, guesses, random_logits
from tests.fakes.proposers import Generous
from tests.fakes.target import PIECES as TARGET_PIECES
from tests.fakes.target import FakeTarget
from tests.unit.engine.speculation.proposers.bench import GREEDY, Bench, bytes_of, context_of, tokens_of

SAMPLED = SamplingSettings(temperature=0.8)
PRECISE = SamplingSettings(temperature=1, top_k=0, top_p=1, min_p=0.01)


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


def unsure(*shares: float) -> Logits:
    """After every token a letter with the first share, the next ones with the others, and the rest on other letters."""

    def logits(held: Sequence[int]) -> LogitRow:
        row = np.full(len(PIECES), -30.0, np.float32)
        letters = [PIECES.index(bytes([letter])) for letter in b"abcdefxyz"]
        row[letters] = np.log((1 - sum(shares)) / (len(letters) - len(shares)))
        for place, share in enumerate(shares, len(held)):
            row[letters[place % len(letters)]] = np.log(share)
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


def mixture(shares: Mapping[bytes, float]) -> LogitRow:
    """The rest is on other letters."""
    row = np.full(len(PIECES), -30.0, np.float32)
    row[[PIECES.index(bytes([letter])) for letter in b"PQRS"]] = np.log(max(1e-9, 1 - sum(shares.values())) / 4)
    for piece, share in shares.items():
        row[PIECES.index(piece)] = np.log(share)
    return row


def scripted(*rows: Mapping[bytes, float]) -> Logits:
    """One after the other behind what is held at first."""
    start: list[int] = []

    def logits(held: Sequence[int]) -> LogitRow:
        start[:] = start or [len(held)]
        return mixture(rows[min(len(held) - start[0], len(rows) - 1)])

    return logits


CHANCES = {0.99: 0.95, 0.92: 0.82, 0.85: 0.72, 0.32: 0.28}  # of guesses of such shares, untaught
DRAWN = {0.99: 0.97, 0.92: 0.88, 0.85: 0.82, 0.32: 0.52}  # the same, of the likeliest if it was drawn


@pytest.mark.parametrize("sampling", [GREEDY, PRECISE], ids=["greedy", "sampled"])
def test_a_step_that_settles_several_tokens_leaves_each_with_the_chance_of_its_own_guess(
    sampling: SamplingSettings,
) -> None:
    """Until the x, this could have become the target's token “user”."""
    bench = Bench(logits=scripted({b"u": 0.99}, {b"s": 0.92}, {b"x": 0.32, b"y": 0.25}, {b"z": 0.85}))
    for _ in range(99):  # until it is drawn
        draft = bench.draft(tokens_of("in "), 4, sampling=sampling)
        bench.proposer.end_reply()
        if bytes_of(draft.tokens) == b"usxz":
            break
    else:
        raise AssertionError("never drawn")
    chances = CHANCES if sampling is GREEDY else DRAWN
    assert draft.chances == pytest.approx([chances[share] for share in (0.99, 0.92, 0.32, 0.85)])


def test_the_tokens_that_spell_a_guess_have_its_chance_and_the_next_guess_its_own() -> None:
    """The target has no “th”."""
    bench = Bench(logits=scripted({b"th": 0.99}, {b"x": 0.32, b"y": 0.25}))
    draft = bench.draft(tokens_of("in "), 3)
    assert bytes_of(draft.tokens) == b"thx"
    assert draft.chances == pytest.approx([CHANCES[share] for share in (0.99, 0.99, 0.32)])


def shared_drafter(drafter: FakeDrafter) -> SharedVocabularyDrafter:
    target = FakeTarget().vocabulary
    return SharedVocabularyDrafter(drafter, target.pieces, target)


def in_target(row: LogitRow) -> Logits:
    """The same over the target's tokens, of single letters."""
    logits = np.full(len(FakeTarget().vocabulary), -30.0, np.float32)
    logits[:256] = row[1:257]
    return lambda _held: logits


def wanting(shares: Mapping[bytes, float]) -> Distribution:
    """The target's."""
    order = sorted(shares, key=lambda piece: -shares[piece])
    return Distribution(
        np.array([TARGET_PIECES.index(piece) for piece in order]), np.array([shares[piece] for piece in order])
    )


EVEN = {b"a": 0.3, b"b": 0.25, b"c": 0.25, b"d": 0.2}


def even_drafter(is_shared: bool) -> DrafterProposer:
    if is_shared:
        return shared_drafter(FakeDrafter(in_target(mixture(EVEN))))
    return Bench(logits=lambda _held: mixture(EVEN)).proposer


def chances_after(is_shared: bool, wanted: Distribution, written: int, most: int, num_accepted: int) -> float:
    """Of a guess that is yet to be made, after twenty rounds that came to that."""
    proposer = even_drafter(is_shared)
    context = replace(context_of(tokens_of("in")), sampling=PRECISE)
    for _ in range(20):
        draft = proposer.propose(context, 2, Frugal(most))
        tokens = (*draft.tokens[:num_accepted], written)
        proposer.observe(Verdict(draft, num_accepted, tokens, (wanted,) * len(tokens)))
    worth = Frugal()
    proposer.propose(context, 1, worth)
    return worth.judged[0][0]


@pytest.mark.parametrize("is_shared", [False, True], ids=["translated", "shared"])
def test_a_perfect_drafter_is_known_to_be_one_whatever_is_drawn(is_shared: bool) -> None:
    for most, num_accepted in ((0, 0), (1, 1), (1, 0)):  # refused; drafted and accepted, or rejected by chance
        assert chances_after(is_shared, wanting(EVEN), ord("?"), most, num_accepted) > 0.85


@pytest.mark.parametrize("is_shared", [False, True], ids=["translated", "shared"])
def test_luck_does_not_make_a_drafter_better(is_shared: bool) -> None:
    wanted = wanting({b"?": 0.9, b"a": 0.1})
    for most, num_accepted in ((0, 0), (1, 1)):
        assert chances_after(is_shared, wanted, ord("a"), most, num_accepted) < 0.2


def test_a_token_that_begins_as_the_rejected_one_shows_that_the_guess_went_wrong_later() -> None:
    """It drew all of “hah”, and an h alone was written."""
    bench = Bench(logits=scripted({b"h": 1.0}, {b"a": 1.0}, {b"h": 1.0}, {b"x": 1.0}))
    for _ in range(20):
        draft = bench.draft(tokens_of("in "), 2, sampling=PRECISE)
        assert draft.tokens[0] == tokens_of("hah")[0]
        distribution = wanting({b"h": 0.5, b"hah": 0.5})
        bench.proposer.observe(Verdict(draft, 0, (ord("h"),), (distribution,)))
        bench.proposer.end_reply()
    assert bench.draft(tokens_of("in "), 1, sampling=PRECISE).chances[0] < 0.3


def test_a_refused_guess_that_may_belong_to_the_open_token_is_judged_as_the_next_one() -> None:
    """Behind “h” it would have gone on to “ha” or to something else; “h” alone was accepted."""
    bench = Bench(logits=scripted({b"h": 1.0}, {b"a": 0.5, b"x": 0.5}))
    for _ in range(20):
        draft = bench.draft(tokens_of("in "), 2, Frugal(most=1), sampling=PRECISE)
        assert draft.tokens == (ord("h"),)
        distributions = (wanting({b"h": 1.0}), wanting({b"x": 1.0}))
        bench.proposer.observe(Verdict(draft, 1, (ord("h"), ord("x")), distributions))
        bench.proposer.end_reply()
    guesses, _ = bench.proposer.take_guesses()
    assert guesses == Guesses(20, 20, 20, 20)


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


def two_ways(share: float) -> Logits:
    """A letter has that share, another one half of what is left."""
    return unsure(share, (1 - share) / 2)


def branching(share: float, is_shared: bool, max_branches: int = 4) -> tuple[DrafterProposer, Draft]:
    if not is_shared:
        bench = Bench(logits=two_ways(share))
        context = replace(context_of(tokens_of("in")), max_branches=max_branches)
        return bench.proposer, bench.proposer.propose(context, 3, Generous())
    target = FakeTarget().vocabulary

    def logits(held: Sequence[int]) -> LogitRow:
        row = np.full(len(TARGET_PIECES), -30.0, np.float32)
        for token, piece in enumerate(TARGET_PIECES[:256]):
            row[token] = two_ways(share)(held)[PIECES.index(piece)]
        return row

    proposer = SharedVocabularyDrafter(FakeDrafter(logits), target.pieces, target)
    context = replace(context_of(tokens_of("in")), max_branches=max_branches)
    return proposer, proposer.propose(context, 3, Generous())


@pytest.mark.parametrize("is_shared", [True, False], ids=["one vocabulary", "translated"])
def test_the_second_likeliest_stands_beside_the_likeliest_where_they_are_close(is_shared: bool) -> None:
    _, chain = branching(0.6, is_shared, max_branches=1)
    assert (len(chain.tokens), chain.parents) == (3, ())
    _, tree = branching(0.6, is_shared)
    assert tree.tokens[:3] == chain.tokens
    assert [tree.line(place) for place in range(3, 6)] == [
        (*chain.tokens[:place], following) for place, following in enumerate(tree.tokens[3:])
    ]
    assert len(set(tree.tokens)) == 4, "the second likeliest is the likeliest one step later"
    _, few = branching(0.6, is_shared, max_branches=2)
    assert (few.num_leaves, few.line(3)) == (2, tree.line(3))
    _, sure = branching(0.99, is_shared)
    assert not sure.parents


@pytest.mark.parametrize("is_shared", [True, False], ids=["one vocabulary", "translated"])
def test_chances_of_second_guesses_follow_what_stands_whether_they_were_checked_or_not(is_shared: bool) -> None:
    for is_checked in (True, False):
        proposer, tree = branching(0.6, is_shared)
        second, kind = tree.tokens[3], proposer._alternatives[0].kind
        branch = (3,) if is_checked else ()
        draft = tree if is_checked else tree.first(3)
        before = proposer.calibration.chance(kind)
        proposer.observe(Verdict(draft, len(branch), (second, 9)[: len(branch) + 1], branch=branch))
        assert proposer.calibration.chance(kind) > before
        guesses, _ = proposer.take_guesses()
        assert guesses == Guesses(1, 0, 0, 0), "the first guess was wrong, and nothing is known of those behind it"
