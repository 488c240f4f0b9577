"""How a setting is shown. A field of `AppSettings` says it in its annotation; everything that lists settings is made
from that. The engine's parameters bring their own words.

Words are English, and translated with the context "Settings" where they are shown. `make translations` collects them
from these declarations.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, is_dataclass, replace
from enum import StrEnum
from math import isfinite
from typing import cast

# There are no plugins of pydantic here; looking for them reads files of every installed package.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from app.text.numbers import formatted, read_number, read_whole
from engine.values.parameters import NO_NUMBER, Parameter, Scope, parameters

SettingValue = bool | int | float | str | None


class SettingsPage(StrEnum):
    """A page of the settings; the value is its title."""

    GENERAL = "General"
    APPEARANCE = "Appearance"
    CHAT = "Chat"
    MODELS = "Models"
    SHORTCUTS = "Shortcuts"


class Kind(StrEnum):
    """What a setting is set with."""

    SWITCH = "switch"
    CHOICE = "choice"
    WHOLE_NUMBER = "whole number"
    NUMBER = "number"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Shown:
    """Annotates a field that is shown. A number gets its words from its `Parameter`, a dataclass of the engine from
    those of its fields."""

    group: SettingsPage
    label: str = ""
    about: str = ""
    choices: tuple[tuple[str, str], ...] = ()  # values, and the words for them


class NotInRange(ValueError):
    """The typed text is no value of the setting."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting as the window of settings needs it."""

    name: str
    group: SettingsPage
    label: str
    description: str
    kind: Kind
    default: SettingValue
    choices: tuple[tuple[str, str], ...] = ()
    number: Parameter = NO_NUMBER

    def read(self, text: str) -> int | float | None:
        """Reads a typed number. Raises NotInRange."""
        typed = text.strip()
        if not typed and self.number.is_optional:
            return None
        try:
            number = read_whole(typed) if self.kind is Kind.WHOLE_NUMBER else read_number(typed)
        except ValueError:
            raise NotInRange(text) from None
        if not isfinite(number) or not self.number.low <= number <= self.number.high:
            raise NotInRange(text)
        return number

    def stepped(self, value: float, steps: int) -> int | float:
        """`value` moved by this many steps, within the range."""
        moved = min(max(round(value + steps * self.number.step, 6), self.number.low), self.number.high)
        return int(moved) if self.kind is Kind.WHOLE_NUMBER else moved

    def written(self, value: SettingValue) -> str:
        """The number as its field shows it."""
        return "" if value is None else formatted(value, "g") if isinstance(value, float) else str(value)


def shown_settings(model: type[BaseModel]) -> tuple[Setting, ...]:
    """The shown fields of the model, in their order."""
    return tuple(_shown_settings(model))


def _shown_settings(model: type[BaseModel]) -> Iterator[Setting]:
    for name, field in model.model_fields.items():
        shown = next((part for part in field.metadata if isinstance(part, Shown)), None)
        number = next((part for part in field.metadata if isinstance(part, Parameter)), None)
        default = cast(SettingValue, field.get_default())
        if shown is None:
            continue
        if isinstance(field.annotation, type) and is_dataclass(field.annotation):
            for each in parameters(field.annotation, Scope.SETTINGS):
                yield _number(each, shown.group)
        elif number is not None:
            yield _number(replace(number, name=name, kind=field.annotation, default=default), shown.group)
        else:
            yield Setting(name, shown.group, shown.label, shown.about, _kind(field, shown), default, shown.choices)


def _number(number: Parameter, group: SettingsPage) -> Setting:
    kind = Kind.WHOLE_NUMBER if number.is_whole else Kind.NUMBER
    return Setting(number.name, group, number.title, number.explanation, kind, number.default, number=number)


def _kind(field: FieldInfo, shown: Shown) -> Kind:
    if shown.choices:
        return Kind.CHOICE
    for type_, kind in ((bool, Kind.SWITCH), (str, Kind.TEXT)):
        if field.annotation is type_:
            return kind
    raise TypeError(f"nothing sets a {field.annotation}")
