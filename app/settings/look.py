"""The settings that the first painted page needs: declared here, and read from the file of settings on their own.

All settings are checked by `app.settings.app_settings`, which takes these declarations up; but importing its library
takes longer than making the window does. What is not as it should be is left at its default here; the other one reports
it later.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from engine.values.parameters import Parameter, parameter
from engine.values.places import SETTINGS

Theme = Literal["system", "light", "dark"]
Spoken = Literal["system", "en", "de", "es", "fr", "ja", "zh_CN"]  # a language of the window, by its code


@dataclass(frozen=True, slots=True)
class Look:
    """How the window looks when it is first seen. The defaults are those of the settings."""

    theme: Theme = "system"
    text_size: Annotated[
        int,
        Parameter(
            "Text size", 80, 200, step=10, about="Relative to the system's size; code and buttons grow along.", unit="%"
        ),
    ] = 100
    window: bytes = b""  # size and place, as Qt saves them
    has_chatted: bool = False
    language: Spoken = "system"


TEXT_SIZE = parameter(Look, "text_size")
_CHECKS: dict[str, Callable[[Any], bool]] = {
    "language": get_args(Spoken).__contains__,
    "theme": get_args(Theme).__contains__,
    "text_size": TEXT_SIZE.accepts,
    "window": lambda value: isinstance(value, str),
    "has_chatted": lambda value: isinstance(value, bool),
}


def read_look(folder: Path) -> Look:
    """`folder` holds all files of the program. Raises nothing."""
    try:
        stored = json.loads((folder / SETTINGS).read_bytes())
        if not isinstance(stored, dict):
            return Look()
    except (OSError, ValueError, RecursionError):
        return Look()
    sound = {name: value for name, value in stored.items() if name in _CHECKS and _CHECKS[name](value)}
    if "window" in sound:
        sound["window"] = _decoded(sound["window"])
    return Look(**sound)


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except ValueError:
        return b""
