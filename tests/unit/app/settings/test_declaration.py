"""What is declared beside a field of the settings is all there is to know of it."""

from __future__ import annotations

from math import isfinite
from typing import Annotated

import pytest
from pydantic import BaseModel

from app.settings.app_settings import AppSettings
from app.settings.declaration import Kind, NotInRange, Setting, SettingsPage, Shown, shown_settings
from engine.values.parameters import Parameter


class Tea(BaseModel):
    hidden: int = 3
    sugar: Annotated[
        int | None, Parameter("Sugar", 1, 8, step=2, unset="None", about="Lumps."), Shown(SettingsPage.CHAT)
    ] = None
    warmth: Annotated[float, Parameter("Warmth", 0, 1, step=0.1), Shown(SettingsPage.GENERAL)] = 0.5
    milk: Annotated[bool, Shown(SettingsPage.GENERAL, "Milk")] = False
    kind: Annotated[str, Shown(SettingsPage.GENERAL, "Kind", choices=(("green", "Green"), ("black", "Black")))] = (
        "green"
    )


def of(name: str) -> Setting:
    return next(setting for setting in shown_settings(Tea) if setting.name == name)


def test_only_what_is_declared_as_shown_is_found_and_in_order() -> None:
    assert [(setting.name, setting.kind) for setting in shown_settings(Tea)] == [
        ("sugar", Kind.WHOLE_NUMBER),
        ("warmth", Kind.NUMBER),
        ("milk", Kind.SWITCH),
        ("kind", Kind.CHOICE),
    ]
    sugar = of("sugar")
    assert (sugar.number.low, sugar.number.high, sugar.default, sugar.number.is_optional) == (1, 8, None, True)
    assert sugar.description == "Lumps."


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [("sugar", "", None), ("sugar", " 8 ", 8), ("warmth", "0.25", 0.25), ("warmth", "0,25", 0.25), ("warmth", "1", 1)],
)
def test_numbers_are_read_as_they_are_typed(name: str, text: str, value: float | None) -> None:
    assert of(name).read(text) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [("sugar", "9"), ("sugar", "0"), ("sugar", "1.5"), ("sugar", "x"), ("warmth", ""), ("warmth", "nan"),
     ("warmth", "inf"), ("warmth", "1.01"), ("warmth", "-0.1")],
)  # fmt: skip
def test_what_is_outside_of_the_range_is_refused(name: str, text: str) -> None:
    with pytest.raises(NotInRange):
        of(name).read(text)


def test_steps_end_at_the_ends_of_the_range() -> None:
    assert of("warmth").stepped(0.7, 1) == 0.8
    assert of("warmth").stepped(0.95, 1) == 1
    assert of("sugar").stepped(2, -10) == 1


def test_every_setting_of_the_app_has_words_and_a_sentence() -> None:
    settings = shown_settings(AppSettings)
    assert len(settings) > 10
    for setting in settings:
        assert setting.label
        assert setting.description.endswith("."), setting.name


def test_every_number_within_its_range_suits_the_engine() -> None:
    for setting in shown_settings(AppSettings):
        for value in (setting.number.low, setting.number.high):
            if isfinite(value):
                changed = AppSettings().changed(**{setting.name: value})
                changed.reply_settings()
                changed.target_settings()
