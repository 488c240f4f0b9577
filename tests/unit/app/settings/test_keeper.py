from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import pytest
from PySide6.QtCore import QSettings
from pytestqt.qtbot import QtBot

from app.settings.app_settings import AppSettings, SettingsFile
from app.settings.keeper import SettingsKeeper


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[SettingsKeeper]:
    keeper = SettingsKeeper(SettingsFile(tmp_path / "data"), AppSettings(target="/m.gguf", window=b"eHl6"))
    yield keeper
    if not keeper._is_closed:
        keeper.close()


def kept(tmp_path: Path) -> AppSettings:
    return SettingsFile(tmp_path / "data").load()[0]


def test_a_change_is_told_at_once_and_on_the_disk_soon(qtbot: QtBot, keeper: SettingsKeeper, tmp_path: Path) -> None:
    with qtbot.waitSignal(keeper.changed, timeout=100):
        assert keeper.change("top_k", 7) == ""
    assert keeper.settings.sampling.top_k == 7
    qtbot.waitUntil(lambda: kept(tmp_path).sampling.top_k == 7)
    assert kept(tmp_path).window == b"xyz", "the others are what they were"


def test_what_makes_no_sense_is_never_taken(qtbot: QtBot, keeper: SettingsKeeper) -> None:
    with qtbot.assertNotEmitted(keeper.changed):
        assert keeper.change("top_p", 1.5)
        assert keeper.change("temperature", 1e-6) == "Temperature is 1e-06; choose 0 or at least 0.0001."
    assert keeper.settings.sampling.top_p == AppSettings().sampling.top_p


def test_many_changes_are_written_once_and_cost_next_to_nothing(
    qtbot: QtBot, keeper: SettingsKeeper, tmp_path: Path
) -> None:
    started = perf_counter()
    for number in range(50):
        keeper.change("top_k", number)
    assert (perf_counter() - started) / 50 < 0.005
    qtbot.waitUntil(lambda: kept(tmp_path).sampling.top_k == 49)


def test_what_the_app_remembers_is_kept_without_a_word(qtbot: QtBot, keeper: SettingsKeeper, tmp_path: Path) -> None:
    with qtbot.assertNotEmitted(keeper.changed):
        keeper.note(drafter="/d")
    qtbot.waitUntil(lambda: kept(tmp_path).drafter == "/d")


def test_reset_leaves_what_the_app_remembers(keeper: SettingsKeeper) -> None:
    keeper.change("top_k", 7)
    keeper.change("shortcuts", {"new": "Ctrl+M"})
    keeper.reset()
    assert keeper.settings.sampling.top_k == AppSettings().sampling.top_k
    assert keeper.settings.shortcuts == {}
    assert keeper.settings.target == "/m.gguf"


def test_closing_writes_what_waits(keeper: SettingsKeeper, tmp_path: Path) -> None:
    keeper.change("top_k", 7)
    keeper.close()
    assert kept(tmp_path).sampling.top_k == 7


def test_a_disk_that_refuses_is_told_in_a_sentence(qtbot: QtBot, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    keeper = SettingsKeeper(SettingsFile(tmp_path / "file"), AppSettings())
    with qtbot.waitSignal(keeper.failed) as failed:
        keeper.change("top_k", 7)
    assert failed.args is not None
    assert failed.args[0].startswith("The settings could not be saved: ")
    with pytest.raises(OSError, match="file"):
        keeper.close()


def test_what_a_disk_refused_is_saved_when_it_takes_it(qtbot: QtBot, keeper: SettingsKeeper, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.write_text("no folder")
    keeper.change("top_k", 7)
    with qtbot.waitSignal(keeper.failed):
        keeper.forget_words()
    with qtbot.assertNotEmitted(keeper.failed, wait=1200):
        pass  # it is tried again meanwhile
    data.unlink()
    data.mkdir()
    left = data / ".settings.json.abc.part"
    left.write_text("quicksilver")
    qtbot.waitUntil(lambda: kept(tmp_path).sampling.top_k == 7 and not left.exists())


def test_what_the_user_wrote_leaves_the_settings_and_all_their_files(
    qtbot: QtBot, keeper: SettingsKeeper, tmp_path: Path
) -> None:
    keeper.change("top_k", 7)
    keeper.change("system_prompt", "quicksilver")
    keeper.note(draft="quicksilver")
    QSettings.setPath(QSettings.Format.NativeFormat, QSettings.Scope.UserScope, str(tmp_path))
    dialogs = QSettings(QSettings.Scope.UserScope, "QtProject")
    dialogs.setValue("FileDialog/lastVisited", "file:///home/me/quicksilver")
    dialogs.sync()
    data = tmp_path / "data"
    data.mkdir()
    left = [data / name for name in ("settings.unreadable.json", ".settings.json.abc.part")]
    for file in left:
        file.write_text("quicksilver")
    keeper.forget_words()
    qtbot.waitUntil(lambda: not any(file.exists() for file in left))
    assert b"quicksilver" not in b"".join(file.read_bytes() for file in data.iterdir())
    keeper.close()
    assert not QSettings(QSettings.Scope.UserScope, "QtProject").contains("FileDialog/lastVisited")
    assert kept(tmp_path).sampling.top_k == 7


def test_a_newer_versions_fields_may_hold_words(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"version": 2, "theme": "dark", "notes": "quicksilver"}')
    settings, _ = SettingsFile(tmp_path).load()
    assert settings.model_extra == {"notes": "quicksilver"}
    assert settings.without_words() == AppSettings(theme="dark")
