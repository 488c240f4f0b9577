"""Drafts that branch: what they are, and that what comes out of them follows the target's distribution exactly, summed
over every draft and every throw of the dice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.speculation.numerics.acceptance import accept
from engine.speculation.numerics.draft import Draft, DraftPath, Verdict, as_parents
from engine.speculation.numerics.sampling import Certain, Dice, Distribution, RandomDice
from tests.unit.engine.speculation.numerics.test_acceptance import TOLERANCE, VOCABULARIES, SharedToy, StopRule, Toy

# 5 6 7 is the trunk; 8 goes beside 6, with 9 behind it, and 3 beside 5.
TREE = Draft(
    (5, 6, 7, 8, 9, 3), chances=(0.6, 0.5, 0.5, 0.25, 1.0, 0.25), proposer="recall", parents=(-1, 0, 1, 0, 3, -1)
)


def with_sides(draft: Draft, num_tokens: int, num_sides: int, seed: int) -> Draft:
    """The draft, and beside its trunk so many certain tokens, which may follow each other, or nothing but the trunk's
    last token. They depend on all that was drafted, also on what is hidden when the walk comes to them."""
    dice = np.random.default_rng([seed, *draft.tokens])
    tokens, parents = [*draft.tokens], [*range(-1, len(draft.tokens) - 1)]
    num_trunk = len(tokens)
    for _ in range(num_sides):
        if parent := [place for place in range(-1, len(tokens)) if place != num_trunk - 1]:
            place = int(dice.choice(parent))
            taken = {tokens[child] for child, other in enumerate(parents) if other == place}
            if left := [token for token in range(num_tokens) if token not in taken]:
                tokens.append(int(dice.choice(left)))
                parents.append(place)
    return replace(draft, tokens=tuple(tokens), parents=as_parents(parents))


class BranchingToy(Toy):
    """Certain tokens beside a path through the trie."""

    num_sides = 2

    def draft(self, dice: Dice, longest: int, stop: StopRule, masked: bool, limit: int) -> Draft:
        draft = super().draft(dice, longest, stop, masked, limit)
        return with_sides(draft, len(self.pieces), self.num_sides, 1) if draft.tokens else draft


class BranchingSharedToy(SharedToy):
    """Certain tokens beside a path of the target's own."""

    def draft(self, dice: Dice, longest: int, stop: StopRule, masked: bool, limit: int) -> Draft:
        draft = super().draft(dice, longest, stop, masked, limit)
        return with_sides(draft, len(self.pieces), 2, 1) if draft.tokens else draft


class ContinuedToy(BranchingToy):
    """Certain tokens behind the path as well, so that the trunk goes on where it ends."""

    def draft(self, dice: Dice, longest: int, stop: StopRule, masked: bool, limit: int) -> Draft:
        draft = super().draft(dice, longest, stop, masked, limit)
        return continued(draft, len(self.pieces))


class ContinuedSharedToy(BranchingSharedToy):
    def draft(self, dice: Dice, longest: int, stop: StopRule, masked: bool, limit: int) -> Draft:
        draft = super().draft(dice, longest, stop, masked, limit)
        return continued(draft, len(self.pieces))


def continued(draft: Draft, num_tokens: int) -> Draft:
    if not draft.tokens:
        return draft
    more = np.random.default_rng(draft.tokens).integers(num_tokens, size=2).tolist()
    return draft.followed_by(Draft(tuple(more), proposer="recall"))


class OftenCertainToy(Toy):
    """Takes the likeliest token instead of drawing one, where an even number was drawn before."""

    def _drafted_after(self, path: tuple[int, ...], masked: bool) -> Distribution | None:
        drawn = super()._drafted_after(path, masked)
        if drawn is None or sum(path) % 2:
            return drawn
        return Certain(int(drawn.ids[drawn.probabilities.argmax()]))


class SampledTreeToy(SharedToy):
    """Two tokens for the first place, drawn without replacement, and one behind each."""

    def draft(self, dice: Dice, longest: int, stop: StopRule, masked: bool, limit: int) -> Draft:  # noqa: ARG002
        tokens: list[int] = []
        parents: list[int] = []
        distributions: list[Distribution] = []

        def draw(parent: int, line: tuple[int, ...], *others: int) -> int:
            weights = self.q(line).copy()
            weights[[*others, *([len(weights) - 1] if masked else [])]] = 0
            if (ids := np.flatnonzero(weights)).size:
                distributions.append(Distribution(ids, weights[ids] / weights[ids].sum()))
                tokens.append(distributions[-1].draw(dice))
                parents.append(parent)
            return len(tokens) - 1

        first = draw(-1, ())
        if longest > 1:
            draw(first, (tokens[first],))
        second = draw(-1, (), tokens[first])
        if longest > 1 and parents[second] == -1:
            draw(second, (tokens[second],))
        return Draft(
            tuple(tokens),
            DraftPath(tuple(tokens), tuple(distributions), None, len(tokens)),
            parents=as_parents(parents),
        )


