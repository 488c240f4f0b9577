"""Who drafts in a round, and how far."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.speculation.numerics.draft import NO_DRAFT, Draft, Verdict
from engine.speculation.numerics.draft_length import MAX_LENGTH, USUAL_LENGTH, FixedCosts, PassCosts
from engine.speculation.proposers.costly import Always
from engine.speculation.proposers.draft_policy import DraftPolicy
from tests.fakes.proposers import FakeRecall, FakeSlow
from tests.unit.engine.speculation.proposers.machine import STEEP, STEP_S, Machine, context, num_drafted, recalling

# Nobody is a choice


def test_nobody_drafts_where_nothing_pays() -> None:
    machine = Machine(recalling(0.02, 0.02))
    assert num_drafted(machine.play(100)) == 0
    slow = FakeSlow(0.95, STEP_S)
    steep = Machine(recalling(0.9, 0.9), slow, STEEP)
    assert not steep.policy.can_pay
    assert num_drafted(steep.play(1000)) == 0
    assert slow.asked == []


def test_nobody_drafts_where_there_is_nobody() -> None:
    assert num_drafted(Machine().play(10)) == 0
    assert num_drafted(Machine(always=Always()).play(10)) == 0


# Recall


@given(
    chances=st.lists(st.floats(0, 1), min_size=1, max_size=20),
    costs=st.lists(st.floats(0.5, 2.0), min_size=20, max_size=20),
    longest=st.integers(1, 20),
)
def test_recall_is_checked_as_far_as_gains_most(chances: list[float], costs: list[float], longest: int) -> None:
    table = FixedCosts(dict(enumerate(costs, 1)))
    draft = DraftPolicy(table, [recalling(*chances)]).propose(context(), longest)

    def gain(length: int) -> float:
        """Less what costs are not known to, and what is at stake beyond what a reply may lose at first."""
        expected = sum(prod(chances[:place]) for place in range(1, length + 1))
        cost = (costs[length] - costs[0]) / costs[0]
        ended = [prod(chances[:place]) * (1 - chances[place]) for place in range(length)]
        missing = [max(0.0, cost - 0.3 - place) for place in range(length + 1)]  # where so many are accepted
        lost = sum(chance * tokens for chance, tokens in zip([*ended, prod(chances[:length])], missing, strict=True))
        return float(expected - cost - 0.03 - 4 * lost)

    lengths = [
        length
        for length in range(1, min(longest, len(chances), USUAL_LENGTH) + 1)
        if prod(chances[:length]) >= 0.005  # beyond, nothing is to be gained
    ]
    best = max([0.0, *map(gain, lengths)])
    assert draft.tokens == tuple(range(100, 100 + len(draft.tokens)))
    assert draft.chances == tuple(chances[: len(draft.tokens)])
    assert (gain(len(draft.tokens)) if draft.tokens else 0.0) == pytest.approx(best, abs=1e-9)


def test_where_drafts_pay_by_their_length_it_looks_in_every_round() -> None:
    """The first guess alone is not worth a row."""
    machine = Machine(recalling(0.65, *[0.99] * 10), costs={1: 1.0, 2: 2.0, 16: 2.0}, true_chance=0.99)
    assert num_drafted(machine.play(40)) == 40


def test_a_small_gain_is_not_worth_what_the_next_round_without_a_draft_will_cost_more() -> None:
    """Recall has something in every third round; llama.cpp builds another graph after each of its drafts."""

    def drafted(surplus_s: float) -> int:
        recall = recalling(0.15)
        machine = Machine(recall, surplus_s=surplus_s)
        drafts = []
        for _ in range(100):
            recall.tokens = (100,)
            drafts += machine.play(1)
            recall.tokens = ()
            drafts += machine.play(2)
            machine.policy.end_reply()
        return num_drafted(drafts[-90:])

    assert drafted(surplus_s=0.0) == 30
    assert drafted(surplus_s=0.4) < 8


def test_a_text_that_only_looks_repetitive_is_left_alone_until_the_reply_ends() -> None:
    machine = Machine(recalling(0.5, 0.5), true_chance=0.0)
    machine.play(50)
    assert num_drafted(machine.play(50)) <= 10
    machine.policy.end_reply()
    assert num_drafted(machine.play(1)) == 1


def test_a_copy_is_drafted_as_far_ahead_as_it_pays_from_its_first_draft_on() -> None:
    machine = Machine(recalling(*[0.99] * 80), costs={1: 1.0, MAX_LENGTH + 1: 1.5}, true_chance=1.0)
    assert [len(draft.tokens) for draft in machine.play(3)] == [MAX_LENGTH] * 3
    machine = Machine(recalling(*[0.7] * 80), costs={1: 1.0, MAX_LENGTH + 1: 1.5}, true_chance=1.0)
    assert all(len(draft.tokens) < 20 for draft in machine.play(3)), "guesses that far ahead are hardly ever right"


def test_a_sure_copy_is_drafted_at_once_however_small_the_loss_budget() -> None:
    """Each further row costs 0.66 passes, the first one more."""
    costs = {1: 1.0, 2: 1.9, MAX_LENGTH + 1: 1.9 + 0.42 * (MAX_LENGTH - 1)}
    assert num_drafted(Machine(recalling(*[0.96] * 20), costs=costs, true_chance=1.0).play(1)) == 1
    assert num_drafted(Machine(recalling(*[0.75] * 20), costs=costs, true_chance=1.0).play(1)) == 0


def test_the_last_number_of_rows_is_kept_where_another_gains_little_more() -> None:
    def lengths(surplus_s: float) -> set[int]:
        recall = recalling(0.9, 0.9)
        machine = Machine(recall, costs={1: 1.0, 2: 1.3, 3: 1.7, 4: 2.3, 16: 9.0}, surplus_s=surplus_s, true_chance=0.9)
        drafts: list[Draft] = []
        for place in range(50):
            recall.chances = (0.9, 0.5 if place % 2 else 0.8)
            drafts += machine.play(1)
        return {len(draft.tokens) for draft in drafts[10:]} - {0}

    assert lengths(0.0) == {1, 2}
    assert len(lengths(0.12)) == 1


# The drafter


def test_a_drafter_that_pays_is_asked_in_nearly_every_round() -> None:
    slow = FakeSlow(0.8, STEP_S)
    drafts = Machine(slow=slow).play(200)
    assert num_drafted(drafts) > 185
    assert len(slow.asked) >= num_drafted(drafts)


def test_one_that_does_not_pay_rests_and_comes_back_when_the_text_changes() -> None:
    """Prose that turns into code, and prose again."""
    slow = FakeSlow(0.05, STEP_S)
    machine = Machine(slow=slow)
    machine.play(300)
    num_asked = len(slow.asked)
    assert num_drafted(machine.play(300)) <= 10
    assert 1 <= len(slow.asked) - num_asked <= 10
    slow.chance = 0.95
    drafts = machine.play(200)
    assert any(draft.tokens for draft in drafts[:70])
    assert num_drafted(drafts[80:]) > 100
    slow.chance = 0.05
    machine.play(100)
    assert num_drafted(machine.play(100)) <= 10


def test_another_drafter_is_not_judged_by_the_one_before() -> None:
    machine = Machine(slow=FakeSlow(0.02, STEP_S))
    machine.play(300)
    machine.policy.join(FakeSlow(0.9, STEP_S))
    assert num_drafted(machine.play(10)) == 10


def test_one_that_stays_silent_is_asked_less_and_less() -> None:
    slow = FakeSlow(0.0, STEP_S)
    Machine(slow=slow).play(1000)
    assert len(slow.asked) < 50


def test_what_its_guesses_take_is_learned() -> None:
    slow = FakeSlow(0.9, STEP_S)
    machine = Machine(slow=slow)
    slow.step_s = 3.0  # not what was said
    machine.play(200)
    num_asked = len(slow.asked)
    assert num_drafted(machine.play(200)) <= 10
    assert len(slow.asked) - num_asked <= 10


def test_what_is_given_for_its_guesses_stays() -> None:
    slow = FakeSlow(0.9, step_s=100.0)
    assert num_drafted(Machine(slow=slow, step_s=STEP_S).play(100)) > 90


def test_one_draft_that_read_a_whole_prompt_does_not_end_drafting() -> None:
    slow = FakeSlow(0.9, STEP_S)
    slow.unread, slow.reading_s = 200, 5.0
    drafts = Machine(slow=slow).play(100)
    assert num_drafted(drafts) > 90


def test_a_long_prompt_is_read_only_for_a_gain_that_is_worth_it() -> None:
    def num_asked(chance: float, unread: int) -> int:
        slow = FakeSlow(chance, STEP_S)
        machine = Machine(slow=slow)
        machine.play(100)
        slow.unread = unread
        num_before = len(slow.asked)
        machine.play(5)
        return len(slow.asked) - num_before

    assert num_asked(chance=0.9, unread=500) == 5
    assert num_asked(chance=0.9, unread=50_000) == 0
    assert num_asked(chance=0.2, unread=1) == 5  # it gains a little
    assert num_asked(chance=0.2, unread=500) == 0


def test_a_prompt_far_too_long_is_not_read_to_see_what_comes_of_it() -> None:
    slow = FakeSlow(0.95, STEP_S)
    slow.unread = 5000
    assert num_drafted(Machine(slow=slow).play(200)) == 0
    slow.unread = 50
    assert num_drafted(Machine(slow=slow).play(200)) > 180


def test_where_costs_turn_out_otherwise_it_gets_its_chance() -> None:
    """The passes of the target take longer than was measured, so that guesses are worth more."""
    slow = FakeSlow(0.9, step_s=0.5)
    policy = DraftPolicy(PassCosts({1: 0.1, 16: 0.11}), [FakeRecall(), slow])
    assert not policy.can_pay
    for _ in range(64):
        assert policy.propose(context(), 9) is NO_DRAFT
        policy.observe(Verdict(NO_DRAFT, 0, (1,)), 2.0, 2.0)
    assert policy.can_pay
    assert policy.propose(context(), 9).tokens


def test_a_small_gain_of_a_drafter_is_not_worth_what_changes_of_rows_cost_either() -> None:
    def num_drafts(surplus_s: float) -> int:
        slow = FakeSlow(0.5, STEP_S)
        machine = Machine(slow=slow, surplus_s=surplus_s)
        drafts = []
        for _ in range(150):
            drafts += machine.play(1)
            slow.unread = 50_000  # too much to be asked
            drafts += machine.play(1)
            slow.unread = 1
        return num_drafted(drafts[-200:])

    assert num_drafts(0.0) > 80
    assert num_drafts(0.4) < 20


def test_after_a_burst_of_copying_the_drafter_is_soon_asked_again() -> None:
    recall, slow = recalling(*[0.98] * 15), FakeSlow(0.6, STEP_S)
    machine = Machine(recall, slow)
    machine.play(60)
    recall.tokens, asked = (), len(slow.asked)
    machine.play(25)
    assert len(slow.asked) - asked > 10


# Both


def test_the_drafter_goes_on_from_what_recall_is_sure_of() -> None:
    recall, slow = recalling(0.95, 0.95, 0.05), FakeSlow(0.9, STEP_S)
    drafts = Machine(recall, slow).play(40)
    chained = [draft for draft in drafts if draft.parts[0] == ("recall", 2)]
    assert len(chained) > 35
    for draft in chained:
        assert draft.tokens[:2] == (100, 101)
        assert draft.tokens[2:] == tuple(range(len(draft.tokens) - 2))
        assert draft.parts[1] == ("drafter", len(draft.tokens) - 2)
        assert draft.chances[:3] == (0.95, 0.95, 0.9)
    assert [asked.ahead for asked in slow.asked[:4]] == [()] * 4  # what it can do is found out first
    assert {asked.ahead for asked in slow.asked[4:]} == {(100, 101)}
    assert max(len(draft.tokens) for draft in chained) > 3


def test_the_drafter_begins_itself_where_recall_is_unsure() -> None:
    slow = FakeSlow(0.9, STEP_S)
    drafts = Machine(recalling(0.5, 0.5, 0.5), slow).play(100)
    assert {draft.parts[0][0] for draft in drafts[10:] if draft.tokens} == {"drafter"}
    assert {asked.ahead for asked in slow.asked[10:]} == {()}


def test_recall_goes_alone_where_the_drafter_does_not_pay() -> None:
    recall, slow = recalling(0.9, 0.9), FakeSlow(0.9, step_s=5.0)
    drafts = Machine(recall, slow).play(200)
    assert {draft.parts for draft in drafts if draft.tokens} == {(("recall", 2),)}
    assert slow.asked == []


@given(recalled=st.lists(st.floats(0.01, 0.99), max_size=20), chance=st.floats(0.05, 0.99), longest=st.integers(1, 20))
def test_no_draft_is_longer_than_was_asked_for(recalled: list[float], chance: float, longest: int) -> None:
    policy = DraftPolicy(FixedCosts({1: 1.0, 16: 1.0}), [recalling(*recalled), FakeSlow(chance)])
    for _ in range(6):
        draft = policy.propose(context(), longest)
        assert len(draft.tokens) == len(draft.chances) <= min(longest, USUAL_LENGTH)
        policy.observe(Verdict(draft, 0, (99,)), 1.0, 1.0)


def test_both_hear_of_every_round_and_of_the_end_of_a_reply() -> None:
    recall, slow = recalling(0.9), FakeSlow(0.01, STEP_S)
    machine = Machine(recall, slow)
    machine.play(50)
    machine.policy.end_reply()
    assert len(recall.asked) == len(recall.verdicts) == len(slow.verdicts) == 50
    assert len(slow.asked) < 50
    assert (recall.num_replies, slow.num_replies) == (1, 1)


@pytest.mark.parametrize("chances", [(0.5, 0.5, 0.5), (0.1, 0.9, 0.9)])
def test_a_mediocre_recall_does_not_lock_out_a_good_drafter(chances: tuple[float, ...]) -> None:
    alone, both = Machine(None, FakeSlow(0.9, STEP_S)), Machine(recalling(*chances), FakeSlow(0.9, STEP_S))
    for machine in (alone, both):
        machine.play(600)
    assert both.speed > 0.95 * alone.speed


class Behind(FakeSlow):
    """Has to read what was written while it was not asked."""

    def observe(self, verdict: Verdict) -> None:
        self.unread += len(verdict.tokens)


def test_what_was_written_during_a_rest_does_not_keep_a_drafter_from_being_tried_again() -> None:
    slow = Behind(0.05, STEP_S)
    machine = Machine(None, slow)
    machine.play(600)
    num_before = len(slow.asked)
    slow.chance = 0.9
    drafts = machine.play(300)
    assert len(slow.asked) > num_before
    assert num_drafted(drafts[-100:]) > 80
