"""More proposers than two: all free ones guess, and of the costly ones the best is asked."""

from __future__ import annotations

from dataclasses import replace

from engine.speculation.numerics.draft import Draft
from engine.speculation.numerics.draft_length import FixedCosts
from engine.speculation.proposers.costly import Always
from engine.speculation.proposers.draft_policy import DraftPolicy
from engine.speculation.proposers.interface import Context, Worth
from engine.values.origins import Origin
from tests.fakes.proposers import FREE, FakeRecall, FakeSlow
from tests.unit.engine.speculation.proposers.machine import STEP_S, Machine, context, num_drafted, recalling

SECOND = Origin("second", "Second", "", "")


def another(*chances: float) -> FakeRecall:
    quoting = FakeRecall(range(200, 200 + len(chances)), chances)
    quoting.origin = SECOND
    return quoting


def test_the_best_of_the_free_guesses_is_checked() -> None:
    for first, second, best in (((0.9, 0.9), (0.5,), "recall"), ((0.5,), (0.9, 0.9), "second")):
        machine = Machine(recalling(*first))
        machine.policy.join(another(*second))
        drafts = [draft for draft in machine.play(40) if draft.tokens]
        assert {draft.proposer for draft in drafts} == {best}


def test_a_drafter_goes_on_from_the_better_guess() -> None:
    slow = FakeSlow(0.9, STEP_S)
    machine = Machine(recalling(0.9), slow)
    machine.policy.join(another(0.95, 0.95))
    drafts = machine.play(60)[10:]
    assert {draft.parts[0] for draft in drafts if draft.tokens} == {("second", 2)}
    assert {draft.parts[1][0] for draft in drafts if draft.tokens} == {"drafter"}


def test_one_that_does_not_continue_is_asked_from_the_beginning_only() -> None:
    slow = FakeSlow(0.9, STEP_S)
    slow.continues = False
    Machine(recalling(0.95, 0.95), slow).play(100)
    assert slow.asked
    assert {asked.ahead for asked in slow.asked} == {()}


def test_of_two_drafters_the_one_that_gains_more_is_asked() -> None:
    good, bad = FakeSlow(0.9, STEP_S), FakeSlow(0.6, STEP_S, SECOND)
    for slow in ((good, bad), (bad, good)):
        machine = Machine(slow=slow[0])
        machine.policy.join(slow[1])
        good.asked.clear()
        bad.asked.clear()
        machine.play(300)
        assert len(good.asked) > 270
        assert 4 <= len(bad.asked) < 20
        assert len(good.asked) + len(bad.asked) <= 300, "one a round"


def test_one_that_was_passed_over_for_long_is_tried_again_and_may_take_over() -> None:
    first, second = FakeSlow(0.7, STEP_S), FakeSlow(0.3, STEP_S, SECOND)
    machine = Machine(slow=first)
    machine.policy.join(second)
    machine.play(200)
    second.chance = 0.95  # the text has changed
    machine.play(300)
    assert sum(draft.proposer == "second" for draft in machine.play(200)) > 180


def test_each_has_costs_of_its_own() -> None:
    cheap, dear = FakeSlow(0.8, STEP_S), FakeSlow(0.8, step_s=50.0, origin=SECOND)
    machine = Machine(slow=cheap)
    machine.policy.join(dear)
    assert num_drafted(machine.play(100)) > 85
    assert dear.asked == []
    assert machine.policy.can_pay


def test_all_hear_of_every_round() -> None:
    proposers = (recalling(0.9), another(0.5), FakeSlow(0.9), FakeSlow(0.5, origin=Origin("c", "C", "", "")))
    machine = Machine()
    for proposer in proposers:
        machine.policy.join(proposer)
    machine.play(20)
    machine.policy.end_reply()
    assert [len(proposer.verdicts) for proposer in proposers] == [20] * 4
    assert [proposer.num_replies for proposer in proposers] == [1] * 4


def test_without_costly_proposers_what_passes_allow_tells_whether_guesses_can_pay() -> None:
    assert not DraftPolicy(FixedCosts({1: 1.0, 16: 16.0})).can_pay
    policy = DraftPolicy(FREE)
    assert policy.can_pay
    assert not policy.has_costly
    policy.join(FakeSlow(0.9))
    assert policy.can_pay
    policy.give_up("drafter")
    assert not policy.has_costly
    assert not policy.propose(context(), 9).tokens