class CertainTreeToy(Toy):
    """No path at all."""

    def draft(self, dice: Dice, longest: int, stop: StopRule, masked: bool, limit: int) -> Draft:  # noqa: ARG002
        return with_sides(Draft((0, 1, 0)[:longest]), len(self.pieces), 4, seed=longest)


def test_a_tree_knows_its_trunk_its_branches_and_what_is_expected_of_it() -> None:
    assert (TREE.num_trunk, TREE.num_leaves) == (3, 3)
    assert [TREE.line(place) for place in (-1, 2, 4, 5)] == [(), (5, 6, 7), (5, 8, 9), (3,)]
    assert [[*TREE.children(place)] for place in (-1, 0, 3, 4)] == [[0, 5], [1, 3], [4], []]
    assert TREE.reached == pytest.approx((0.6, 0.3, 0.15, 0.15, 0.15, 0.25))
    chain = Draft((5, 6), chances=(0.5, 0.5))
    assert (chain.num_trunk, chain.num_leaves, chain.reached, chain.line(1)) == (2, 1, (0.5, 0.25), (5, 6))
    assert ([*chain.children(-1)], [*chain.children(1)], Draft().num_leaves) == ([0], [], 0)


def test_part_of_a_tree_is_a_tree_or_a_chain() -> None:
    part = TREE.only([0, 1, 3, 4])
    assert (part.tokens, part.parents) == ((5, 6, 8, 9), (-1, 0, 0, 2))
    assert TREE.only([0, 3, 4]) == Draft((5, 8, 9), chances=(0.6, 0.25, 1.0), proposer="recall")
    assert TREE.first(3).parents == ()
    after = TREE.after(Draft((1, 2), chances=(0.9, 0.9)))
    assert after.tokens == (1, 2, *TREE.tokens)
    assert [after.line(2 + place) for place in range(6)] == [(1, 2, *TREE.line(place)) for place in range(6)]


def test_another_draft_beside_a_tree_shares_what_both_have() -> None:
    other = Draft((5, 6, 4, 2), chances=(0.5, 0.9, 0.8, 0.5), proposer="lookahead", parents=(-1, 0, 1, -1))
    both = TREE.beside(other)
    assert both.tokens == (*TREE.tokens, 4, 2)
    assert both.parents == (*TREE.parents, 1, -1)
    assert both.chances == pytest.approx((*TREE.chances, 0.8 * 0.5, 0.5 * 0.15))  # what their siblings leave them
    assert both.parts == (("recall", 6), ("lookahead", 2))
    assert TREE.beside(Draft((5, 8), chances=(1.0, 1.0))).tokens == TREE.tokens


def test_a_part_of_a_drawn_tree_keeps_the_distributions_of_its_tokens() -> None:
    distributions = [Certain(token) for token in (5, 6, 7)]
    path = DraftPath((5, 6, 7), tuple(distributions), None, 3)
    draft = Draft((5, 6, 7, 8), path, parents=(-1, 0, 1, -1))
    kept = draft.within(lambda line: line[-1] != 6)
    assert (kept.tokens, kept.parents) == ((5, 6, 8), (-1, 0, -1))
    assert [kept.drawn_from(place) for place in range(3)] == [*distributions[:2], None]


def test_a_verdict_tells_which_branch_stands_and_how_far_the_trunk_does() -> None:
    for tokens, places, num_straight in (
        ((5, 6, 7, 1), (0, 1, 2), 3),
        ((5, 8, 9, 1), (0, 3, 4), 1),
        ((3, 1), (5,), 0),
        ((1,), (), 0),
    ):

        def certain(row: int, tokens: Sequence[int] = tokens) -> Distribution:
            return Distribution(np.array([tokens[len(TREE.line(row - 1))]]), np.ones(1))

        verdict = accept(TREE, certain, (), RandomDice(0))
        assert (verdict.tokens, verdict.places, verdict.num_accepted) == (tokens, places, len(places))
        assert verdict.num_straight == num_straight
    chain = Verdict(Draft((5, 6, 7)), 2, (5, 6, 1))
    assert ([*chain.places], chain.num_straight) == ([0, 1], 2)


