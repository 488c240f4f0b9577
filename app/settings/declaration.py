"""How a setting is shown. A field of `AppSettings` says it beside its type; everything that lists settings is made from
what stands there.

Words are kept in English, marked for translation with the context "Settings", and translated where they are shown.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from types import NoneType
from typing import TypeVar, cast, get_args

# There are no plugins of pydantic here; looking for them reads what is kept of every installed package.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

from annotated_types import Ge, Le
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from app.text.marked_words import QT_TRANSLATE_NOOP

SettingValue = bool | int | float | str | None
Part = TypeVar("Part")


class Group(StrEnum):
    """A page of the settings; the value is its title."""

    GENERAL = QT_TRANSLATE_NOOP("Settings", "General")
    APPEARANCE = QT_TRANSLATE_NOOP("Settings", "Appearance")
    CHAT = QT_TRANSLATE_NOOP("Settings", "Chat")
    MODELS = QT_TRANSLATE_NOOP("Settings", "Models")
    SHORTCUTS = QT_TRANSLATE_NOOP("Settings", "Shortcuts")


class Kind(StrEnum):
    """What a setting is set with."""

    SWITCH = "switch"
    CHOICE = "choice"
    WHOLE_NUMBER = "whole number"
    NUMBER = "number"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Shown:
    """Stands in the annotation of a field that is to be shown; its range, default and description are pydantic's."""

    group: Group
    label: str
    unit: str = ""  # behind a number
    step: float = 1  # of the arrow keys
    unset: str = ""  # what None means, in a word or two
    choices: tuple[tuple[str, str], ...] = ()  # values, and the words for them
    at_loading: bool = False  # holds from the next loading of a model on


class NotInRange(ValueError):
    """What was typed is no value of the setting."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting as the window of settings needs it."""

    name: str
    shown: Shown
    description: str
    kind: Kind
    default: SettingValue
    is_optional: bool  # None is a value
    low: float | None
    high: float | None

    def read(self, text: str) -> int | float | None:
        """The number that was typed. Raises NotInRange."""
        typed = text.strip()
        if not typed and self.is_optional:
            return None
        try:
            number = int(typed.replace(",", "")) if self.kind is Kind.WHOLE_NUMBER else float(typed.replace(",", "."))
        except ValueError:
            raise NotInRange(text) from None
        return self._checked(number)

    def stepped(self, value: float, steps: int) -> int | float:
        """`value` and so many steps on, as far as the range goes."""
        moved = round(value + steps * self.shown.step, 6)
        moved = max(moved, self.low if self.low is not None else moved)
        moved = min(moved, self.high if self.high is not None else moved)
        return int(moved) if self.kind is Kind.WHOLE_NUMBER else moved

    def written(self, value: SettingValue) -> str:
        """A number as it stands in its field."""
        return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)

    def _checked(self, number: float) -> int | float:
        too_low = self.low is not None and number < self.low
        too_high = self.high is not None and number > self.high
        if not isfinite(number) or too_low or too_high:
            raise NotInRange(str(number))
        return number


def shown_settings(model: type[BaseModel]) -> tuple[Setting, ...]:
    """All fields of the model that are to be shown, in their order."""
    found = ((name, field, _first(field, Shown)) for name, field in model.model_fields.items())
    return tuple(_setting(name, field, shown) for name, field, shown in found if shown is not None)


def _setting(name: str, field: FieldInfo, shown: Shown) -> Setting:
    low, high = _first(field, Ge), _first(field, Le)
    return Setting(
        name,
        shown,
        field.description or "",
        _kind(field, shown),
        cast(SettingValue, field.get_default()),
        NoneType in get_args(field.annotation),
        None if low is None else cast(float, low.ge),
        None if high is None else cast(float, high.le),
    )


def _kind(field: FieldInfo, shown: Shown) -> Kind:
    if shown.choices:
        return Kind.CHOICE
    types = set(get_args(field.annotation)) or {field.annotation}
    for type_, kind in ((bool, Kind.SWITCH), (int, Kind.WHOLE_NUMBER), (float, Kind.NUMBER), (str, Kind.TEXT)):
        if type_ in types:
            return kind
    raise TypeError(f"nothing sets a {field.annotation}")


def _first(field: FieldInfo, part: type[Part]) -> Part | None:
    return next((found for found in field.metadata if isinstance(found, part)), None)
