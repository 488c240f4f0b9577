from __future__ import annotations

import os
import sys
from pathlib import Path

import platformdirs
import pytest

from engine.values.config import DATA_DIR_VARIABLE, PORTABLE_FOLDER, data_dir
from engine.values.errors import FileUnusable
from engine.values.places import expanded, update_url

USUAL = platformdirs.user_data_path("slipstream", appauthor=False)


@pytest.fixture(autouse=True)
def _no_own_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (DATA_DIR_VARIABLE, "APPIMAGE", "APPDIR"):
        monkeypatch.delenv(name, raising=False)


def bundle(monkeypatch: pytest.MonkeyPatch, executable: Path) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", str(executable))


def test_from_its_source_nothing_is_portable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    (tmp_path / PORTABLE_FOLDER).mkdir()
    assert data_dir() == USUAL


def test_a_folder_beside_the_program_is_used_where_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle(monkeypatch, tmp_path / "slipstream")
    assert data_dir() == USUAL
    (tmp_path / PORTABLE_FOLDER).mkdir()
    assert data_dir() == tmp_path / PORTABLE_FOLDER
    monkeypatch.setenv(DATA_DIR_VARIABLE, str(tmp_path / "chosen"))
    assert data_dir() == tmp_path / "chosen", "what is named comes first"


def test_beside_an_app_of_macos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle(monkeypatch, tmp_path / "Slipstream.app/Contents/MacOS/slipstream")
    (tmp_path / PORTABLE_FOLDER).mkdir()
    assert data_dir() == tmp_path / PORTABLE_FOLDER


def test_beside_an_app_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APPIMAGE", str(tmp_path / "Slipstream.AppImage"))
    monkeypatch.setenv("APPDIR", "/tmp/.mount_Slip")
    (tmp_path / PORTABLE_FOLDER).mkdir()
    assert data_dir() == USUAL, "another program's image has started this one"
    monkeypatch.setattr(sys, "executable", "/tmp/.mount_Slip/usr/bin/python3")
    assert data_dir() == tmp_path / PORTABLE_FOLDER


def test_one_that_cannot_be_written_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle(monkeypatch, tmp_path / "slipstream")
    (tmp_path / PORTABLE_FOLDER).mkdir()
    monkeypatch.setattr(os, "access", lambda *_asked: False)
    with pytest.raises(FileUnusable, match="slipstream-data, which cannot be written"):
        data_dir()


def test_this_build_asks_nobody_for_updates_unless_it_is_told_whom(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLIPSTREAM_UPDATE_URL", raising=False)
    assert update_url() == ""
    monkeypatch.setenv("SLIPSTREAM_UPDATE_URL", "https://example.org/latest")
    assert update_url() == "https://example.org/latest"


@pytest.mark.skipif(sys.platform == "win32", reason="another system of home folders")
def test_a_user_without_a_home_folder_is_told_to_name_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DATA_DIR_VARIABLE, "~nosuchuser/slipstream")
    with pytest.raises(FileUnusable, match=f"name a folder for them with {DATA_DIR_VARIABLE}"):
        data_dir()
    assert expanded("~nosuchuser/model.gguf") == Path("~nosuchuser/model.gguf")
    monkeypatch.delenv(DATA_DIR_VARIABLE)
    for name in ("HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 54_321)  # as some containers run programs
    with pytest.raises(FileUnusable, match=f"name a folder for them with {DATA_DIR_VARIABLE}"):
        data_dir()
    monkeypatch.setenv(DATA_DIR_VARIABLE, str(tmp_path))
    assert data_dir() == tmp_path
