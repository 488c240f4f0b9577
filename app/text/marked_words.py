"""Marks words for translation where they stand and cannot be translated yet."""

from __future__ import annotations


def QT_TRANSLATE_NOOP(_context: str, text: str) -> str:
    """The text as it is. What collects words to translate knows this name; Qt's own has no type."""
    return text
