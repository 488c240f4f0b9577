from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import pytest

import engine.loading
from engine.speculation.model.interface import BranchingTarget, Target, TargetFeature
from engine.speculation.model.llama.passes import tested_features
from engine.speculation.numerics.draft_length import PassCosts
from engine.speculation.numerics.vocabulary_map import VocabularyMap, open_map
from engine.speculation.proposers.costs import measure_passes
from engine.values.draft_policy import KnownCosts
from engine.values.stop_signal import StopSignal
from tests.fakes.thinker import Thinker

_found: dict[object, frozenset[TargetFeature]] = {}  # by file and limits
_measured: dict[object, PassCosts] = {}
_maps: dict[tuple[str, str], VocabularyMap] = {}


@pytest.fixture(autouse=True)
def _patient_closing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here it counts that everything ends. The benchmark measures whether this takes two seconds on a quiet machine."""
    monkeypatch.setattr("engine.threads._CLOSING_PATIENCE_S", 20.0)


@pytest.fixture(autouse=True)
def _known_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading the same file again takes half the time: what it can do, what its passes cost and how its tokens are
    written with the drafter's is found out once for all tests."""

    def test_once(target: BranchingTarget, longest_draft: int, stop: StopSignal) -> frozenset[TargetFeature]:
        key = _file_of(target), target.limits
        if key not in _found:
            _found[key] = tested_features(target, longest_draft, stop)
        return _found[key]

    def measure_once(target: Target, stop: StopSignal, known: KnownCosts | None = None) -> PassCosts:
        key = _file_of(target), target.limits
        if key not in _measured:
            _measured[key] = measure_passes(target, stop)
        passes = deepcopy(_measured[key])
        if known is not None:
            passes.know(known)
        return passes

    def open_once(folder: Path, target: str, drafter: str, build: Callable[[], VocabularyMap]) -> VocabularyMap:
        if (target, drafter) not in _maps:
            _maps[target, drafter] = open_map(folder, target, drafter, build)
        return _maps[target, drafter]

    monkeypatch.setattr("engine.speculation.model.llama.llama_cpp.tested_features", test_once)
    monkeypatch.setattr("engine.loading.measure_passes", measure_once)
    monkeypatch.setattr("engine.speculation.proposers.drafting.open_map", open_once)


def _file_of(target: Target) -> object:
    path = target.description.path
    return path, path.stat().st_mtime_ns if path.exists() else 0


@pytest.fixture
def thinker(monkeypatch: pytest.MonkeyPatch) -> Thinker:
    """In place of every target that is loaded."""
    target = Thinker()
    monkeypatch.setattr(engine.loading, "load_target", lambda *_arguments: target)
    return target
