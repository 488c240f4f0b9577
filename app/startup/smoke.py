"""`slipstream --smoke OUT.png`: the real window, one prompt when all is ready, a picture of the answer.

Prints as one line of JSON when, in seconds after the start of the process, the window was painted, the model was ready,
the reply began and ended. The prompt waits for the drafter, so that there is a speed to compare.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, SignalInstance, Slot

from app.engine_bridge import EngineBridge
from app.main_window import MainWindow
from app.settings.app_settings import AppSettings, SettingsFile
from engine import BUILT_IN, SamplingSettings
from engine.values.events import ReplyFinished, SpeculationChanged, TargetReady, TargetRefused
from engine.values.requests import Failure

PROMPT = "Write a short Python function that reverses a string, and explain it in three sentences."
_PATIENCE_MS = 240_000
_SETTLING_MS = 400  # for the last repaint of the transcript


def save_settings(folder: Path) -> None:
    """Saves settings for the same short answer every time, with a drafter that needs torch: it is shipped, too."""
    settings = AppSettings(drafter=BUILT_IN, sampling=SamplingSettings(temperature=0), reply_length=128)
    SettingsFile(folder).save(settings)


class SmokeRun(QObject):
    """Acts as a user would, then closes the window. `failure` is a sentence on what went wrong, or empty."""

    def __init__(
        self,
        window: MainWindow,
        bridge: EngineBridge,
        writing_began: SignalInstance,
        ended: SignalInstance,
        picture: Path,
        painted_at: float,
    ) -> None:
        """The signals are those of `ChatController`. `painted_at`: when the window was first seen, by `time.time()`."""
        super().__init__(window)
        self._window = window
        self._picture = picture
        self._is_waiting = False  # for the drafter: before, there is no speed to compare
        self._times = {"window": painted_at}
        self.failure = "The smoke run did not come to an end; the log tells more."
        bridge.listen(TargetReady, self._on_ready)
        bridge.listen(TargetRefused, self._on_refused)
        bridge.listen(SpeculationChanged, self._on_speculation)
        bridge.listen(ReplyFinished, self._on_finished)
        bridge.unhandled.connect(self._fail)
        writing_began.connect(self._on_writing)
        ended.connect(self._on_ended)
        QTimer.singleShot(_PATIENCE_MS, self, window.close)

    def _note(self, moment: str) -> None:
        self._times.setdefault(moment, time.time())

    def _on_ready(self, event: TargetReady) -> None:
        self._note("model")
        if event.target.awaits_drafter:
            self._is_waiting = True
        else:
            self._ask()

    def _on_speculation(self, _event: SpeculationChanged) -> None:
        if self._is_waiting:
            self._is_waiting = False
            self._ask()

    @Slot()
    def _on_writing(self) -> None:
        self._note("reply_begins")

    def _on_finished(self, event: ReplyFinished) -> None:
        self._note("reply_ends")
        if event.message.text:
            QTimer.singleShot(_SETTLING_MS, self, self._take_picture)

    @Slot(object)
    def _on_ended(self, failure: Failure | None) -> None:
        if failure is not None:
            self._fail(failure.sentence)

    def _on_refused(self, event: TargetRefused) -> None:
        self._fail(event.sentence)

    @Slot(str)
    def _fail(self, sentence: str) -> None:
        self.failure = sentence
        self._window.close()

    def _ask(self) -> None:
        self._window.prompt_box.set_text(PROMPT)
        self._window.prompt_box.submit()

    @Slot()
    def _take_picture(self) -> None:
        saved = self._window.grab().save(str(self._picture))
        self.failure = "" if saved else f"The picture could not be written to {self._picture}; choose another place."
        if saved:
            print(json.dumps({f"{name}_s": round(seconds, 3) for name, seconds in self._since_start().items()}))
        self._window.close()

    def _since_start(self) -> dict[str, float]:
        import psutil  # here, because the window does without

        began = psutil.Process().create_time()  # of the process itself: what comes before Python counts too
        return {name: moment - began for name, moment in self._times.items()}
