"""The head that predicts whether a guess will be accepted."""

from __future__ import annotations

import random

import pytest

from engine.speculation.numerics.acceptance_head import AcceptanceHead, odds_of
from engine.values.draft_policy import KnownHead


def taught(num_guesses: int, tells: float) -> AcceptanceHead:
    """The calibrated chance of all guesses is 0.6; where the feature is 1, it is more by `tells`, where it is -1,
    less."""
    dice, head = random.Random(3), AcceptanceHead(2)
    for _ in range(num_guesses):
        feature = dice.choice((-1.0, 1.0))
        head.note((odds_of(0.6), feature), float(dice.random() < 0.6 + tells * feature))
    return head


def test_it_begins_as_the_calibrated_chance_and_is_not_believed() -> None:
    head = AcceptanceHead(2)
    assert head.chance((odds_of(0.3), 1.0)) == pytest.approx(0.3)
    assert not head.is_better
    assert not taught(200, tells=0.3).is_better


def test_it_learns_what_else_tells_the_chance_and_is_then_believed() -> None:
    head = taught(1500, tells=0.3)
    assert head.is_better
    mine, known = head.known.losses
    assert 1 - mine / known > 0.1
    assert head.chance((odds_of(0.6), 1.0)) == pytest.approx(0.9, abs=0.06)
    assert head.chance((odds_of(0.6), -1.0)) == pytest.approx(0.3, abs=0.06)


def test_where_nothing_else_tells_anything_the_calibrated_chance_decides() -> None:
    assert not taught(1500, tells=0.0).is_better


def test_what_it_has_learned_lasts_where_it_fits() -> None:
    head, later = taught(1500, tells=0.3), AcceptanceHead(2)
    later.know(head.known)
    assert later.is_better
    assert later.chance((odds_of(0.6), 1.0)) == head.chance((odds_of(0.6), 1.0))
    others = AcceptanceHead(3)
    others.know(head.known)
    assert not others.is_better
    hostile = AcceptanceHead(2)
    hostile.know(KnownHead((1e3, -1e3, 1e3), (0.0,) * 3, (0.0, 1e12), 10**12))
    assert 0 < hostile.chance((50.0, 1.0)) < 1
    hostile.note((50.0, 1.0), 0.0)
