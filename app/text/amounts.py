"""Amounts in words, as people read them."""

from __future__ import annotations

from datetime import date, datetime

from app.text.numbers import decimal, whole
from app.text.translation import QT_TRANSLATE_NOOP, Words, translate

_SIZES = (
    (1e12, QT_TRANSLATE_NOOP("Amounts", "{number} TB")),
    (1e9, QT_TRANSLATE_NOOP("Amounts", "{number} GB")),
    (1e6, QT_TRANSLATE_NOOP("Amounts", "{number} MB")),
    (1e3, QT_TRANSLATE_NOOP("Amounts", "{number} kB")),
)
_COUNTS = (
    (1e12, QT_TRANSLATE_NOOP("Amounts", "{number}T")),
    (1e9, QT_TRANSLATE_NOOP("Amounts", "{number}B")),
    (1e6, QT_TRANSLATE_NOOP("Amounts", "{number}M")),
    (1e3, QT_TRANSLATE_NOOP("Amounts", "{number}k")),
)
_MONTHS = (
    QT_TRANSLATE_NOOP("Amounts", "January"),
    QT_TRANSLATE_NOOP("Amounts", "February"),
    QT_TRANSLATE_NOOP("Amounts", "March"),
    QT_TRANSLATE_NOOP("Amounts", "April"),
    QT_TRANSLATE_NOOP("Amounts", "May"),
    QT_TRANSLATE_NOOP("Amounts", "June"),
    QT_TRANSLATE_NOOP("Amounts", "July"),
    QT_TRANSLATE_NOOP("Amounts", "August"),
    QT_TRANSLATE_NOOP("Amounts", "September"),
    QT_TRANSLATE_NOOP("Amounts", "October"),
    QT_TRANSLATE_NOOP("Amounts", "November"),
    QT_TRANSLATE_NOOP("Amounts", "December"),
)
_MINUTE_S = 60
_HOUR_S = 3600
_DAY_S = 24 * _HOUR_S
Amounts = Words("Amounts")


def size_words(num_bytes: float) -> str:
    """`4.1 GB`; decimal, as disks and the hub count."""
    return _scaled(num_bytes, _SIZES) or Amounts.tr("{number} bytes", number=whole(num_bytes))


def count_words(count: float) -> str:
    """`1.2M`, `135M`, `7.6B`; small numbers as they are."""
    return _scaled(count, _COUNTS) or whole(count)


def percent_words(share: float, num_decimals: int = 0) -> str:
    """`71 %` of 0.71; no line breaks before the sign."""
    return Amounts.tr("{number}\u00a0%", number=decimal(100 * share, num_decimals))


def time_left_words(seconds: float) -> str:
    """`about 3 min left`."""
    if seconds < _MINUTE_S:
        return Amounts.tr("less than a minute left")
    if seconds < _HOUR_S:
        return Amounts.tr("about {minutes} min left", minutes=whole(seconds / _MINUTE_S))
    if seconds < _DAY_S:
        hours, minutes = divmod(round(seconds / _MINUTE_S), 60)
        return Amounts.tr("about {hours} h {minutes} min left", hours=hours, minutes=minutes)
    return Amounts.tr("more than a day left")


def duration_words(seconds: float) -> str:
    """`about 3 min`."""
    if seconds < _MINUTE_S:
        return Amounts.tr("less than a minute")
    hours, minutes = divmod(round(seconds / _MINUTE_S), 60)
    if hours:
        return Amounts.tr("about {hours} h {minutes} min", hours=hours, minutes=minutes)
    return Amounts.tr("about {minutes} min", minutes=minutes)


def span_words(seconds: float) -> str:
    """`40 seconds`, `3 minutes`, `1 h 5 min`."""
    if seconds < 1:
        return Amounts.tr("{seconds} seconds", seconds=decimal(seconds, 1))
    if round(seconds) < _MINUTE_S:
        return Amounts.tr("%n second(s)", "", round(seconds))
    minutes = round(seconds / _MINUTE_S)
    if minutes < 60:
        return Amounts.tr("%n minute(s)", "", minutes)
    hours, minutes = divmod(minutes, 60)
    if hours < 10 and minutes:
        return Amounts.tr("{hours} h {minutes} min", hours=hours, minutes=minutes)
    return Amounts.tr("{number} hour(s)", "", round(seconds / _HOUR_S))


def day_words(day: date) -> str:
    """`3 March 2026`; of a moment with a time zone, on this machine's calendar."""
    if isinstance(day, datetime) and day.tzinfo:
        day = day.astimezone()
    month = translate("Amounts", _MONTHS[day.month - 1])
    return Amounts.tr("{day} {month} {year}", day=day.day, month=month, year=str(day.year))


def _scaled(amount: float, units: tuple[tuple[float, str], ...]) -> str:
    for scale, unit in units:
        shown = amount / scale
        if shown >= 0.9995:  # a number that is rounded up to the next unit is written in it
            number = whole(shown) if shown >= 99.95 else decimal(shown, 1)
            return translate("Amounts", unit).format(number=number)
    return ""
