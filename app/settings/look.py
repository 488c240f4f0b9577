"""How the window is to look when it is first seen, from the file of settings.

All settings are checked by `app.settings.app_settings`, whose library takes longer to import than the window takes to
be made. So these few are read beside it, and what is not as it should be is left at its default; the other one tells of
it later.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path

SETTINGS_FILE = "settings.json"
_THEMES = ("system", "light", "dark")
_SIZES = range(80, 201)


@dataclass(frozen=True, slots=True)
class Look:
    theme: str = "system"
    text_size: int = 100  # percent
    window: bytes = b""  # size and place, as Qt saves them
    has_chatted: bool = False


def read_look(folder: Path) -> Look:
    """`folder` is the one that everything is kept in. Raises nothing."""
    try:
        kept = json.loads((folder / SETTINGS_FILE).read_bytes())
        if not isinstance(kept, dict):
            return Look()
    except (OSError, ValueError, RecursionError):
        return Look()
    theme, size, window = kept.get("theme"), kept.get("text_size"), kept.get("window")
    return Look(
        theme=theme if theme in _THEMES else Look().theme,
        text_size=size if isinstance(size, int) and size in _SIZES else Look().text_size,
        window=_decoded(window) if isinstance(window, str) else b"",
        has_chatted=kept.get("has_chatted") is True,
    )


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except ValueError:
        return b""
