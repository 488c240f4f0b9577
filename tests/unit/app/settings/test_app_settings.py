from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import pytest

from app.settings.app_settings import AppSettings, SettingsFile
from engine import LearningSettings, SamplingSettings
from engine.values.tools import ToolServer


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    assert SettingsFile(tmp_path).load() == (AppSettings(), "")


def test_settings_come_back_as_saved(tmp_path: Path) -> None:
    settings = AppSettings(
        target="/models/a.gguf", sampling=SamplingSettings(temperature=0.3), system_prompt="Be kind."
    )
    settings.window = b"\x00\xff any bytes"
    settings.learning, settings.learning_share, settings.learning_on_battery = False, 0.35, True
    settings.practice, settings.practice_minutes, settings.practice_tokens = False, 20, 300_000
    settings.practice_at_night, settings.night_begins, settings.night_ends = True, 23, 6
    SettingsFile(tmp_path / "new").save(settings)
    loaded = SettingsFile(tmp_path / "new").load()
    assert loaded == (settings, "")
    assert loaded[0].learning_settings() == LearningSettings(False, 0.35, True, False, 20, 300_000, True, 23, 6)


def test_learning_is_as_the_engine_has_it_unless_the_user_wants_otherwise() -> None:
    assert AppSettings().learning_settings() == LearningSettings()


@pytest.mark.parametrize("share", [0.05, 1])
def test_every_share_for_learning_that_can_be_kept_suits_the_engine(share: float) -> None:
    assert AppSettings(learning_share=share).learning_settings().share == share


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("learning_share", "0.049"),
        ("learning_share", "1.01"),
        ("learning_share", "NaN"),
        ("learning_share", "null"),
        ("learning", '"sometimes"'),
        ("learning_on_battery", "7"),
        ("practice_minutes", "0"),
        ("practice_tokens", "-1"),
        ("night_ends", "24"),
    ],
)
def test_learning_that_makes_no_sense_is_as_usual(tmp_path: Path, name: str, value: str) -> None:
    (tmp_path / "settings.json").write_text(f'{{"{name}": {value}, "top_k": 7}}')
    settings, sentence = SettingsFile(tmp_path).load()
    assert (settings.learning_settings(), settings.sampling.top_k) == (LearningSettings(), 7)
    assert name in sentence


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_only_the_user_can_read_them(tmp_path: Path) -> None:
    SettingsFile(tmp_path).save(AppSettings())
    assert stat.S_IMODE((tmp_path / "settings.json").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "content", [b"", b"\xff\x00", b"[]", b'{"temperature": 99}', b'{"version": 0}', b'{"window": "abc"}']
)
def test_a_file_that_makes_no_sense_is_set_aside_and_the_user_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "settings.json").write_bytes(content)
    settings, sentence = SettingsFile(tmp_path).load()
    assert settings == AppSettings()
    assert "settings.unreadable.json" in sentence
    assert (tmp_path / "settings.unreadable.json").read_bytes() == content


def test_one_wrong_field_does_not_cost_the_others(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"temperature": 99, "system_prompt": "Answer in French.", "top_k": 7}')
    settings, sentence = SettingsFile(tmp_path).load()
    assert (settings.system_prompt, settings.sampling.top_k) == ("Answer in French.", 7)
    assert settings.sampling.temperature == AppSettings().sampling.temperature
    assert "temperature" in sentence


def test_fields_of_a_newer_version_survive(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"version": 2, "colour": "teal"}')
    file = SettingsFile(tmp_path)
    file.save(file.load()[0])
    assert json.loads((tmp_path / "settings.json").read_text())["colour"] == "teal"


def test_a_drafter_that_was_only_the_default_becomes_automatic(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text('{"version": 1, "drafter": "built-in", "top_k": 7}')
    settings, sentence = SettingsFile(tmp_path).load()
    assert (settings.drafter, settings.version, settings.sampling.top_k, sentence) == ("automatic", 2, 7, "")
    file.write_text('{"version": 1, "drafter": "owner/name"}')
    assert SettingsFile(tmp_path).load()[0].drafter == "owner/name"


def test_a_drafter_that_is_chosen_today_stays(tmp_path: Path) -> None:
    SettingsFile(tmp_path).save(AppSettings(drafter="built-in"))
    assert SettingsFile(tmp_path).load()[0].drafter == "built-in"


def test_servers_of_tools_are_kept_as_the_json_that_others_share(tmp_path: Path) -> None:
    text = '{"mcpServers": {"files": {"command": "files-server", "env": {"KEY": "secret"}}}}'
    SettingsFile(tmp_path).save(AppSettings(tool_servers=text, tools_of_chats={"7": ("files",)}))
    loaded, complaint = SettingsFile(tmp_path).load()
    assert complaint == ""
    assert loaded.servers() == (ToolServer("files", "files-server", env=(("KEY", "secret"),)),)
    assert loaded.tools_of_chats == {"7": ("files",)}
    assert loaded.without_words() == AppSettings(), "forgetting everything takes them along"


def test_forgetting_takes_the_addresses_of_servers_along() -> None:
    reference = "http://192.168.1.5:8080/v1#big"
    identity = f"server:{reference}"
    settings = AppSettings(target=reference, target_identity=identity, thinking={identity: False, "file:1": True})
    assert settings.without_words() == AppSettings(thinking={"file:1": True})


def test_servers_that_cannot_be_read_are_none(tmp_path: Path) -> None:
    SettingsFile(tmp_path).save(AppSettings(theme="dark"))
    file = tmp_path / "settings.json"
    file.write_text(file.read_text("utf-8").replace('"tool_servers": ""', '"tool_servers": "{]"'), "utf-8")
    loaded, complaint = SettingsFile(tmp_path).load()
    assert (loaded.theme, loaded.servers()) == ("dark", ())
    assert "tool_servers" in complaint


def test_half_a_character_keeps_nothing_from_being_saved(tmp_path: Path) -> None:
    half = AppSettings(theme="dark", draft="a\ud800b", tools_last=("\udfff",), tools_of_chats={"7": ("c\ud800",)})
    SettingsFile(tmp_path).save(half)
    loaded, complaint = SettingsFile(tmp_path).load()
    assert (loaded.theme, loaded.draft, loaded.tools_last, complaint) == ("dark", "a?b", ("?",), "")
    assert loaded.tools_of_chats == {"7": ("c?",)}
