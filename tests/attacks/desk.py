"""The open window, as users get it, that attacks are made against."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from PySide6.QtCore import Qt, qInstallMessageHandler
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.application import LOCK_INTERVAL_S
from app.engine_bridge import EngineBridge
from app.startup.desktop_application import DesktopApplication
from engine import BUILT_IN
from engine.values.events import Event
from tests.attacks.beside import Beside
from tests.benchmarks.heartbeat import Heartbeat
from tests.pictures.studio import Studio

_HELD_BAR_MS = 50.0
_FAIR = 2  # the thread waits as long as the one beside it, and then for one that has Python's lock and waits, too
_REPLY = 24  # tokens


@dataclass(slots=True)
class Held:
    """How long the interface thread was held up at most: by the clock, of that by what it computed itself, and how long
    a thread of another process was (`beside_ms`), which waits for the machine alone. Where the first is the longest,
    the thread waited for a lock, a file, a pipe, or for Python's own lock."""

    late_ms: float = 0.0
    own_ms: float = 0.0
    beside_ms: float = 0.0
    waited_ms: float = 0.0  # of `late_ms`, what the machine does not explain

    @property
    def is_within_bar(self) -> bool:
        return self.own_ms <= _HELD_BAR_MS and self.waited_ms <= _HELD_BAR_MS

    def worst(self, other: Held) -> Held:
        return Held(
            max(self.late_ms, other.late_ms),
            max(self.own_ms, other.own_ms),
            max(self.beside_ms, other.beside_ms),
            max(self.waited_ms, other.waited_ms),
        )

    def __str__(self) -> str:
        return (
            f"held for {self.late_ms:.0f} ms, of its own {self.own_ms:.0f} ms, "
            f"the machine's {self.beside_ms:.0f} ms, waiting {self.waited_ms:.0f} ms"
        )


class Desk:
    """Someone in front of the window, with the starter loaded and the built-in drafter. Its folder for files of the
    program is `store`."""

    def __init__(self, folder: Path) -> None:
        sys.setswitchinterval(LOCK_INTERVAL_S)
        qInstallMessageHandler(lambda *_message: None)  # the platform without a display reports what it cannot do
        self.store = folder / "store"
        self.store.mkdir(exist_ok=True)
        if not (self.store / "settings.json").exists():
            (self.store / "settings.json").write_text(
                f'{{"version": 1, "has_chatted": true, "reply_length": {_REPLY}}}'
            )
        self.application = QApplication.instance() or DesktopApplication(["-platform", "offscreen"])
        assert isinstance(self.application, QApplication)
        self._heartbeat, self._beside = Heartbeat(), Beside()
        self.studio = Studio(self.application, self.store, folder, "", BUILT_IN, EngineBridge)
        self.window, self.bridge = self.studio.window, self.studio.app.bridge

    def __enter__(self) -> Self:
        self.until(lambda: self.studio.app.target.in_use is not None and self.studio.app.library is not None)
        self.studio.rest()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.studio.close()
        self._beside.close()

    @property
    def events(self) -> list[Event]:
        return self.studio.events

    def until(self, is_so: Callable[[], bool]) -> None:
        """Waits. Raises TimeoutError."""
        self.studio.until(is_so)

    @contextmanager
    def watching(self) -> Iterator[Held]:
        """The value is filled in at the end."""
        held = Held()
        self._beside.longest_ms()
        self._heartbeat.start()
        try:
            yield held
            self.studio.rest()
        finally:
            self._heartbeat.stop()
            held.late_ms, held.own_ms = self._heartbeat.longest_ms(), self._heartbeat.longest_own_ms()
            held.beside_ms = self._beside.longest_ms()
            held.waited_ms = max(0.0, held.late_ms - _FAIR * held.beside_ms)

    def type(self, words: str) -> None:
        """One key after another, as they come from a keyboard."""
        for letter in words:
            QTest.keyClicks(self.window.prompt_box.editor, letter)
            self.studio.process()

    def ask(self, prompt: str) -> str:
        """Types a prompt and waits for the end of its reply, which is returned."""
        transcript = self.window.transcript
        before = len(transcript.messages)
        self.type(prompt)
        QTest.keyClick(self.window.prompt_box.editor, Qt.Key.Key_Return)
        self.until(lambda: len(transcript.messages) == before + 2 and transcript.messages[-1].statistics is not None)
        return transcript.messages[-1].text
