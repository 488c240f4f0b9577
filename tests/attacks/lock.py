"""Another program holds the store's lock: the count is for how many seconds."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.features.chats.store_notice import SUBJECT
from engine.backend.storage import FILE_NAME, Repository
from engine.values.events import ConversationOpened, StoreBehind
from tests.attacks.attack import Outcome, Plan
from tests.attacks.desk import Desk, Held

_HOLD = """
import sqlite3, sys
other = sqlite3.connect(sys.argv[1], isolation_level=None)
other.execute(sys.argv[2])
print("held", flush=True)
sys.stdin.read()
other.execute("COMMIT")
"""
_MOST_S = 4.0  # of an act that waits for no reply, with the rest after it
_LOCKS = ("BEGIN IMMEDIATE", "BEGIN EXCLUSIVE")


@contextmanager
def held_by_another(store: Path, lock: str) -> Iterator[None]:
    """Another process has the store's lock inside."""
    command = [sys.executable, "-c", _HOLD, str(store), lock]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield
        process.communicate()


class _Chats:
    """What is done in the window while the lock is held, and what must be in the store afterwards."""

    def __init__(self, desk: Desk, dice: random.Random, outcome: Outcome) -> None:
        self._desk = desk
        self._dice = dice
        self._outcome = outcome
        self.said: dict[int, list[str]] = {}  # by chat; the texts that the window showed last
        self.titles: dict[int, str] = {}
        self.num_done = 0

    @property
    def _open_id(self) -> int:
        open_id = self._desk.studio.app.conversations.open_id
        assert open_id is not None
        return open_id

    def ask(self) -> None:
        self._desk.ask(f"Name {self._dice.randint(2, 9)} things, number {self.num_done}.")
        self.note()

    def begin(self) -> None:
        """A chat of its own."""
        self._desk.window.conversations.new_requested.emit()
        self.ask()

    def note(self, num_replaced: int = 0) -> None:
        """What was said before must still be shown, but for so many messages at its end."""
        shown = self._shown()
        known = self.said.get(self._open_id, [])
        known = known[: len(known) - num_replaced]
        is_there = shown[: len(known)] == known
        self._outcome.check(is_there, f"chat {self._open_id}: {shown} is shown, where {known} was said")
        if is_there:
            self.said[self._open_id] = shown
        self.num_done += 1

    def _shown(self) -> list[str]:
        return [message.text for message in self._desk.window.transcript.messages]

    def move(self) -> None:
        """To another chat, which is read meanwhile."""
        others = [number for number in self.said if number != self._open_id]
        if others:
            wanted = self._dice.choice(others)
            num_before = len(self._desk.events)
            self._desk.window.conversations.chosen.emit(wanted)
            self._desk.until(
                lambda: any(isinstance(event, ConversationOpened) for event in self._desk.events[num_before:])
            )
            self._outcome.check(
                self._shown() == self.said[wanted],
                f"chat {wanted}: {self._shown()} is shown, where {self.said[wanted]} was said",
            )
            self.num_done += 1

    def rename(self) -> None:
        self.titles[self._open_id] = f"title {self.num_done}"
        bridge = self._desk.bridge
        bridge.ask(bridge.engine.editor.rename, self._open_id, self.titles[self._open_id])
        self.num_done += 1

    def type_draft(self) -> None:
        self._desk.type(f"draft {self.num_done}")
        self._desk.studio.pass_time(1.2)  # it is saved after a pause
        self._desk.window.prompt_box.set_text("")

    def regenerate(self) -> None:
        transcript = self._desk.window.transcript
        last = transcript.messages[-1]
        if last.id > 0:
            self._desk.window.regenerate_action.trigger()
            self._desk.until(lambda: not self._desk.window.is_busy and transcript.messages[-1].id != last.id)
            self.note(num_replaced=1)


def run(plan: Plan) -> Outcome:
    outcome, worst = Outcome(), Held()
    slowest: dict[str, float] = {}
    with Desk(plan.folder) as desk:
        dice = plan.dice(0)
        chats = _Chats(desk, dice, outcome)
        for _ in range(3):
            chats.begin()
        file = desk.store / FILE_NAME
        acts = (chats.ask, chats.move, chats.rename, chats.type_draft, chats.regenerate)
        window = desk.window
        QTest.keyClicks(window.prompt_box.editor, "Count from one to fifty.")  # a reply that is under way
        QTest.keyClick(window.prompt_box.editor, Qt.Key.Key_Return)
        with held_by_another(file, dice.choice(_LOCKS)):
            end = time.monotonic() + plan.count
            desk.until(lambda: not window.is_busy)
            chats.note()
            while time.monotonic() < end:
                act, began = dice.choice(acts), time.monotonic()
                with desk.watching() as held:
                    act()
                worst = worst.worst(held)
                slowest[act.__name__] = max(slowest.get(act.__name__, 0.0), time.monotonic() - began)
                outcome.tried += 1
            window.conversations.new_requested.emit()
            QTest.keyClicks(window.prompt_box.editor, "Name a colour.")  # a new chat waits for the store
            QTest.keyClick(window.prompt_box.editor, Qt.Key.Key_Return)
            desk.until(lambda: SUBJECT in window.notices.shown)
        with desk.watching() as held:
            desk.until(lambda: SUBJECT not in window.notices.shown and _is_all_stored(desk))
            desk.until(lambda: not window.is_busy)
            chats.note()
            chats.begin()
        worst = worst.worst(held)
        desk.studio.pass_time(2.0)
    _check_store(desk.store, chats, outcome)
    outcome.check(worst.is_within_bar, f"the interface thread was {worst}")
    for name in {chats.move.__name__, chats.rename.__name__, chats.type_draft.__name__} & slowest.keys():
        outcome.check(slowest[name] < _MOST_S, f"{name} took {slowest[name]:.1f} s, though it writes no reply")
    outcome.figures = {
        "locked": f"{plan.count} s",
        "slowest": ", ".join(f"{name} {seconds:.1f} s" for name, seconds in slowest.items()),
        "interface": str(worst),
    }
    return outcome


def _is_all_stored(desk: Desk) -> bool:
    behind = [event for event in desk.events if isinstance(event, StoreBehind)]
    return not behind or not (behind[-1].sentence or behind[-1].unstored)


def _check_store(folder: Path, chats: _Chats, outcome: Outcome) -> None:
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection:
        outcome.check(connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)], "the store is damaged")
    with closing(Repository.open(folder)) as repository:
        for number, texts in chats.said.items():
            stored = [message.text for message in repository.open_conversation(number).messages]
            outcome.check(stored == texts, f"chat {number}: {len(stored)} messages are stored, {len(texts)} were shown")
        for number, title in chats.titles.items():
            found = repository.find_conversation(number).title
            outcome.check(found == title, f"chat {number} is called {found}, not {title}")
