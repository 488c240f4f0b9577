"""Numbers as the user's language writes them: 1,204.5 or 1.204,5."""

from __future__ import annotations

from PySide6.QtCore import QLocale

_GROUPS = QLocale.NumberOption.OmitGroupSeparator
_locale = QLocale("en_US")


def use_locale(locale: QLocale) -> None:
    """Sets the locale of all numbers."""
    global _locale  # noqa: PLW0603 (as Qt's own default is)
    _locale = QLocale(locale)


def whole(number: float) -> str:
    """A whole number with grouped thousands."""
    return _locale.toString(round(number))


def decimal(number: float, num_places: int) -> str:
    """A number with grouped thousands."""
    return _locale.toString(_rounded(number, num_places), "f", num_places)


def formatted(number: float, form: str) -> str:
    """Formats by one of Python's formats that the engine's sentences use."""
    plain = format(number, form)
    if not form or form == "g":  # a number that is a name, such as that of an error
        return plain if isinstance(number, int) else plain.replace(".", _locale.decimalPoint())
    if form.endswith("%"):
        return f"{decimal(100 * number, int(form[1:-1]))}\u00a0%"
    num_places = int(form.rpartition(".")[2][:-1]) if form.endswith("f") else 0
    if form.startswith(","):
        return decimal(number, num_places)
    bare = QLocale(_locale)
    bare.setNumberOptions(_GROUPS)
    return bare.toString(_rounded(number, num_places), "f", num_places)


def _rounded(number: float, num_places: int) -> float:
    """Rounds like Python, and so like the command line."""
    return float(f"{number:.{num_places}f}")


def read_whole(text: str) -> int:
    """Reads a typed number, with or without grouped thousands. Raises ValueError."""
    number, is_sound = _locale.toLongLong(text.strip())
    return number if is_sound else int(text.replace(",", ""))


def read_number(text: str) -> float:
    """Reads a typed number, in the user's format or with a point. Raises ValueError."""
    number, is_sound = _locale.toDouble(text.strip())
    return number if is_sound else float(text.replace(",", "."))
