"""Paths below somebody's home folder, as users write them."""

from __future__ import annotations

from pathlib import Path


def expanded(path: str | Path) -> Path:
    """With the home folder in place of `~` and `~name`. Where the system knows none, it stays as it is: no file is
    there."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)
