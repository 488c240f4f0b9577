"""The command that attacks the app. The attacks themselves take minutes, and are no part of the tests."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

from tests.attacks import __main__ as command
from tests.attacks import soak
from tests.attacks.attack import Attack, Outcome
from tests.attacks.catalogue import ATTACKS
from tests.benchmarks.heartbeat import Heartbeat

_LEAVES_ONE = """
import subprocess, sys
nap = [sys.executable, "-c", "import time; time.sleep(600)"]
print(subprocess.Popen(nap, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True).pid)
"""


def test_every_attack_can_be_named_and_has_tries() -> None:
    assert all(find_spec(f"tests.attacks.{name}") for name in ATTACKS)
    assert all(each.about and each.count > 0 for each in ATTACKS.values())


def test_the_page_of_promises_says_what_each_attack_tries() -> None:
    told = (
        (Path(__file__).parents[2] / "docs/security.md").read_text("utf-8").partition("**What tries each promise**")[2]
    )
    assert {*re.findall(r"`(\w+)`", told)} == {*ATTACKS}


def test_a_try_that_fails_and_a_process_that_dies_fail_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "ATTACKS", {"no_such_attack": Attack("no_such_attack", "nothing", 1)})
    monkeypatch.setattr("sys.argv", ["attacks"])
    assert command.main() == 1
    assert "1 of 1 failed" in capsys.readouterr().out
    monkeypatch.setattr(command, "_in_process", lambda *_told: Outcome(2, figures={"memory": "3 MB over idle"}))
    assert command.main() == 0
    assert "2 held · memory: 3 MB over idle" in capsys.readouterr().out


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere, only those are reached whose parents still live")
def test_what_an_attack_leaves_running_ends_also_in_a_session_of_its_own() -> None:
    with command._alone():
        told = subprocess.run([sys.executable, "-c", _LEAVES_ONE], check=True, capture_output=True, text=True)
        assert psutil.pid_exists(int(told.stdout))
    assert not psutil.pid_exists(int(told.stdout))


def _looks(growth: float, wild: int | None = None) -> list[soak.Look]:
    """Of 20 blocks of 100 replies: what is held between them swings by a fifth, and grows over all by `growth`."""
    looks = []
    for reply in range(10, 2001, 10):
        is_alike, block = reply % 100 in (30, 40, 50), reply // 100
        memory = 600e6 * (1 + growth * reply / 2000) * (1 if is_alike else 1.2 if reply % 20 else 0.8)
        looks.append(soak.Look(reply, int(memory * (2 if block == wild else 1)), 20, 15, 0, is_alike))
    return looks


@pytest.mark.parametrize(
    ("growth", "wild", "is_within"), [(0.0, None, True), (0.05, 19, True), (0.08, None, False), (0.08, 5, False)]
)
def test_growth_in_the_soak_is_what_looks_at_the_same_phase_show(
    growth: float, wild: int | None, is_within: bool
) -> None:
    outcome = Outcome(2000)
    soak._judge(outcome, _looks(growth, wild))
    assert (not outcome.failures) == is_within


@pytest.mark.usefixtures("qapp")
def test_a_thread_that_never_came_to_beat_was_held_all_the_time() -> None:
    heartbeat = Heartbeat()
    heartbeat.start()
    time.sleep(0.02)
    heartbeat.stop()
    assert heartbeat.longest_ms() > 15
