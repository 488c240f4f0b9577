"""What a report says and what it never says, when there is one, and how many are kept."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.crash.reports import CrashFolder, error_line, error_text, machine_text, settings_text, without_home
from app.settings.app_settings import AppSettings
from engine import SamplingSettings
from engine.values.errors import MendableError

SECRET = "my dear diary"


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/alice")
    monkeypatch.setenv("USERPROFILE", "/home/alice")
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "alice")


def caught(error: Exception) -> Exception:
    try:
        raise error
    except Exception as raised:
        return raised


def test_an_error_is_told_with_its_place_and_without_foreign_words() -> None:
    text = error_text(caught(KeyError(SECRET)))
    assert f'File "{__file__}", line' in text
    assert "in caught" in text
    assert "KeyError (its words are left out" in text
    assert SECRET not in text


def test_words_of_python_itself_are_told_and_of_code_that_raises_never() -> None:
    with pytest.raises(TypeError) as raised:
        (SECRET + 1)  # type: ignore[operator]
    assert 'TypeError: can only concatenate str (not "int") to str' in error_text(raised.value)
    assert error_line(raised.value).startswith("TypeError at test_reports.py:")
    for kind in (TypeError, AttributeError, RuntimeError, AssertionError, ValueError, MendableError):
        assert SECRET not in error_text(caught(kind(SECRET))) + error_line(caught(kind(SECRET)))
    assert "PermissionError: [Errno 13] Permission denied" in error_text(
        caught(PermissionError(13, "Permission denied", f"/home/alice/{SECRET}.json"))
    )


def test_what_an_error_came_from_is_told_too() -> None:
    error = caught(TypeError("no number"))
    error.__cause__ = caught(ValueError(SECRET))
    text = error_text(error)
    assert "\n\nwhich came from\n" in text
    assert "ValueError" in text
    assert SECRET not in text
    assert "/home/alice/" not in text


def test_the_user_has_no_name() -> None:
    assert (
        without_home("/home/alice/x, /media/alice/y, C:\\Users\\alice\\z") == "~/x, /media/user/y, C:\\Users\\user\\z"
    )


def test_settings_are_told_without_texts() -> None:
    settings = AppSettings(
        theme="dark",
        sampling=SamplingSettings(top_k=7),
        system_prompt=SECRET,
        draft=SECRET,
        target=f"/models/{SECRET}.gguf",
        window=b"eHl6",
    )
    assert settings_text(settings).splitlines() == ["theme = dark", "top_k = 7"]


def test_the_machine_is_told() -> None:
    text = machine_text()
    assert "slipstream 0." in text
    assert "llama_cpp_python" in text
    assert f"{os.cpu_count()} cores" in text


def test_few_reports_are_kept(tmp_path: Path) -> None:
    folder = CrashFolder(tmp_path)
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    for day in range(14):
        report = folder.write("What.", "Where.", when=begin + timedelta(days=day))
        assert report is not None
        if day % 2:
            folder.mark_shown(report)
    kept = sorted(file.stem for file in folder.path.iterdir())
    assert len(kept) == 10
    assert kept[0].startswith("slipstream-crash-20260105")
    assert len(folder.take_new()) == 5, "those that nobody was shown"


def test_a_folder_that_cannot_be_written_raises_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    folder = CrashFolder(tmp_path / "file")
    assert folder.write("What.", "Where.") is None
    with folder.native_file() as native:
        assert native is None
    assert folder.take_new() == ()
