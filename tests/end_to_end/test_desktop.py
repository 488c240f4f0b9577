"""Starting the app a second time, by hand or by a double-click, while it is open: two real processes."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.backend.storage import Repository
from engine.speculation.model.files.sources import starter_path
from engine.values.config import data_dir
from tests.end_to_end.test_command_line import own_words

pytestmark = [pytest.mark.starter, pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")]
_PATIENCE_S = 60
_COMMAND = [sys.executable, "-m", "app"]


@pytest.fixture
def first() -> Iterator[subprocess.Popen[str]]:
    """The window, open and listening."""
    lock = data_dir() / "running.lock"
    process = subprocess.Popen(_COMMAND, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: lock.exists() and bool(lock.read_text()))
    yield process
    if process.poll() is None:
        process.kill()
        process.communicate()


def wait_for(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + _PATIENCE_S
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


def start_again(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*_COMMAND, *arguments], capture_output=True, text=True, timeout=_PATIENCE_S, check=False)


def known_targets() -> set[str]:
    store = Repository.open(data_dir())
    try:
        return {target.path.name for target in store.list_targets()}
    finally:
        store.close()


def test_further_starts_are_taken_over_by_the_first(first: subprocess.Popen[str], tmp_path: Path) -> None:
    model = tmp_path / "opened-by-a-double-click.gguf"
    model.symlink_to(starter_path())
    second = start_again(str(model))
    assert (second.returncode, second.stderr) == (0, "")
    assert "is open already" in second.stdout
    wait_for(lambda: model.name in known_targets())

    first.send_signal(signal.SIGSTOP)
    third = start_again()
    assert third.returncode == 2
    assert "does not answer" in third.stderr
    assert third.stderr.count("\n") == 1

    first.send_signal(signal.SIGCONT)
    first.send_signal(signal.SIGINT)
    out, err = first.communicate(timeout=_PATIENCE_S)
    assert (first.returncode, out, own_words(err)) == (0, "", "")
    assert not (data_dir() / "running.sock").exists()
    assert list((data_dir() / "crashes").iterdir()) == [], "an end in good order is no crash"


def test_a_file_that_is_not_there_is_one_sentence() -> None:
    result = start_again("/nowhere/x.gguf")
    assert (result.returncode, result.stderr) == (2, "There is no file /nowhere/x.gguf; check its name.\n")
