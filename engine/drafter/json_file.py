"""Reads the JSON files of a drafter's folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from engine.errors import DrafterUnusable

_LARGEST = 256 << 20  # bytes; the largest tokenizer.json known has 35 million


def read_json(file: Path) -> dict[str, Any] | None:
    """None where there is no such file. Raises DrafterUnusable when it is no JSON object."""
    if not file.exists():
        return None
    try:
        if file.stat().st_size > _LARGEST:
            raise ValueError("too large")
        content = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise DrafterUnusable(f"{file} cannot be read ({error.strerror}); check its permissions.") from error
    except (ValueError, RecursionError) as error:
        raise _damaged(file) from error
    if not isinstance(content, dict):
        raise _damaged(file)
    return content


def _damaged(file: Path) -> DrafterUnusable:
    return DrafterUnusable(f"{file} is damaged; download the drafter again.")
