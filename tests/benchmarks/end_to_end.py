"""The whole app on the starter target, timed as its user experiences it.

    python -m tests.benchmarks.end_to_end [--tokens 400]

Prints: from the start of the process to the first painted window, and to the first reply; how long the interface thread
was blocked while the engine started and while replies streamed; how long a stored conversation takes to open; what the
second turn evaluated; how quickly a stop ends a long prompt and a reply; how long closing takes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QCoreApplication, QEventLoop, QObject, QTimer, Slot
from PySide6.QtWidgets import QApplication

from app.application import LOCK_INTERVAL_S
from app.engine_bridge import EngineBridge
from app.main_window import MainWindow
from app.startup.desktop_application import InterfaceGarbage
from app.theme import apply_theme
from engine import BUILT_IN, EngineConfig, ReplySettings, SamplingSettings, open_repository
from engine.values.config import SpeculationSettings
from engine.values.events import ConversationOpened, ReplyFinished, TargetReady
from engine.values.growing_reply import ReplySoFar
from engine.values.orders import Send
from engine.values.replies import ReplyStatistics
from tests.benchmarks.heartbeat import Heartbeat
from tests.benchmarks.interface import conversation
from tests.fakes.chats import Chats
from tests.fakes.ear import Ear, Grew

_E = TypeVar("_E")

_PATIENCE_MS = 120_000
_NUM_MESSAGES = 2_000
_FIRST_PAINT = """
import os, sys, time
import psutil
from PySide6.QtCore import QTimer
import app.application as application
from engine.values.config import SpeculationSettings
from app.main_window import MainWindow
painted = MainWindow.paintEvent
def paint(self, event):
    painted(self, event)
    print(time.time() - psutil.Process().create_time(), time.process_time(), flush=True)
    os._exit(0)
