"""A clock that only goes on when it is told to."""

from __future__ import annotations

import pytest


class FakeClock:
    """Stands in for the machine's clock behind `engine.values.clock` until the test ends."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._seconds = 0.0
        monkeypatch.setattr("engine.values.clock.perf_counter", lambda: self._seconds)
        monkeypatch.setattr("engine.values.clock._hidden_s", 0.0)

    def spend(self, seconds: float) -> None:
        self._seconds += seconds
