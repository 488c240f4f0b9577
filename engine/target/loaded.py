"""Which target is loaded, for services on other threads."""

from __future__ import annotations

import threading
from pathlib import Path

from engine.config import TargetSettings
from engine.messages.events import Event, TargetReady


class LoadedTarget:
    """The target that the chat thread has loaded, as its events report. Any thread may read and write it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: tuple[Path, TargetSettings] | None = None

    def hear(self, event: Event) -> None:
        if isinstance(event, TargetReady):
            info = event.target
            with self._lock:
                settings = TargetSettings(max(32, info.context_size), gpu_layers=info.num_gpu_layers)
                self._loaded = Path(info.path), settings

    @property
    def value(self) -> tuple[Path, TargetSettings] | None:
        with self._lock:
            return self._loaded