@pytest.mark.parametrize("masked", [True, False], ids=["masked", "unmasked"])
@pytest.mark.parametrize("vocabulary", VOCABULARIES.values(), ids=VOCABULARIES.keys())
def test_certain_branches_beside_the_trie_walk_are_exact(vocabulary: list[str], masked: bool) -> None:
    assert BranchingToy(vocabulary, 1).error(longest=3, masked=masked) < TOLERANCE
    assert BranchingToy(vocabulary, 3).error(longest=2, masked=masked, limit=1) < TOLERANCE
    assert BranchingToy(vocabulary, 4).error(longest=2, masked=masked, before=(1,)) < TOLERANCE
    assert BranchingToy(vocabulary, 5).error(longest=2, masked=masked, ends={0}) < TOLERANCE


@pytest.mark.parametrize("vocabulary", VOCABULARIES.values(), ids=VOCABULARIES.keys())
def test_what_follows_the_trie_walk_is_exact_and_so_are_tokens_that_were_not_drawn(vocabulary: list[str]) -> None:
    assert ContinuedToy(vocabulary, 1).error(longest=2) < TOLERANCE
    assert ContinuedToy(vocabulary, 3).error(longest=2, limit=1) < TOLERANCE
    assert ContinuedToy(vocabulary, 4).error(longest=1, before=(1,)) < TOLERANCE
    assert ContinuedToy(vocabulary, 5).error(longest=2, ends={0}) < TOLERANCE
    assert OftenCertainToy(vocabulary, 6).error(longest=3) < TOLERANCE


@pytest.mark.parametrize("toy", [BranchingSharedToy, ContinuedSharedToy, SampledTreeToy])
@pytest.mark.parametrize("mixed", [0.0, 0.5, 1.0])
def test_branches_are_exact_where_both_have_one_vocabulary(toy: type[SharedToy], mixed: float) -> None:
    for masked in (True, False):
        assert toy(4, 1, mixed=mixed).error(1, 2, masked=masked) < TOLERANCE
        assert toy(3, 2, mixed=mixed).error(2, masked=masked) < TOLERANCE
        assert toy(3, 3, 0.2, mixed).error(2, masked=masked, before=(1,)) < TOLERANCE
        assert toy(3, 4, mixed=mixed).error(2, masked=masked, ends={1}) < TOLERANCE


@settings(max_examples=8)
@given(
    make=st.sampled_from([BranchingSharedToy, SampledTreeToy]),
    size=st.integers(2, 4),
    seed=st.integers(0, 2**32 - 1),
    concentration=st.sampled_from([0.1, 1.0]),
    mixed=st.floats(0, 1),
    ends=st.sets(st.integers(0, 1), max_size=1),
)
def test_they_are_for_any_two_distributions(
    make: Callable[..., SharedToy], size: int, seed: int, concentration: float, mixed: float, ends: set[int]
) -> None:
    assert make(size, seed, concentration, mixed).error(2, 2, masked=seed % 2 == 0, ends=ends) < TOLERANCE


@given(seed=st.integers(0, 2**32 - 1), longest=st.integers(1, 3), ends=st.sets(st.integers(0, 2), max_size=1))
def test_a_tree_of_certain_guesses_is_exact(seed: int, longest: int, ends: set[int]) -> None:
    assert CertainTreeToy(["a", "b", "c", "ab"], seed).error(longest, 2, ends=ends) < TOLERANCE


def test_siblings_that_were_drawn_with_replacement_but_say_otherwise_would_be_noticed() -> None:
    """The sums above can fail: the second sibling's distribution must be the one it was truly drawn from."""

    class Lying(SampledTreeToy):
        def draft(self, dice: Dice, longest: int, stop: StopRule, masked: bool, limit: int) -> Draft:
            draft = super().draft(dice, longest, stop, masked, limit)
            assert draft.path is not None
            first = draft.path.distributions[0]
            lying = (*draft.path.distributions[:-1], first)
            return replace(draft, path=replace(draft.path, distributions=lying))

    assert SampledTreeToy(4, seed=1).error(longest=1) < TOLERANCE
    assert Lying(4, seed=1).error(longest=1) > 0.01
