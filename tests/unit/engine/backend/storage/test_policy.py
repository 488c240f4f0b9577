"""What the draft policy knows: kept for a target, a build and a number of threads, and read where it makes sense."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from engine.backend.storage import Repository
from engine.values.draft_policy import KnownChances, KnownCosts, KnownStanding, LearnedPolicy, SpanCosts

TARGET, BUILD = "file:" + "7a" * 32, "llama-cpp-python 1.2.3 AVX2"
SPAN = SpanCosts(0.007, (1.0, 1.5, 1.75), (20.0, 2.0, 0.0))
STANDING = KnownStanding(40, 1.25, 0.004, (0.5, 0.25))
POLICY = LearnedPolicy(
    KnownCosts({0: SPAN, 3: SPAN}, 0.0005), {"recall": KnownChances((1.5,), (8.0,))}, {"the starter": STANDING}
)


def test_what_is_known_is_read_again_after_a_restart(
    repository: Repository, open_repository: Callable[[], Repository]
) -> None:
    assert repository.learned_policy(TARGET, BUILD, 2) is None
    repository.save_policy(TARGET, BUILD, 2, LearnedPolicy(KnownCosts({})))
    repository.save_policy(TARGET, BUILD, 2, POLICY)
    repository.close()
    reopened = open_repository()
    assert reopened.learned_policy(TARGET, BUILD, 2) == POLICY
    assert reopened.learned_policy(TARGET, BUILD, 4) is None
    assert reopened.learned_policy(TARGET, "another build", 2) is None
    assert reopened.learned_policy("file:" + "0b" * 32, BUILD, 2) is None


def test_passes_are_told_of_all_targets_with_the_threads_that_are_fastest(repository: Repository) -> None:
    slower = LearnedPolicy(KnownCosts({0: SpanCosts(0.009, (1.0,), (1.0,)), 3: SpanCosts(0.001, (1.0,), (1.0,))}))
    for threads, pace in ((1, slower), (2, POLICY), (4, LearnedPolicy(KnownCosts({})))):
        repository.save_policy(TARGET, BUILD, threads, pace)
    repository.save_policy("file:" + "0b" * 32, "another build", 2, POLICY)
    assert {identity: passes[1] for identity, passes in repository.measured_passes(BUILD).items()} == {TARGET: 0.007}


def _with(path: str, value: object) -> str:
    """The pace as JSON with another value at that place."""
    pace: dict[str, Any] = {
        "costs": {"spans": {"0": {"single_s": 0.007, "multiples": [1.0], "weights": [1.0]}}, "change_s": 0.0},
        "chances": {"recall": {"accepted": [1.0], "tried": [8.0]}},
        "standings": {},
    }
    place, *names = pace, *path.split(".")
    for name in names[:-1]:
        place = place[name]
    place[names[-1]] = value
    return json.dumps(pace)


@pytest.mark.parametrize(
    "damaged",
    [
        "",
        "{",
        "[]",
        _with("costs.spans.0.single_s", 0.0),
        _with("costs.spans.0.single_s", 1e9),
        _with("costs.spans.0.single_s", float("nan")),
        _with("costs.spans.0.multiples", [1e30]),
        _with("costs.spans.0.multiples", [1.0] * 100_000),
        _with("costs.change_s", -1.0),
        _with("chances.recall.tried", ["many"]),
        _with("chances.recall.accepted", [float("inf")]),
        _with("standings.starter", {}),
        " " * 2_000_000,
    ],
)
def test_what_is_damaged_is_learned_anew(repository: Repository, tmp_path: Path, damaged: str) -> None:
    repository.save_policy(TARGET, BUILD, 2, POLICY)
    with closing(sqlite3.connect(next(tmp_path.rglob("*.sqlite3")))) as connection:
        connection.execute("UPDATE known_pace SET pace = ?", (damaged,))
        connection.commit()
    assert repository.learned_policy(TARGET, BUILD, 2) is None
