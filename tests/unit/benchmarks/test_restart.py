from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.speculation.decoding.figures import DecodingFigures
from tests.benchmarks.restart import COLD, SECOND, WARM, Written, compare, distance, means_of


class FakeStart:
    """Implements `tests.benchmarks.restart.Start`: drafted replies get quicker with every one that it knows of."""

    def __init__(self, folder: Path) -> None:
        self._kept = folder / "kept"
        self.num_known = int(self._kept.read_text()) if self._kept.exists() else 0

    def ask(self, prompt: str, speculate: bool = True, incognito: bool = True) -> Written:  # noqa: ARG002
        seconds = 10.0 / (1 + min(self.num_known, 4)) if speculate else 10.0
        self.num_known += speculate
        if not incognito:
            self._kept.write_text(str(self.num_known))
        figures = DecodingFigures(num_written=100, passes=Counter({1: round(10 * seconds)}))
        figures.pass_s[1] = seconds
        return Written(100 / seconds, figures)


@contextmanager
def fake_start(folder: Path) -> Iterator[FakeStart]:
    folder.mkdir(exist_ok=True)
    yield FakeStart(folder)


@contextmanager
def forgetful_start(folder: Path) -> Iterator[FakeStart]:
    folder.mkdir(exist_ok=True)
    start = FakeStart(folder)
    start.num_known = 0
    yield start


def test_a_start_that_kept_what_was_learned_is_as_quick_as_a_warm_one(tmp_path: Path) -> None:
    found = compare(fake_start, tmp_path, ["a", "b", "c", "d"], ["e", "f"])
    assert [reply.measured for reply in found[COLD]] == pytest.approx([1.0, 1.0])
    assert [reply.measured for reply in found[SECOND]] == pytest.approx([5.0, 5.0]), "each is the first of its start"
    assert [reply.measured for reply in found[WARM]] == pytest.approx([5.0, 5.0])
    assert found[WARM][0].counted(means_of(found)) == pytest.approx(5.0)
    assert distance(found) == pytest.approx(0.0)


def test_one_that_forgot_it_is_not(tmp_path: Path) -> None:
    found = compare(forgetful_start, tmp_path, ["a", "b", "c", "d"], ["e"])
    assert distance(found) == pytest.approx(1 / 5 - 1)
