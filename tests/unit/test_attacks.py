"""The command that attacks the app. The attacks themselves take minutes, and are no part of the tests."""

from __future__ import annotations

import pytest

from tests.attacks import __main__ as command
from tests.attacks.attack import Attack, Outcome, Plan
from tests.attacks.catalogue import NAMES, attack


def test_every_attack_can_be_named_and_has_tries() -> None:
    found = [attack(name) for name in NAMES]
    assert all(each.about and each.count > 0 for each in found)


def test_a_try_that_fails_and_a_process_that_dies_fail_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(_plan: Plan) -> Outcome:
        raise AssertionError("runs in a process of its own")

    monkeypatch.setattr(command, "NAMES", ("no_such_attack",))
    monkeypatch.setattr(command, "attack", lambda _name: Attack("nothing", 1, never))
    monkeypatch.setattr("sys.argv", ["attacks"])
    assert command.main() == 1
    assert "1 of 1 failed" in capsys.readouterr().out
    monkeypatch.setattr(command, "_in_process", lambda *_told: Outcome(2, figures={"memory": "3 MB over idle"}))
    assert command.main() == 0
    assert "2 held · memory: 3 MB over idle" in capsys.readouterr().out
