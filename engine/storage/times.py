"""Reads moments where SQLAlchemy does not."""

from __future__ import annotations

from datetime import UTC, datetime


def read_time(stored: str) -> datetime | None:
    """What `UtcDateTime` wrote; None for what it cannot have written."""
    try:
        return datetime.fromisoformat(stored).replace(tzinfo=UTC)
    except ValueError:
        return None
