"""What the policy knows of plain decoding and of itself, what measuring asks of it, and what it does in trouble."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.speculation.numerics.draft import NO_DRAFT, Draft, Verdict
from engine.speculation.numerics.draft_length import FixedCosts, PassCosts
from engine.speculation.proposers.costly import Always, ProposerFailed
from engine.speculation.proposers.costs import StepCosts
from engine.speculation.proposers.draft_policy import DraftPolicy
from engine.speculation.proposers.interface import Context, Worth
from tests.fakes.proposers import FakeRecall, FakeSlow
from tests.unit.engine.speculation.proposers.machine import (
    GENTLE,
    STEEP,
    STEP_S,
    Machine,
    context,
    num_drafted,
    recalling,
)

# What plain decoding takes


def test_while_drafting_all_the_time_there_is_a_plain_round_now_and_then() -> None:
    machine = Machine(recalling(0.9, 0.9))
    drafts = machine.play(1000)
    longest = max(len(run) for run in "".join("x" if draft.tokens else " " for draft in drafts).split())
    assert 96 < longest <= 240  # passes that always take the same leave little to be learned
    assert num_drafted(drafts) > 980
    assert machine.policy._costs.baseline.num_seen >= 4
    assert machine.policy._costs.baseline.seconds == pytest.approx(1.0)


def test_a_pass_over_one_row_after_a_wide_one_says_nothing_about_plain_decoding() -> None:
    policy = DraftPolicy(PassCosts({1: 1.0, 16: 1.0}))
    policy.observe(Verdict(Draft((1, 2)), 0, (9,)), 1.0, 1.0)
    policy.observe(Verdict(NO_DRAFT, 0, (9,)), 2.5, 2.5)  # another graph is built
    assert (policy._costs.baseline.num_seen, policy._costs.baseline.seconds) == (0, 1.0)
    policy.observe(Verdict(NO_DRAFT, 0, (9,)), 1.5, 1.5)
    assert policy._costs.baseline.num_seen == 1
    assert 1.0 < policy._costs.baseline.seconds <= 1.5


def test_plain_decoding_is_learned_anew_where_the_target_holds_much_more() -> None:
    policy = DraftPolicy(PassCosts({1: 1.0}))
    for num_held, pass_s, rounds in ((10, 1.0, 50), (2000, 2.0, 4)):
        for _ in range(rounds):
            policy.propose(context(num_held), 9)
            policy.observe(Verdict(NO_DRAFT, 0, (9,)), pass_s, pass_s)
    assert policy._costs.baseline.seconds == pytest.approx(2.0, rel=0.2)


def test_our_own_work_is_no_part_of_a_pass_and_is_known_by_what_it_is_for() -> None:
    passes = PassCosts({1: 1.0, 2: 1.1, 16: 2.5})
    policy = DraftPolicy(passes)
    steps = Draft((1,), num_steps=2, drafter_s=0.6)
    for _ in range(60):
        for draft, pass_s, own_s in ((NO_DRAFT, 1.0, 0.3), (Draft((1,)), 1.1, 0.7), (steps, 1.1, 1.5)):
            policy.observe(Verdict(draft, 0, (9,)), pass_s + draft.drafter_s + own_s, pass_s)
    assert [passes.of(1), passes.of(2)] == pytest.approx([1.0, 1.1])
    own = passes.own
    assert [own.plain_s, own.drafted_s, own.step_s] == pytest.approx([0.3, 0.4, 0.4])
    assert passes.plain_s == pytest.approx(1.3)
    assert own.of(10, 4, 6) == pytest.approx(3.0 + 1.6 + 2.4)


def test_what_is_put_down_to_a_drafter_before_a_plain_round_was_seen_is_forgotten() -> None:
    passes = PassCosts({1: 1.0})
    policy = DraftPolicy(passes)
    for draft, own_s in ((Draft((1,), num_steps=1), 3.0), (NO_DRAFT, 2.5), (Draft((1,), num_steps=1), 3.0)):
        policy.observe(Verdict(draft, 0, (9,)), 1.0 + own_s, 1.0)
    assert (passes.own.plain_s, passes.own.step_s) == (2.5, 0.5)


@pytest.mark.parametrize(("own_s", "pays"), [(0.2, True), (3.0, False)])
def test_our_own_work_on_a_draft_has_to_pay(own_s: float, pays: bool) -> None:
    policy = DraftPolicy(PassCosts({1: 1.0, 16: 1.1}), [recalling(0.9)])
    drafts = []
    for _ in range(200):
        draft = policy.propose(context(), 9)
        drafts.append(draft)
        policy.observe(Verdict(draft, len(draft.tokens), (*draft.tokens, 9)), 1.3 + own_s * bool(draft.tokens), 1.1)
    assert (num_drafted(drafts) > 150) == pays
    assert (num_drafted(drafts) < 20) != pays


def test_our_own_work_on_what_a_drafter_computes_is_a_part_of_its_step() -> None:
    passes = PassCosts({1: 1.0, 16: 1.1})
    costs = StepCosts(passes, 0.1)
    passes.note_own(NO_DRAFT, 0.2)
    passes.note_own(Draft((1,), num_steps=4), 1.4)
    assert costs.step_s == pytest.approx(0.1 + 0.3)
    assert costs.learn(Draft((1,), num_steps=4, drafter_s=0.4)) == pytest.approx(4 * 0.4)
    assert StepCosts(passes, 0.1, is_given=True).step_s == 0.1


def test_activity_tells_who_drafts_and_how_far() -> None:
    machine = Machine(recalling(0.9, 0.9, 0.9))
    machine.play(200)
    activity = machine.policy.activity
    assert activity.shares == {"earlier text": pytest.approx(0.95, abs=0.06)}
    assert activity.length == pytest.approx(3)


def test_activity_names_both_where_one_went_on_from_the_other() -> None:
    machine = Machine(recalling(0.95, 0.95), FakeSlow(0.9, STEP_S))
    machine.play(100)
    assert max(machine.policy.activity.shares.items(), key=lambda item: item[1])[0] == "earlier text and drafter"
    assert machine.policy.can_pay


# For measuring


@pytest.mark.parametrize("costs", [GENTLE, STEEP])
def test_drafting_can_be_had_in_every_round_for_measuring(costs: dict[int, float]) -> None:
    recall = recalling(0.9, 0.9)
    three = Machine(recall, FakeSlow(0.01, step_s=2.0), costs, always=Always(3, 3)).play(100)
    assert {draft.parts for draft in three} == {(("drafter", 3),)}
    any_length = Machine(recall, FakeSlow(0.9, STEP_S), costs, always=Always()).play(100)
    assert min(len(draft.tokens) for draft in any_length) >= 1
    assert (max(len(draft.tokens) for draft in any_length) > 1) == (costs is GENTLE)


def test_even_then_no_draft_is_longer_than_there_is_room_for() -> None:
    policy = DraftPolicy(FixedCosts(GENTLE), [FakeSlow(0.9)], always=Always(9, 9))
    assert len(policy.propose(context(), 4).tokens) == 4


# Trouble


class Failing(FakeRecall):
    def __init__(self, error: Callable[[], BaseException] = ZeroDivisionError) -> None:
        super().__init__()
        self._error = error

    def propose(self, context: Context, limit: int, worth: Worth) -> Draft:  # noqa: ARG002
        raise self._error()


class FailingSlow(FakeSlow):
    def propose(self, context: Context, limit: int, worth: Worth) -> Draft:  # noqa: ARG002
        raise ZeroDivisionError


def test_one_that_fails_is_named_and_given_up_and_the_other_goes_on() -> None:
    policy = DraftPolicy(FixedCosts(GENTLE), [Failing(), FakeSlow(0.9, STEP_S)])
    with pytest.raises(ProposerFailed) as failed:
        policy.propose(context(), 9)
    assert failed.value.origin.key == "recall"
    assert isinstance(failed.value.__cause__, ZeroDivisionError)
    policy.give_up("recall")
    assert policy.propose(context(), 9).proposer == "drafter"

    policy = DraftPolicy(FixedCosts(GENTLE), [recalling(0.9), FailingSlow(0.9, STEP_S)])
    with pytest.raises(ProposerFailed) as failed:
        policy.propose(context(), 9)
    assert failed.value.origin.key == "drafter"
    policy.give_up("drafter")
    assert policy.propose(context(), 9).proposer == "recall"


def test_a_panic_of_a_rust_library_is_a_failure_but_leaving_the_program_is_not() -> None:
    class Panic(BaseException): ...

    with pytest.raises(ProposerFailed):
        DraftPolicy(FixedCosts(GENTLE), [Failing(Panic)]).propose(context(), 9)
    with pytest.raises(KeyboardInterrupt):
        DraftPolicy(FixedCosts(GENTLE), [Failing(KeyboardInterrupt)]).propose(context(), 9)
