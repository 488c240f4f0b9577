"""Pipes in place of the program's own files: nothing waits for somebody to write into them."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

import pytest

from app.crash.reports import CrashFolder
from app.crash.watch import log_file, log_to_file
from app.settings.app_settings import AppSettings, SettingsFile
from engine.backend.remote.keys import Keys
from engine.backend.remote.servers import Servers
from engine.backend.server.clients import Clients
from engine.values.errors import FileUnusable
from engine.values.places import CLIENTS, SERVERS, SETTINGS

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes in folders")


def test_the_settings_are_the_usual_ones_and_take_its_place(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / SETTINGS)
    file = SettingsFile(tmp_path)
    settings, sentence = file.load()
    assert settings == AppSettings()
    assert sentence.endswith("cannot be read (it is not a file); default settings are used.")
    file.save(settings)
    assert file.load() == (settings, "")


def test_no_program_with_a_key_is_let_in(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / CLIENTS)
    with pytest.raises(FileUnusable, match="cannot be read, so programs with a key are not let in"):
        Clients(tmp_path).all()


def test_no_server_is_known_until_it_is_forgotten(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / SERVERS)
    servers = Servers(tmp_path, Keys())
    with pytest.raises(FileUnusable, match="cannot be read, so no servers are known"):
        servers.all()
    servers.forget()
    assert servers.all() == ()


def test_there_is_no_log(tmp_path: Path) -> None:
    log_file(tmp_path).parent.mkdir()
    os.mkfifo(log_file(tmp_path))
    before = [*logging.getLogger("slipstream").handlers]
    log_to_file(tmp_path)
    assert logging.getLogger("slipstream").handlers == before


def test_there_is_no_crash_report(tmp_path: Path) -> None:
    folder = CrashFolder(tmp_path)
    folder.path.mkdir()
    os.mkfifo(folder.path / "1.native")
    assert folder.take_new() == ()