def test_behind_a_drafters_guess_a_free_one_goes_on_where_its_rows_are_worth_it() -> None:
    for rows, gains in ((FREE, True), (FixedCosts({1: 1.0, 16: 16.0}), False)):
        quoting, slow = FakeRecall(), FakeSlow(0.6, STEP_S)
        quoting.tokens_behind = (70, 71, 72)
        policy = DraftPolicy(rows, [quoting, slow], STEP_S)
        drafts = [policy.propose(context(), 15) for _ in range(20)]
        drafts = [draft for draft in drafts if draft.tokens]
        assert bool(drafts) is gains
        for draft, asked in zip(drafts, quoting.followed, strict=False):
            assert [key for key, _ in draft.parts] == ["drafter", "recall"]
            assert draft.tokens == (*asked.ahead, 70, 71, 72)
            assert draft.num_steps > 0, "what the drafter took still counts"


# Branches


def branching(max_branches: int = 4, rows: FixedCosts = FREE, longest: int = 15, draws_trees: bool = True) -> Draft:
    """What is drafted where one guesses 70 71 72 or 80 81 or 90."""
    quoting = FakeRecall((70, 71, 72, 80, 81, 90), (0.5, 0.4, 0.5, 0.3, 0.9, 0.02))
    quoting.parents = (-1, 0, 1, -1, 3, -1)
    policy = DraftPolicy(rows, [quoting], draws_trees=draws_trees)
    return policy.propose(replace(context(), max_branches=max_branches), longest)


def test_of_a_tree_those_tokens_are_checked_that_are_likeliest_to_be_reached() -> None:
    assert branching().tokens == (70, 71, 72, 80, 81, 90)
    assert branching(longest=4) == Draft(
        (70, 71, 80, 81), chances=(0.5, 0.4, 0.3, 0.9), proposer="recall", parents=(-1, 0, -1, 2)
    )
    gentle = FixedCosts({1: 1.0, 2: 1.1, 3: 1.2, 4: 1.3, 5: 1.9, 16: 9.0})
    assert branching(rows=gentle).tokens == (70, 80, 81)
    assert branching(rows=FixedCosts({1: 1.0, 2: 1.2, 16: 9.0})).tokens == (70,)


def test_drafts_are_chains_where_the_target_offers_no_branches_or_no_row_for_one_can_pay() -> None:
    asked = []
    for kwargs in ({"max_branches": 1}, {"draws_trees": False}, {"rows": FixedCosts({1: 1.0, 16: 8.5})}):
        asked.append(branching(**kwargs))
    assert [draft.parents for draft in asked] == [()] * 3


class Beside(FakeSlow):
    """Guesses another token beside its first."""

    def propose(self, context: Context, limit: int, worth: Worth) -> Draft:
        draft = super().propose(context, limit, worth)
        if context.max_branches == 1 or not draft.tokens:
            return draft
        parents = (*range(-1, len(draft.tokens) - 1), -1)
        return replace(draft, tokens=(*draft.tokens, 50), chances=(*draft.chances, 0.2), parents=parents)


def test_a_drafters_branches_stay_behind_what_a_free_one_adds_to_its_trunk() -> None:
    quoting, slow = FakeRecall(), Beside(0.6, STEP_S)
    quoting.tokens_behind = (70, 71)
    policy = DraftPolicy(FREE, [quoting, slow], STEP_S)
    drafts = [policy.propose(replace(context(), max_branches=2), 15) for _ in range(9)]
    draft = drafts[-1]
    assert draft.parts == (("drafter", draft.num_trunk - 2), ("recall", 2), ("drafter", 1))
    assert draft.place_of("drafter") == (0, len(draft.tokens))
    assert (draft.line(len(draft.tokens) - 1), draft.tokens[: draft.num_trunk][-2:]) == ((50,), (70, 71))
    assert draft.chances[-1] == 0.2


def test_where_a_row_costs_more_than_a_branch_gains_the_drafter_drafts_its_trunk() -> None:
    rows = FixedCosts({1: 1.0, 16: 1.0 + 15 * 0.25})
    policy = DraftPolicy(rows, [Beside(0.8, 0.01)], 0.01)
    drafts = [policy.propose(replace(context(), max_branches=2), 15) for _ in range(9)]
    assert [draft for draft in drafts if draft.parents] == []
    assert num_drafted(drafts) == 4


def test_of_a_drafter_that_always_drafts_as_many_tokens_are_checked_with_branches_as_without() -> None:
    policy = DraftPolicy(FREE, [Beside(0.4)], 0.0, Always(3, 3))
    draft = policy.propose(replace(context(), max_branches=2), 15)
    assert (draft.tokens, draft.parents) == ((0, 1, 50), (-1, 0, -1))
    assert policy.propose(context(), 15).tokens == (0, 1, 2)
