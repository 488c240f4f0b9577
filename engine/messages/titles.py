"""How a title is cut short."""

from __future__ import annotations


def shortened(text: str, most: int) -> str:
    """On one line of about `most` characters, cut between two words where that is possible."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[:most].rsplit(" ", 1)[0] + "…"
