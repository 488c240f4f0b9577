"""More proposers than two: all free ones guess, and of the costly ones the best is asked."""

from __future__ import annotations

from engine.messages.origins import Origin
from engine.numerics.draft_length import FixedCosts
from engine.proposers.chooser import Chooser
from tests.fakes.proposers import FREE, FakeRecall, FakeSlow
from tests.unit.engine.proposers.machine import STEP_S, Machine, context, num_drafted, recalling

SECOND = Origin("second", "Second", "", "")


def another(*chances: float) -> FakeRecall:
    quoting = FakeRecall(range(200, 200 + len(chances)), chances)
    quoting.origin = SECOND
    return quoting


def test_the_best_of_the_free_guesses_is_checked() -> None:
    for first, second, best in (((0.9, 0.9), (0.5,), "recall"), ((0.5,), (0.9, 0.9), "second")):
        machine = Machine(recalling(*first))
        machine.chooser.join(another(*second))
        drafts = [draft for draft in machine.play(40) if draft.tokens]
        assert {draft.proposer for draft in drafts} == {best}


def test_a_drafter_goes_on_from_the_better_guess() -> None:
    slow = FakeSlow(0.9, STEP_S)
    machine = Machine(recalling(0.9), slow)
    machine.chooser.join(another(0.95, 0.95))
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
        machine.chooser.join(slow[1])
        good.asked.clear()
        bad.asked.clear()
        machine.play(300)
        assert len(good.asked) > 270
        assert 4 <= len(bad.asked) < 20
        assert len(good.asked) + len(bad.asked) <= 300, "one a round"


def test_one_that_was_passed_over_for_long_is_tried_again_and_may_take_over() -> None:
    first, second = FakeSlow(0.7, STEP_S), FakeSlow(0.3, STEP_S, SECOND)
    machine = Machine(slow=first)
    machine.chooser.join(second)
    machine.play(200)
    second.chance = 0.95  # the text has changed
    machine.play(300)
    assert sum(draft.proposer == "second" for draft in machine.play(200)) > 180


def test_each_has_costs_of_its_own() -> None:
    cheap, dear = FakeSlow(0.8, STEP_S), FakeSlow(0.8, step_s=50.0, origin=SECOND)
    machine = Machine(slow=cheap)
    machine.chooser.join(dear)
    assert num_drafted(machine.play(100)) > 85
    assert dear.asked == []
    assert machine.chooser.can_pay


def test_all_hear_of_every_round() -> None:
    proposers = (recalling(0.9), another(0.5), FakeSlow(0.9), FakeSlow(0.5, origin=Origin("c", "C", "", "")))
    machine = Machine()
    for proposer in proposers:
        machine.chooser.join(proposer)
    machine.play(20)
    machine.chooser.end_reply()
    assert [len(proposer.verdicts) for proposer in proposers] == [20] * 4
    assert [proposer.num_replies for proposer in proposers] == [1] * 4


def test_nobody_can_pay_where_there_is_nobody() -> None:
    chooser = Chooser(FREE)
    assert not chooser.can_pay
    assert not chooser.has_costly
    chooser.join(FakeSlow(0.9))
    assert chooser.can_pay
    chooser.give_up("drafter")
    assert not chooser.has_costly
    assert not chooser.propose(context(), 9).tokens


def test_behind_a_drafters_guess_a_free_one_goes_on_where_its_rows_are_worth_it() -> None:
    for rows, gains in ((FREE, True), (FixedCosts({1: 1.0, 16: 16.0}), False)):
        quoting, slow = FakeRecall(), FakeSlow(0.6, STEP_S)
        quoting.tokens_behind = (70, 71, 72)
        chooser = Chooser(rows, [quoting, slow], STEP_S)
        drafts = [chooser.propose(context(), 15) for _ in range(20)]
        drafts = [draft for draft in drafts if draft.tokens]
        assert bool(drafts) is gains
        for draft, asked in zip(drafts, quoting.followed, strict=False):
            assert [key for key, _ in draft.parts] == ["drafter", "recall"]
            assert draft.tokens == (*asked.ahead, 70, 71, 72)
            assert draft.num_steps > 0, "what the drafter took still counts"
