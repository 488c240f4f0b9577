"""The kinds of files that are dropped on the window or opened with the app."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from PySide6.QtCore import QMimeData

PROFILE_SUFFIX = ".slipstream"
_KINDS = {".gguf": "model", PROFILE_SUFFIX: "profile", ".json": "chats", ".jsonl": "chats", ".zip": "chats"}


@dataclass(frozen=True, slots=True)
class DroppedFiles:
    """The paths of each kind; at most one kind is there."""

    model: str = ""
    profile: str = ""
    chats: str = ""  # a file to import
    texts: tuple[str, ...] = ()  # files to attach

    @classmethod
    def of(cls, data: QMimeData) -> DroppedFiles | None:
        """None where they are refused."""
        return cls.of_paths([url.toLocalFile() for url in data.urls()])

    @classmethod
    def of_paths(cls, named: Sequence[str]) -> DroppedFiles | None:
        """Of local files. None for those that are refused: a model or a profile beside other files."""
        if not named or not all(named):
            return None
        kinds = {_KINDS.get(PurePath(path).suffix.lower(), "texts") for path in named}
        if len(named) == 1 and kinds != {"texts"}:
            only: dict[str, Any] = dict.fromkeys(kinds, named[0])
            return cls(**only)
        return None if kinds & {"model", "profile"} else cls(texts=tuple(named))
