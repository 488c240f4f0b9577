"""The runs of the judge that are drawn from scored replies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.speculation.learning.judge import Ruling
from tests.benchmarks import judging
from tests.benchmarks.judging import Scores, candidate_of, ended_after, harmful, main, taught_candidate

PUBLISHED, RETURNED = frozenset({Ruling.PUBLISHED}), frozenset({Ruling.RESET, Ruling.RETURNED})


@pytest.fixture
def scores() -> Scores:
    """Drafters whose rounds differ by 4 of 100 in a reply."""
    random = np.random.default_rng(0)
    original = 100 + 10 * random.standard_normal(50)
    taught = original + 4 * random.standard_normal(50)
    worse = [original * random.uniform(1, 1.2, 50) for _ in range(2)]
    return Scores(np.full(50, 200.0), original, taught, *worse)


def test_runs_end_as_what_they_are_drawn_from_says(scores: Scores, tmp_path: Path) -> None:
    scores.save(tmp_path / "scores.npz")
    scores = Scores.read(tmp_path / "scores.npz")
    random = np.random.default_rng(1)
    better = [ended_after(candidate_of(scores, 0.1), random, PUBLISHED) for _ in range(10)]
    assert all(end is not None and end[0] < 30 for end in better)
    assert ended_after(taught_candidate(scores, scores.misled), random, PUBLISHED) is None
    end = ended_after(harmful(scores, 0.1), random, RETURNED)
    assert end is not None
    assert end[1] > 0, "it cost rounds"


def test_figures_are_printed_or_a_reason_why_not(
    scores: Scores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["judging", "--data", str(tmp_path)])
    main()
    assert capsys.readouterr().out.startswith("skipped: ")
    scores.save(tmp_path / "scores.npz")
    monkeypatch.setattr(judging, "_MOST_REPLIES", 60)
    monkeypatch.setattr("sys.argv", ["judging", "--scores", str(tmp_path / "scores.npz"), "--runs", "4"])
    main()
    told = capsys.readouterr().out
    assert "published: shuffled             0.0% of runs" in told
    assert "published: foreign              0.0% of runs" in told
    assert "published: better by 10%      100.0% of runs" in told
