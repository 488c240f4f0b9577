"""How the figures change from one stretch of replies to the next."""

from __future__ import annotations

from collections import Counter

import pytest

from engine.lab.measuring.bench import ModeComparison
from engine.lab.measuring.measurement import windows
from engine.lab.measuring.modes import ModeAnswer
from engine.lab.measuring.prompts import BenchQuestion
from engine.speculation.decoding.figures import DecodingFigures, ProposerFigures
from engine.values.conversations import ChatTurn, Role
from tests.unit.engine.lab.measuring.made import answer, drafted


def recalled(num_accepted: int) -> DecodingFigures:
    """10 tokens, of 6 that were checked so many stood."""
    return DecodingFigures(
        num_rounds=10 - num_accepted,
        num_written=10,
        num_drafted=6,
        num_accepted=num_accepted,
        checked=Counter({1: 4, 2: 2}),
        by_proposer={"recall": ProposerFigures(4, 6, num_accepted)},
    )


def comparisons(*answers: ModeAnswer, plain: bool = True) -> list[ModeComparison]:
    question = BenchQuestion("a", "", (ChatTurn(Role.USER, "Hi."),))
    of_plain = {"plain": answer(2.0, tuple(range(10)))} if plain else {}
    return [ModeComparison(question, {**of_plain, "auto": each}, {}) for each in answers]


def test_each_stretch_has_its_own_figures() -> None:
    answers = [answer(wall_s, figures=recalled(stood)) for wall_s, stood in ((2.0, 0), (2.0, 0), (1.0, 5), (1.5, 5))]
    first, second = windows("auto", comparisons(*answers), size=2)
    assert (first["from"], first["to"], second["from"], second["to"]) == (1, 2, 3, 4)
    assert (first["acceptance"], second["acceptance"]) == (0.0, pytest.approx(10 / 12, abs=1e-4))
    assert (first["tokens_per_round"], second["tokens_per_round"]) == (1.0, 2.0)
    assert (first["guessed_share"], second["guessed_share"]) == (0.0, 0.5)
    assert second["accepted_by_proposer"] == {"recall": 10}
    assert (first["ratio_to_plain"], second["ratio_to_plain"]) == (1.0, 1.6)  # 4 s over 2.5 s, as many tokens


def test_the_last_stretch_may_be_shorter_and_proposers_are_told_apart() -> None:
    stretches = windows("auto", comparisons(*(answer(figures=drafted()) for _ in range(3))), size=2)
    assert [(stretch["from"], stretch["to"]) for stretch in stretches] == [(1, 2), (3, 3)]
    both = windows("auto", comparisons(answer(figures=drafted()), answer(figures=recalled(2))), size=2)
    assert both[0]["accepted_by_proposer"] == {"drafter": 6, "recall": 2}


def test_what_cannot_be_said_is_left_open() -> None:
    (stretch,) = windows("auto", comparisons(answer(0.0, ()), plain=False), size=5)
    assert stretch["acceptance"] is None
    assert stretch["guessed_share"] is None
    assert stretch["ratio_to_plain"] is None
    assert windows("auto", [], size=5) == []