MainWindow.paintEvent = paint
application.run(None, None, SpeculationSettings())
"""


class _Clock(QObject):
    """Records when the engine told what, and lets the caller wait for something."""

    def __init__(self, ear: Ear) -> None:
        super().__init__()
        self.heard: list[tuple[float, object]] = []
        self._waiting: tuple[type, QEventLoop] | None = None
        ear.heard.connect(self.note)

    @Slot(object)
    def note(self, event: object) -> None:
        self.heard.append((time.perf_counter(), event))
        if self._waiting is not None and isinstance(event, self._waiting[0]):
            self._waiting[1].quit()
            self._waiting = None

    @Slot(object)
    def note_progress(self, so_far: ReplySoFar) -> None:
        if so_far.num_read:
            self.note(so_far)

    def wait_for(self, kind: type[_E], start: Callable[[], object]) -> tuple[float, _E]:
        """The time of the event, and the event."""
        loop = QEventLoop()
        self._waiting = (kind, loop)
        QTimer.singleShot(_PATIENCE_MS, loop, lambda: loop.exit(1))
        start()
        if loop.exec() == 1:
            raise TimeoutError(kind.__name__)
        return next((at, event) for at, event in reversed(self.heard) if isinstance(event, kind))


def _statistics(event: ReplyFinished) -> ReplyStatistics:
    assert event.message.statistics is not None
    return event.message.statistics


def _first_paint_s() -> tuple[float, float]:
    """Seconds by the clock, and of processor time."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "SLIPSTREAM_DATA_DIR": folder}
        command = [sys.executable, "-c", _FIRST_PAINT]
        output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    clock, own = output.split()
    return float(clock), float(own)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=400)
    options = parser.parse_args()

    measured = [_first_paint_s() for _ in range(5)]
    paints, own = sorted(clock for clock, _ in measured), sorted(own for _, own in measured)
    print(
        f"first window painted: median {paints[2]:.2f} s after the start of the process "
        f"({paints[0]:.2f} … {paints[-1]:.2f}); {own[2]:.2f} s of processor time ({own[0]:.2f} … {own[-1]:.2f})"
    )

    sys.setswitchinterval(LOCK_INTERVAL_S)
    application = QApplication([])
    garbage = InterfaceGarbage()
    window = MainWindow(apply_theme(application))
    window.show()
    QCoreApplication.processEvents()
    heart = Heartbeat()
    with tempfile.TemporaryDirectory() as folder:
        config = EngineConfig(Path(folder), SpeculationSettings(drafter=BUILT_IN))
        long_id = _keep_long_conversation(config)
        heart.start()
        began = time.perf_counter()
        bridge = EngineBridge(config)
        settings = ReplySettings(SamplingSettings(temperature=0), options.tokens)
        chats = Chats(window, bridge, settings)
        ear = Ear(bridge)  # after the controllers: the window has handled what arrives here
        clock = _Clock(ear)
        ready_at, _ = clock.wait_for(TargetReady, lambda: chats.start("starter"))
        print(
            f"target ready: {ready_at - began:.2f} s after the window; "
            f"longest block of the interface thread meanwhile {heart.longest_ms():.0f} ms "
            f"(own work at most {heart.longest_own_ms():.0f} ms)"
        )

        for _ in range(2):
            began = time.perf_counter()
            clock.wait_for(ConversationOpened, lambda: window.conversations.chosen.emit(long_id))
            QCoreApplication.processEvents()
            opened_ms = 1000 * (time.perf_counter() - began)
            print(f"a stored conversation of {_NUM_MESSAGES:,} messages painted: {opened_ms:.0f} ms")
            window.conversations.new_requested.emit()

        heart.start()
        asked = time.perf_counter()
        _, event = clock.wait_for(
            ReplyFinished, lambda: _say(window, "Write a Python class for a bank account, and explain every method.")
        )
        first = _statistics(event)
        first_text_at = next(at for at, event in clock.heard if isinstance(event, Grew))
        print(
            f"first turn: {first.prompt_tokens} prompt tokens, {first.evaluated_tokens} evaluated; first text after "
            f"{1000 * (first_text_at - asked):.0f} ms of which the prompt pass took {1000 * first.prompt_s:.0f} ms; "
            f"{first.reply_tokens} tokens at {first.tokens_per_s:.1f} per second"
        )
        _, event = clock.wait_for(ReplyFinished, lambda: _say(window, "Now make a table of its methods."))
        second = _statistics(event)
        new = second.prompt_tokens - first.prompt_tokens - first.reply_tokens
        print(
            f"second turn: {second.prompt_tokens} prompt tokens, {second.evaluated_tokens} evaluated; "
            f"the new turn with its template is {new} (one more where the reply before was cut at its length)"
        )
        print(
            f"interface thread while {first.reply_tokens + second.reply_tokens} tokens streamed: longest block "
            f"{heart.longest_ms():.0f} ms, 99th percentile {heart.percentile_ms(0.99):.0f} ms "
            f"(own work: {heart.longest_own_ms():.0f} and {heart.percentile_own_ms(0.99):.0f} ms)"
        )
        heart.start()
        _, event = clock.wait_for(ReplyFinished, lambda: _say(window, "Write tests for it, and explain them."))
        print(
            f"the same for {_statistics(event).reply_tokens} tokens more, the drafter being loaded by now: longest "
            f"block {heart.longest_ms():.0f} ms, 99th percentile {heart.percentile_ms(0.99):.0f} ms "
            f"(own work: {heart.longest_own_ms():.0f} and {heart.percentile_own_ms(0.99):.0f} ms)"
        )

        delays = [_stop_delay_ms(clock, bridge, ReplySoFar, prompt="many words " * 3500) for _ in range(3)]
        print(
            f"stop during a long prompt: {', '.join(f'{delay:.0f}' for delay in delays)} ms until the reply had ended"
        )
        delays = [_stop_delay_ms(clock, bridge, Grew, prompt="Tell me a long story.") for _ in range(3)]
        print(f"stop during a reply: {', '.join(f'{delay:.0f}' for delay in delays)} ms until the reply had ended")

        began = time.perf_counter()
        clock.wait_for(Grew, lambda: _say(window, "Tell me a long story."))
        closing = time.perf_counter()
        window.close()
        ended = bridge.close()
        print(
            f"closing in the middle of a reply: {1000 * (time.perf_counter() - closing):.0f} ms, "
            f"all threads ended: {ended}"
        )
    del garbage


def _keep_long_conversation(config: EngineConfig) -> int:
    repository = open_repository(config)
    summary = repository.create_conversation("A long one", "")
    parent_id = None
    for message in conversation(_NUM_MESSAGES):
        parent_id = repository.add_message(summary.id, parent_id, message.role, message.text).id
    repository.close()
    return summary.id


def _say(window: MainWindow, text: str) -> None:
    window.prompt_box.set_text(text)
    window.prompt_box.submit()


def _stop_delay_ms(clock: _Clock, bridge: EngineBridge, when: type, prompt: str) -> float:
    """`when`: what is waited for before it is stopped."""
    order = Send(prompt, None, ReplySettings(SamplingSettings(temperature=0)))
    request = bridge.ask(bridge.engine.chat.answer, order)
    clock.wait_for(when, lambda: request.progressed.connect(clock.note_progress))
    stopped: list[float] = []

    def stop() -> None:
        stopped.append(time.perf_counter())
        request.stop()

    ended_at, _ = clock.wait_for(ReplyFinished, lambda: QTimer.singleShot(30, clock, stop))
    return 1000 * (ended_at - stopped[0])


if __name__ == "__main__":
    main()
