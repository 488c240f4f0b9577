"""What files are meant for that are dropped on the window, or opened with the app."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from PySide6.QtCore import QMimeData

_MODELS = frozenset({".gguf"})
PROFILE_SUFFIX = ".slipstream"
_PROFILES = frozenset({PROFILE_SUFFIX})
_CHATS = frozenset({".json", ".jsonl", ".zip"})


@dataclass(frozen=True, slots=True)
class DroppedFiles:
    model: str = ""  # to be opened
    profile: str = ""  # to be looked at
    chats: str = ""  # to be imported
    texts: tuple[str, ...] = ()  # to be attached

    @classmethod
    def of(cls, data: QMimeData) -> DroppedFiles | None:
        """None for what is refused."""
        return cls.of_paths([url.toLocalFile() for url in data.urls()])

    @classmethod
    def of_paths(cls, named: Sequence[str]) -> DroppedFiles | None:
        """By the names of local files. A model, a profile or a file of chats stands alone; None for what is refused."""
        paths = tuple(named)
        if not paths or not all(paths):
            return None
        kinds = {PurePath(path).suffix.lower() for path in paths}
        if not kinds & (_MODELS | _PROFILES | _CHATS):
            return cls(texts=paths)
        if len(paths) > 1:
            return None if kinds & (_MODELS | _PROFILES) else cls(texts=paths)
        if kinds & _MODELS:
            return cls(model=paths[0])
        return cls(profile=paths[0]) if kinds & _PROFILES else cls(chats=paths[0])
