"""Words of the window are those of people who use such apps: none that a trial of it found long, technical or odd."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import app
from app.settings.app_settings import AppSettings
from app.settings.declaration import shown_settings
from engine.values.config import OWN_PARAMETERS, TargetSettings
from engine.values.parameters import parameters

MARKING = {"tr", "translate", "QT_TRANSLATE_NOOP"}
ODD = re.compile(
    r"as for all|what holds for all|the usual ones?\b|from the next loading|load again|as it came|some tens"
    r"|makes? no sense|a message of the system"
    r"|\badapter|n-gram|to recall|nobody drafts|drafts for|who drafts|right guesses per",
    re.IGNORECASE,
)
HISTORY = "dialogs/history"  # a page for those who want the figures


def shown() -> Iterator[tuple[str, str]]:
    """Places and words."""
    root = Path(app.__file__).parent
    for path in sorted(root.rglob("*.py")):
        place = path.relative_to(root).as_posix()
        if place.startswith(("commands/", HISTORY)):
            continue
        for call in (each for each in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(each, ast.Call)):
            name = getattr(call.func, "attr", getattr(call.func, "id", ""))
            if name in MARKING:
                yield from ((place, str(each.value)) for each in call.args if isinstance(each, ast.Constant))
    for setting in shown_settings(AppSettings):
        yield from (("settings", words) for words in (setting.label, setting.description))
    for parameter in (*OWN_PARAMETERS, *parameters(TargetSettings)):
        yield from (("parameters", words) for words in (parameter.title, parameter.explanation, parameter.unset))


def test_no_word_is_odd_or_technical() -> None:
    words = [*shown()]
    assert len(words) > 600
    assert [(place, text) for place, text in words if ODD.search(text)] == []
