"""What files are meant for that are dropped on the window."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from PySide6.QtCore import QMimeData

_MODELS = frozenset({".gguf"})
_CHATS = frozenset({".json", ".jsonl", ".zip"})


@dataclass(frozen=True, slots=True)
class DroppedFiles:
    model: str = ""  # to be opened
    chats: str = ""  # to be imported
    texts: tuple[str, ...] = ()  # to be attached

    @classmethod
    def of(cls, data: QMimeData) -> DroppedFiles | None:
        """By the names of local files. A model or a file of chats stands alone; None for what nothing is done with."""
        paths = tuple(url.toLocalFile() for url in data.urls())
        if not paths or not all(paths):
            return None
        kinds = {PurePath(path).suffix.lower() for path in paths}
        if not kinds & (_MODELS | _CHATS):
            return cls(texts=paths)
        if len(paths) > 1:
            return None if kinds & _MODELS else cls(texts=paths)
        return cls(model=paths[0]) if kinds & _MODELS else cls(chats=paths[0])
