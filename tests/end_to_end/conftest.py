from __future__ import annotations

import pytest

import engine.loading
from tests.fakes.thinker import Thinker


@pytest.fixture(autouse=True)
def _patient_closing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here it counts that everything ends. The benchmark measures whether this takes two seconds on a quiet machine."""
    monkeypatch.setattr("engine.threads._CLOSING_PATIENCE_S", 20.0)


@pytest.fixture
def thinker(monkeypatch: pytest.MonkeyPatch) -> Thinker:
    """In place of every target that is loaded."""
    target = Thinker()
    monkeypatch.setattr(engine.loading, "load_target", lambda *_arguments: target)
    return target
