"""Who drafts, what it says about itself, and what happens when nobody can."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping

import pytest

from engine.speculation.decoding.speculation import Speculation
from engine.speculation.numerics.draft import NO_DRAFT, Draft, Verdict
from engine.speculation.numerics.draft_length import FixedCosts
from engine.speculation.numerics.sampling import RandomDice
from engine.speculation.proposers.catalogue import DRAFTER, RECALL
from engine.speculation.proposers.draft_policy import DraftPolicy
from engine.speculation.proposers.interface import Context, Proposer, Supplies, Worth
from engine.values.config import SamplingSettings
from engine.values.conversations import ChatTurn, Role
from tests.fakes.proposers import FREE, FakeRecall, FakeSlow, RandomProposer, choosing, drafting
from tests.fakes.target import FakeTarget

CONTEXT = Context((ChatTurn(Role.USER, "Hi"),), [1, 2], 3, 2, SamplingSettings(temperature=0), RandomDice(0))


class Watched:
    """Speculation on a machine with such passes, and all that it says about itself."""

    def __init__(self, costs: Mapping[int, float], *proposers: Proposer) -> None:
        self._costs = FixedCosts(costs)
        self.told: list[str] = []
        policy = DraftPolicy(self._costs, proposers)
        self.speculation = Speculation(policy, lambda changed: self.told.append(changed.state))
        self.speculation.expect([FakeSlow], Supplies(FakeTarget()))
        self.told.clear()

    def play(self, rounds: int, stands: bool) -> None:
        for _ in range(rounds):
            draft = self.speculation.propose(CONTEXT, 9)
            tokens = (*draft.tokens, 99) if stands else (99,)
            pass_s = self._costs.of(len(draft.tokens) + 1)
            self.speculation.observe(Verdict(draft, len(tokens) - 1, tokens), pass_s, pass_s)


def test_nothing_is_drafted_before_a_proposer_is_there() -> None:
    speculation = Speculation(DraftPolicy(FREE, step_s=0.0))
    speculation.expect([RandomProposer], Supplies(FakeTarget()))
    assert speculation.state == "Random is being loaded."
    assert speculation.propose(CONTEXT, 4) is NO_DRAFT
    assert not speculation.is_drafting
    speculation.join(RandomProposer(10))
    assert speculation.is_drafting
    assert speculation.state.startswith("Random is ready.")
    assert max(len(speculation.propose(CONTEXT, 4).tokens) for _ in range(20)) == 4


def test_recall_drafts_before_the_drafter_is_there_and_where_there_is_none() -> None:
    speculation = choosing(FakeRecall((7, 8), (0.9, 0.9)))
    assert speculation.propose(CONTEXT, 4).tokens == (7, 8)
    assert not speculation.is_drafting
    speculation.give_up(DRAFTER, "There is no drafter.")
    assert speculation.propose(CONTEXT, 4).tokens == (7, 8)
    assert speculation.state == "There is no drafter."


def test_a_draft_is_no_longer_than_there_is_room_for() -> None:
    speculation = drafting(RandomProposer(10), length=9)
    assert speculation.propose(CONTEXT, 0) is NO_DRAFT
    assert all(len(speculation.propose(CONTEXT, 2).tokens) <= 2 for _ in range(20))


def test_one_that_is_off_says_why_and_never_drafts() -> None:
    speculation = Speculation.off("Because.")
    speculation.join(RandomProposer(10))
    assert speculation.state == "Because."
    assert speculation.propose(CONTEXT, 4) is NO_DRAFT
    speculation.observe(Verdict(NO_DRAFT, 0, (1,)), 0.1, 0.1)
    speculation.end_reply()
    assert speculation.plain == (0.0, 0.0)


class FailingRecall(FakeRecall):
    def propose(self, context: Context, limit: int, worth: Worth) -> Draft:  # noqa: ARG002
        raise ZeroDivisionError("no recall")


class FailingSlow(FakeSlow):
    def propose(self, context: Context, limit: int, worth: Worth) -> Draft:  # noqa: ARG002
        raise ZeroDivisionError("no drafter")


def test_a_drafter_that_fails_is_left_out_from_then_on_and_recall_is_not(caplog: pytest.LogCaptureFixture) -> None:
    speculation = choosing(FakeRecall((7,), (0.9,)), FailingSlow(0.9))
    with caplog.at_level(logging.CRITICAL):
        assert speculation.propose(CONTEXT, 4) is NO_DRAFT
    assert not speculation.is_drafting
    assert speculation.state.startswith("Drafter failed (ZeroDivisionError)")
    assert speculation.propose(CONTEXT, 4).tokens == (7,)


def test_recall_that_fails_is_left_out_from_then_on_and_the_drafter_is_not(caplog: pytest.LogCaptureFixture) -> None:
    speculation = choosing(FailingRecall(), FakeSlow(0.9))
    with caplog.at_level(logging.CRITICAL):
        assert speculation.propose(CONTEXT, 4) is NO_DRAFT
    assert speculation.state.startswith("Earlier text failed (ZeroDivisionError)")
    assert speculation.propose(CONTEXT, 4).proposer == "drafter"


GENTLE = {1: 1.0, 16: 1.5}


def test_it_says_so_when_checking_guesses_cannot_pay() -> None:
    watched = Watched({1: 1.0, 16: 16.0})
    watched.speculation.join(FakeSlow(0.9, 1.0))
    watched.play(100, stands=True)
    watched.speculation.end_reply()
    assert len(watched.told) == 1  # each change once
    assert watched.told[0].startswith("Nothing is guessed: on this computer, checking guesses costs")


def test_it_says_who_drafts_how_far_and_what_that_brings() -> None:
    watched = Watched(GENTLE, FakeRecall((7, 8, 9), (0.9, 0.9, 0.9)))
    watched.play(31, stands=True)
    assert watched.told == []  # nothing before a while
    watched.play(1, stands=True)
    # Four tokens in a round that takes 1.1 s, where plain decoding takes 1 s for each.
    assert watched.told == ["Guessing 3 ahead: earlier text."]
    slow = Watched(GENTLE)
    slow.speculation.join(FakeSlow(0.9, 0.1))
    slow.play(64, stands=True)
    assert slow.told[-1].endswith(" ahead: drafter.")
    both = Watched(GENTLE, FakeRecall((7, 8), (0.95, 0.95)))
    both.speculation.join(FakeSlow(0.9, 0.1))
    both.play(64, stands=True)
    assert both.told[-1].endswith(" ahead: earlier text and drafter.")


def test_it_says_so_when_drafting_does_not_pay_any_more() -> None:
    watched = Watched(GENTLE)
    slow = FakeSlow(0.9, 0.1)
    watched.speculation.join(slow)
    watched.play(32, stands=True)
    assert watched.speculation.state.endswith(" ahead: drafter.")
    slow.chance = 0.02
    watched.play(200, stands=False)
    assert watched.speculation.state == "Nothing is guessed: too few guesses in this text are right."
    num_told = len(watched.told)
    watched.speculation.end_reply()
    watched.speculation.end_reply()
    assert len(watched.told) == num_told


def test_what_is_wrong_with_the_drafter_is_said_again_when_recall_rests() -> None:
    recall = FakeRecall((7, 8), (0.9, 0.9))
    watched = Watched(GENTLE, recall)
    watched.speculation.give_up(DRAFTER, "The drafter is broken.")
    watched.play(32, stands=True)
    assert watched.told[-1].startswith("Guessing 2 ahead: earlier text.")
    recall.tokens = ()
    watched.play(200, stands=True)
    assert watched.told[-1] == "The drafter is broken."


def test_what_is_wrong_with_one_proposer_does_not_hide_what_is_wrong_with_another() -> None:
    watched = Watched(GENTLE)
    watched.speculation.give_up(RECALL, "Recall is broken.")
    watched.speculation.explain(DRAFTER, "No drafter pays.")
    assert watched.told == ["Recall is broken.", "Recall is broken. No drafter pays."]
    watched.speculation.explain(DRAFTER, "No drafter pays any more.")
    assert watched.told[-1] == "Recall is broken. No drafter pays any more."


def test_a_drafter_that_is_there_after_all_is_complained_about_no_more() -> None:
    watched = Watched(GENTLE, FakeRecall())
    watched.speculation.give_up(DRAFTER, "The drafter is broken.")
    slow = FakeSlow(0.9, 0.1)
    watched.speculation.join(slow)
    slow.chance = 0.02
    watched.play(200, stands=False)
    assert watched.speculation.state == "Nothing is guessed: too few guesses in this text are right."


def test_what_loading_a_drafter_took_beside_it_goes_back_to_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    returned = threading.Event()
    monkeypatch.setattr("engine.speculation.decoding.speculation.return_free_memory", returned.set)
    Speculation(DraftPolicy(FREE)).load([RandomProposer], Supplies(FakeTarget()))
    assert returned.wait(10)


def test_what_is_told_on_demand_is_never_told_after_something_newer() -> None:
    told: list[str] = []
    speculation = Speculation(DraftPolicy(FREE), lambda changed: told.append(changed.state))
    speculation.expect([RandomProposer], Supplies(FakeTarget()))
    joining = threading.Thread(target=lambda: speculation.join(RandomProposer(10)))

    def listen(now: Speculation) -> None:
        state = now.state
        joining.start()
        joining.join(0.2)  # long enough, if nothing held it
        told.append(state)

    speculation.tell(listen)
    joining.join()
    assert told[:-1] == ["Random is being loaded."] * 2
    assert told[-1].startswith("Random is ready")


class Timed(FakeSlow):
    num_timed = 0

    def measure_cost(self) -> float:
        self.num_timed += 1
        return super().measure_cost()


def test_a_step_is_timed_again_after_replies_also_of_a_drafter_that_could_not_pay() -> None:
    watched, slow = Watched(GENTLE), Timed(0.9, 50.0)
    watched.speculation.join(slow)  # beside something else, as it seems
    watched.play(9, stands=True)
    assert slow.asked == []
    slow.step_s = 0.1
    watched.speculation.end_reply()
    assert slow.num_timed == 1
    watched.play(9, stands=True)
    assert slow.asked
    for _ in range(8):
        assert slow.num_timed == 1, "not after every reply"
        watched.speculation.end_reply()
    assert slow.num_timed == 2


def test_a_given_step_is_never_timed() -> None:
    slow = Timed(0.9, 0.1)
    speculation = Speculation(DraftPolicy(FREE, [slow], step_s=0.0))
    speculation.end_reply()
    assert slow.num_timed == 0


def test_how_fast_plain_decoding_is_can_be_asked() -> None:
    watched = Watched(GENTLE)
    watched.play(20, stands=True)
    assert watched.speculation.plain[0] == pytest.approx(1.0)
    watched.speculation.end_reply()
    assert watched.speculation.plain == (0.0, 0.0), "of the next reply nothing is known yet"


def test_once_closed_it_never_drafts_and_nobody_hears_of_it() -> None:
    told: list[str] = []
    speculation = Speculation(DraftPolicy(FREE), on_changed=lambda changed: told.append(changed.state))
    speculation.close()
    speculation.join(RandomProposer(10))
    speculation.give_up(DRAFTER, "Too late.")
    speculation.observe(Verdict(NO_DRAFT, 0, (1,)), 0.1, 0.1)
    speculation.end_reply()
    assert speculation.propose(CONTEXT, 4) is NO_DRAFT
    assert not speculation.is_drafting
    assert not told


class FailingWhenTold(FakeSlow):
    def observe(self, verdict: Verdict) -> None:  # noqa: ARG002
        raise ZeroDivisionError("nothing to learn")


class FailingAtTheEnd(FakeSlow):
    def end_reply(self) -> None:
        raise ZeroDivisionError("nothing to keep")


class FailingWhenCounted(FakeSlow):
    def num_unread(self, context: Context) -> int:  # noqa: ARG002
        raise ZeroDivisionError("nothing to count")


@pytest.mark.parametrize("slow", [FailingWhenTold(0.9), FailingAtTheEnd(0.9), FailingWhenCounted(0.9)])
def test_whatever_fails_of_a_drafter_the_reply_goes_on_with_recall(
    slow: FakeSlow, caplog: pytest.LogCaptureFixture
) -> None:
    speculation = choosing(FakeRecall((7,), (0.9,)), slow)
    with caplog.at_level(logging.CRITICAL):
        for _ in range(2):
            draft = speculation.propose(CONTEXT, 4)
            speculation.observe(Verdict(draft, len(draft.tokens), (*draft.tokens, 1)), 0.1, 0.1)
            speculation.end_reply()
    assert not speculation.is_drafting
    assert speculation.propose(CONTEXT, 4).tokens == (7,)
