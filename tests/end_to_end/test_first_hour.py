"""The first hour of somebody who has just installed the app, in a process of its own (`tests/first_hour`)."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.starter
_PATIENCE_S = 550  # on a busy machine


@pytest.mark.timeout(600)
def test_nothing_is_wrong_in_the_first_hour() -> None:
    gone = subprocess.run(
        [sys.executable, "-m", "tests.first_hour", "--offscreen"],
        capture_output=True,
        text=True,
        timeout=_PATIENCE_S,
        check=False,
    )
    assert gone.returncode == 0, gone.stdout + gone.stderr
    assert gone.stdout.splitlines()[-1].endswith(": 0 defects.")
