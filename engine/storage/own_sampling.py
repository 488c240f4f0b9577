"""How a conversation's own sampling is written in its row: JSON with what is set alone."""

from __future__ import annotations

import json
from dataclasses import asdict, fields

from engine.config import OwnSampling
from engine.errors import SettingInvalid

_WHOLE = frozenset({"top_k", "seed", "max_tokens"})


def to_json(sampling: OwnSampling) -> str | None:
    """None where nothing is set."""
    chosen = {name: value for name, value in asdict(sampling).items() if value is not None}
    return json.dumps(chosen) if chosen else None


def from_json(stored: str | None) -> OwnSampling:
    """What is unknown, or makes no sense, counts as not set."""
    try:
        found = json.loads(stored or "{}")
    except (TypeError, ValueError, RecursionError):  # SQLite holds any kind of value in any column
        return OwnSampling()
    if not isinstance(found, dict):
        return OwnSampling()
    names = [field.name for field in fields(OwnSampling) if _makes_sense(field.name, found.get(field.name))]
    return OwnSampling(**{name: found[name] for name in names})


def _makes_sense(name: str, value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int if name in _WHOLE else int | float):
        return False
    try:
        OwnSampling(**{name: value})
    except SettingInvalid:
        return False
    return True
