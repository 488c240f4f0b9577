"""Who drafts, and what happens when nobody can."""

from __future__ import annotations

import logging

import pytest

from engine.config import SamplingSettings
from engine.numerics.dice import RandomDice
from engine.numerics.draft import NO_DRAFT, Draft, Verdict
from engine.numerics.draft_length import FixedCosts
from engine.pace import Pace
from engine.proposers.interface import Context
from engine.records import ChatTurn, Role
from engine.speculation import Speculation
from tests.fakes.proposers import RandomProposer, SteadyPace

CONTEXT = Context((ChatTurn(Role.USER, "Hi"),), [1, 2], 3, 2, SamplingSettings(temperature=0), RandomDice(0))


def test_nothing_is_drafted_before_a_proposer_is_there() -> None:
    speculation = Speculation(SteadyPace(4))
    assert speculation.propose(CONTEXT, 4) is NO_DRAFT
    assert not speculation.is_drafting
    speculation.begin(RandomProposer(10), 0.001)
    assert speculation.is_drafting
    assert speculation.state.startswith("Drafting ahead")
    assert max(len(speculation.propose(CONTEXT, 4).tokens) for _ in range(20)) == 4


def test_a_draft_is_no_longer_than_there_is_room_for() -> None:
    speculation = Speculation(SteadyPace(9), RandomProposer(10))
    assert speculation.propose(CONTEXT, 0) is NO_DRAFT
    assert all(len(speculation.propose(CONTEXT, 2).tokens) <= 2 for _ in range(20))


def test_one_that_is_off_says_why_and_never_drafts() -> None:
    speculation = Speculation.off("Because.")
    assert speculation.state == "Because."
    assert speculation.propose(CONTEXT, 4) is NO_DRAFT
    speculation.observe(Verdict(NO_DRAFT, 0, (1,)), 0.0, 0.1)
    speculation.end_reply()


class Failing(RandomProposer):
    def propose(self, context: Context, limit: int) -> Draft:  # noqa: ARG002
        raise ZeroDivisionError("no drafter")


def test_a_proposer_that_fails_is_left_out_from_then_on(caplog: pytest.LogCaptureFixture) -> None:
    speculation = Speculation(SteadyPace(4), Failing(10))
    with caplog.at_level(logging.CRITICAL):
        assert speculation.propose(CONTEXT, 4) is NO_DRAFT
    assert not speculation.is_drafting
    assert "ZeroDivisionError" in speculation.state
    assert speculation.propose(CONTEXT, 4) is NO_DRAFT


def test_it_says_so_when_drafting_cannot_pay_or_does_not_pay_any_more() -> None:
    told: list[str] = []

    def speculation(costs: dict[int, float]) -> Speculation:
        return Speculation(Pace(FixedCosts(costs)), on_changed=lambda changed: told.append(changed.state))

    speculation({1: 1.0, 16: 16.0}).begin(RandomProposer(10), 1.0)
    assert told[-1].startswith("Not drafting")
    flat = speculation({1: 1.0, 16: 1.0})
    flat.begin(RandomProposer(10), 0.2)
    assert told[-1].startswith("Drafting ahead")
    for _ in range(200):
        draft = flat.propose(CONTEXT, 4)
        flat.observe(Verdict(draft, 0, (1,)), 0.2 * len(draft.tokens), 1.0)
    flat.end_reply()
    flat.end_reply()
    assert told[-1].startswith("Drafting pauses")
    assert len(told) == 3  # each change once


def test_once_closed_it_never_drafts_and_nobody_hears_of_it() -> None:
    told: list[str] = []
    speculation = Speculation(SteadyPace(4), on_changed=lambda changed: told.append(changed.state))
    speculation.close()
    speculation.begin(RandomProposer(10), 0.001)
    speculation.give_up("Too late.")
    assert not speculation.is_drafting
    assert not told
