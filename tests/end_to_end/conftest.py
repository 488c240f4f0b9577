from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _patient_closing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here it counts that everything ends. The benchmark measures whether this takes two seconds on a quiet machine."""
    monkeypatch.setattr("engine.threads._CLOSING_PATIENCE_S", 20.0)
