"""Two starts at once, each with a file to open: real processes, one window. In every fourth try the first is killed at
a random moment."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from engine.backend.storage import FILE_NAME, Repository
from engine.values.config import DATA_DIR_VARIABLE
from engine.values.conversations import Role
from tests.attacks.attack import Outcome, Plan
from tests.attacks.desk import Desk

_PATIENCE_S = 60.0
_FOLDER = "store"  # where the window looks for it in the end
_TITLE = "from before"


class _Starts:
    """The processes of one try."""

    def __init__(self, folder: Path, words: list[str]) -> None:
        self._folder = folder
        self.files = [folder.parent / f"{word}.txt" for word in words]
        for file, word in zip(self.files, words, strict=True):
            file.write_text(f"This is {word}.")
        self.running: list[subprocess.Popen[str]] = []

    def start(self) -> subprocess.Popen[str]:
        file = self.files[len(self.running)]
        environment = {**os.environ, DATA_DIR_VARIABLE: str(self._folder), "QT_QPA_PLATFORM": "offscreen"}
        command = [sys.executable, "-m", "app", str(file)]
        self.running.append(
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        )
        return self.running[-1]

    @property
    def alive(self) -> list[subprocess.Popen[str]]:
        return [process for process in self.running if process.poll() is None]

    def is_listening(self) -> bool:
        lock = self._folder / "running.lock"
        return lock.exists() and bool(lock.read_text())

    def draft(self) -> str:
        """What is in the box of the window, as it was saved."""
        try:
            return str(json.loads((self._folder / "settings.json").read_text()).get("draft", ""))
        except (OSError, ValueError):
            return ""


@contextmanager
def _starts(folder: Path, words: list[str]) -> Iterator[_Starts]:
    starts = _Starts(folder, words)
    try:
        yield starts
    finally:
        for process in starts.alive:
            process.kill()
        for process in starts.running:
            process.communicate()


def _comes(is_so: Callable[[], bool]) -> bool:
    end = time.monotonic() + _PATIENCE_S
    while not is_so():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def run(plan: Plan) -> Outcome:
    outcome = Outcome()
    folder = plan.folder / _FOLDER
    with closing(Repository.open(folder)) as repository:
        chat = repository.create_conversation(_TITLE, "")
        repository.add_message(chat.id, None, Role.USER, "Hi")
    num_taken_over = 0
    for number in range(plan.count):
        dice = plan.dice(number)
        (folder / "settings.json").write_text('{"version": 1, "has_chatted": true}')
        with _starts(folder, [f"word{number}x{place}" for place in range(3)]) as starts:
            if number % 4 == 3:
                num_taken_over += _kill_the_first(number, dice, starts, outcome)
            else:
                _start_both(number, dice, starts, outcome)
            _close(number, starts, outcome)
        _check_store(number, folder, outcome)
        outcome.tried += 1
    with Desk(plan.folder) as desk, desk.watching() as held:
        outcome.check(bool(desk.ask("Name two colours.")), "the window does not answer afterwards")
    outcome.check(held.is_within_bar, f"the interface thread was {held}")
    outcome.figures = {"killed": f"{plan.count // 4}, {num_taken_over} taken over", "interface": str(held)}
    return outcome


def _start_both(number: int, dice: random.Random, starts: _Starts, outcome: Outcome) -> None:
    starts.start()
    time.sleep(dice.choice([0.0, dice.uniform(0.0, 0.5), dice.uniform(0.5, 4.0)]))
    starts.start()
    is_one = _comes(lambda: len(starts.alive) <= 1)
    outcome.check(is_one and len(starts.alive) == 1, f"{number}: {len(starts.alive)} windows are open")
    for process in starts.running:
        if process.poll() is not None:
            said, complaints = process.communicate()
            is_so = process.returncode == 0 and "is open already" in said
            outcome.check(is_so, f"{number}: ended with {process.returncode}: {said} {complaints[-500:]}")
    words = [file.stem for file in starts.files[:2]]
    outcome.check(
        _comes(lambda: all(word in starts.draft() for word in words)), f"{number}: a file to open is lost: {words}"
    )


def _kill_the_first(number: int, dice: random.Random, starts: _Starts, outcome: Outcome) -> bool:
    """Whether the second start took over."""
    first = starts.start()
    time.sleep(dice.uniform(0.0, 1.0))
    second = starts.start()
    time.sleep(dice.uniform(0.0, 5.0))
    first.kill()
    first.wait()
    word = starts.files[1].stem
    _comes(lambda: second.poll() is not None or (starts.is_listening() and word in starts.draft()))
    if second.poll() is None:
        outcome.check(word in starts.draft(), f"{number}: the second start does not take over")
        return True
    outcome.check(second.returncode == 0, f"{number}: the second start ended with {second.returncode}")
    third = starts.start()  # the second had handed its file over before
    word = starts.files[2].stem
    is_open = _comes(lambda: third.poll() is not None or word in starts.draft())
    outcome.check(is_open and third.poll() is None, f"{number}: no window can be opened afterwards")
    return False


def _close(number: int, starts: _Starts, outcome: Outcome) -> None:
    for process in starts.alive:
        process.send_signal(signal.SIGINT)
        outcome.check(_comes(lambda: process.poll() is not None), f"{number}: the window does not close")  # noqa: B023
        outcome.check(process.returncode == 0, f"{number}: the window ended with {process.returncode}")


def _check_store(number: int, folder: Path, outcome: Outcome) -> None:
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection:
        found = connection.execute("PRAGMA integrity_check").fetchall()
        outcome.check(found == [("ok",)], f"{number}: {found[:2]}")
        titles = [title for (title,) in connection.execute("SELECT title FROM conversations")]
        outcome.check(titles == [_TITLE], f"{number}: the chats are {titles}")
