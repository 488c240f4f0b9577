"""Tells how many tokens the prompt has that is being written."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, QTimer, Slot

from app.engine_bridge import EngineBridge
from app.widgets.prompt_box import PromptBox
from engine import CountTokens, StopSignal
from engine.messages.events import Event, TargetReady, TokensCounted

_PAUSE_MS = 250  # in typing


class TokenCounting(QObject):
    """Connects the prompt box with one engine."""

    def __init__(self, prompt_box: PromptBox, bridge: EngineBridge) -> None:
        super().__init__(prompt_box)
        self._prompt_box = prompt_box
        self._bridge = bridge
        self._context_size: int | None = None  # tokens; None while no target is loaded
        self._asked: StopSignal | None = None
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(_PAUSE_MS)
        self._pause.timeout.connect(self._ask)
        prompt_box.edited.connect(self._on_edited)
        bridge.happened.connect(self._on_event, Qt.ConnectionType.QueuedConnection)

    @Slot()
    def _on_edited(self) -> None:
        if self._prompt_box.text.strip():
            self._pause.start()
        else:
            self._pause.stop()
            self._prompt_box.clear_count()

    @Slot()
    def _ask(self) -> None:
        if self._context_size is None:
            return
        if self._asked is not None:
            self._asked.set()  # an earlier text is of no interest any more
        self._asked = self._bridge.post(CountTokens(self._prompt_box.text.strip()))

    @Slot(object)
    def _on_event(self, event: Event) -> None:
        match event:
            case TokensCounted(text, num_tokens):
                if self._context_size is not None and text and text == self._prompt_box.text.strip():
                    self._prompt_box.show_count(num_tokens, self._context_size)
            case TargetReady(target):
                self._context_size = target.context_size
                self._on_edited()
