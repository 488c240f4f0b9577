"""The runs of the judge that are drawn from scored replies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.benchmarks import judging
from tests.benchmarks.judging import Scores, better_by, main, run_of, taught


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
    better = [run_of(better_by(scores, 0.1), random) for _ in range(10)]
    assert all(run.proven_after is not None and run.saved > 0.05 for run in better)
    worse = run_of(taught(scores, scores.misled), random)
    assert worse.proven_after is None
    assert worse.started_over_after is not None
    assert worse.saved < 0, "it cost rounds"


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
    assert "shuffled         claimed in   0.0% of runs; started over in 100.0%" in told
    assert "foreign          claimed in   0.0% of runs; started over in 100.0%" in told
    assert "better by 10%    claimed in 100.0% of runs" in told
