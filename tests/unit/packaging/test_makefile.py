"""What `make setup` would do, without doing it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from engine.speculation.model.llama.extensions import options_for

ROOT = Path(__file__).parents[3]
SETUP_FILES = "packaging", "app/startup", "engine/speculation/model"
SCRIPT = ROOT / "engine/speculation/model/llama/extensions.py"

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Set up for the CPU that it is on."""
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    for name in SETUP_FILES:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / ".venv").mkdir()
    here = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=True).stdout
    (tmp_path / ".venv/llama-cpp-options").write_text(here)
    (tmp_path / ".venv/.installed").touch()
    return tmp_path


def planned(checkout: Path, what: str) -> str:
    command = ["make", "--no-print-directory", "--dry-run", f"PYTHON={sys.executable}", what]
    own = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}  # `make test` sets more
    return subprocess.run(command, cwd=checkout, env=own, capture_output=True, text=True, check=True).stdout


def test_nothing_is_set_up_again_on_the_same_cpu(checkout: Path) -> None:
    assert "setup.sh" not in planned(checkout, "setup")
    assert "setup.sh" not in planned(checkout, "run")


@pytest.mark.parametrize("what", ["setup", "run"])
def test_another_cpu_sets_up_again(checkout: Path, what: str) -> None:
    (checkout / ".venv/llama-cpp-options").write_text(options_for(["sse2"]) + "\n")
    assert "packaging/setup.sh .venv" in planned(checkout, what)


def test_an_environment_without_a_record_sets_up_again(checkout: Path) -> None:
    record = checkout / ".venv/llama-cpp-options"
    if record.read_text().strip():  # else llama.cpp chooses on this system
        record.unlink()
        assert "packaging/setup.sh .venv" in planned(checkout, "setup")
