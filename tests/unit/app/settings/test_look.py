from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

from app.settings.app_settings import AppSettings, SettingsFile
from app.settings.declaration import shown_settings
from app.settings.look import Look, Theme, read_look
from engine.values.places import SETTINGS


def test_what_was_saved_is_what_the_window_begins_with(tmp_path: Path) -> None:
    settings = AppSettings(theme="dark", text_size=120, window=b"b2s=", has_chatted=True, language="de")
    SettingsFile(tmp_path).save(settings)
    loaded, _ = SettingsFile(tmp_path).load()
    assert read_look(tmp_path) == Look("dark", 120, loaded.window, has_chatted=True, language="de")


def test_defaults_are_those_of_the_settings(tmp_path: Path) -> None:
    settings = AppSettings()
    assert read_look(tmp_path) == Look(
        settings.theme, settings.text_size, settings.window, settings.has_chatted, settings.language
    )


def test_themes_are_those_of_the_settings() -> None:
    for setting in shown_settings(AppSettings):
        if setting.choices:
            field = AppSettings.model_fields[setting.name]
            assert tuple(value for value, _ in setting.choices) == get_args(field.annotation)
    assert get_args(AppSettings.model_fields["theme"].annotation) == get_args(Theme)


@pytest.mark.parametrize("size", [79, 80, 200, 201])
def test_sizes_range_as_in_the_settings(tmp_path: Path, size: int) -> None:
    (tmp_path / SETTINGS).write_text(json.dumps({"text_size": size}))
    settings, _ = SettingsFile(tmp_path).load()
    (tmp_path / SETTINGS).write_text(json.dumps({"text_size": size}))  # what makes no sense was set aside
    assert read_look(tmp_path).text_size == settings.text_size


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"\xff\xfe",
        b"[" * 100_000,
        json.dumps({"theme": "pink", "text_size": "big", "window": 3, "has_chatted": "yes"}).encode(),
        json.dumps({"theme": ["dark"], "text_size": True, "window": "x"}).encode(),
    ],
)
def test_what_makes_no_sense_is_left_at_its_default(tmp_path: Path, content: bytes) -> None:
    (tmp_path / SETTINGS).write_bytes(content)
    assert read_look(tmp_path) == Look()
