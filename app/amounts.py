"""Amounts in words, as people read them."""

from __future__ import annotations

from datetime import date, datetime

_SIZES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_COUNTS = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k"))
_MINUTE_S = 60
_HOUR_S = 3600
_DAY_S = 24 * _HOUR_S


def size_words(num_bytes: float) -> str:
    """`4.1 GB`; decimal, as disks and the hub count."""
    return _scaled(num_bytes, _SIZES, " ") or f"{num_bytes:.0f} bytes"


def count_words(count: float) -> str:
    """`1.2M`, `135M`, `7.6B`; small numbers as they are."""
    return _scaled(count, _COUNTS, "") or f"{count:.0f}"


def percent_words(share: float, num_decimals: int = 0) -> str:
    """`71 %` of 0.71; no line breaks before the sign."""
    return f"{100 * share:.{num_decimals}f}\u00a0%"


def time_left_words(seconds: float) -> str:
    """`about 3 min left`."""
    if seconds < _MINUTE_S:
        return "less than a minute left"
    if seconds < _HOUR_S:
        return f"about {seconds / _MINUTE_S:.0f} min left"
    if seconds < _DAY_S:
        minutes = round(seconds / _MINUTE_S)
        return f"about {minutes // 60} h {minutes % 60} min left"
    return "more than a day left"


def day_words(day: date) -> str:
    """`3 March 2026`; of a moment with a time zone, on this machine's calendar."""
    if isinstance(day, datetime) and day.tzinfo:
        day = day.astimezone()
    return f"{day.day} {day:%B %Y}"


def _scaled(amount: float, units: tuple[tuple[float, str], ...], gap: str) -> str:
    for scale, unit in units:
        shown = amount / scale
        if shown >= 0.9995:  # what would be rounded up to the next unit belongs to it
            return f"{shown:.0f}{gap}{unit}" if shown >= 99.95 else f"{shown:.1f}{gap}{unit}"
    return ""
