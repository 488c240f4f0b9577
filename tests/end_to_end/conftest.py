from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _patient_closing(monkeypatch: pytest.MonkeyPatch) -> None:
    """That everything ends is what counts here; that it takes two seconds on a machine that does nothing else is
    measured by the benchmark."""
    monkeypatch.setattr("engine.threads._CLOSING_PATIENCE_S", 20.0)
