from __future__ import annotations

import pytest

from engine.values import clock
from tests.fakes.clock import FakeClock


def test_what_is_hidden_takes_no_time_and_all_else_does(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = FakeClock(monkeypatch)
    began = clock.now()
    for _ in range(2):
        machine.spend(1)
        with clock.hidden():
            machine.spend(10)
    assert clock.now() - began == 2


def test_it_goes_on_after_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = FakeClock(monkeypatch)

    def fail() -> None:
        with clock.hidden():
            machine.spend(10)
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        fail()
    machine.spend(1)
    assert clock.now() == 1


def test_it_is_the_machines() -> None:
    began = clock.now()
    while clock.now() == began:
        pass
    assert clock.now() > began
