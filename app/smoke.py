"""`slipstream --smoke OUT.png`: the real window, one prompt when all is ready, a picture of the answer."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Qt, QTimer, Slot

from app.engine_bridge import EngineBridge
from app.main_window import MainWindow
from engine import ReplySettings, SamplingSettings
from engine.events import Event, Failed, ReplyFinished, SpeculationChanged, TargetReady

PROMPT = "Write a short Python function that reverses a string, and explain it in three sentences."
_PATIENCE_MS = 240_000
_SETTLING_MS = 400  # for the last repaint of the transcript


def smoke_settings() -> ReplySettings:
    """The same short answer every time."""
    return ReplySettings(SamplingSettings(temperature=0), max_tokens=128)


class SmokeRun(QObject):
    """Acts as a user would, then closes the window. `failure` is a sentence on what went wrong, or empty."""

    def __init__(self, window: MainWindow, bridge: EngineBridge, picture: Path) -> None:
        super().__init__(window)
        self._window = window
        self._picture = picture
        self._is_waiting = False  # for the drafter: before, there is no speed to compare
        self.failure = "The smoke run did not come to an end; the log tells more."
        bridge.happened.connect(self._on_event, Qt.ConnectionType.QueuedConnection)
        QTimer.singleShot(_PATIENCE_MS, self, window.close)

    @Slot(object)
    def _on_event(self, event: Event) -> None:
        match event:
            case TargetReady(target) if target.awaits_drafter:
                self._is_waiting = True
            case TargetReady():
                self._ask()
            case SpeculationChanged() if self._is_waiting:
                self._is_waiting = False
                self._ask()
            case ReplyFinished(message) if message.text:
                QTimer.singleShot(_SETTLING_MS, self, self._take_picture)
            case Failed(sentence):
                self.failure = sentence
                self._window.close()

    def _ask(self) -> None:
        self._window.prompt_box.set_text(PROMPT)
        self._window.prompt_box.submit()

    @Slot()
    def _take_picture(self) -> None:
        saved = self._window.grab().save(str(self._picture))
        self.failure = "" if saved else f"The picture could not be written to {self._picture}; choose another place."
        self._window.close()
