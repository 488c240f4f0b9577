"""What lies in the data folder is for its user alone, whatever the umask, and whoever writes there first."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from app.crash.reports import CrashFolder
from app.settings.app_settings import AppSettings, SettingsFile
from app.startup.instance_lock import InstanceLock
from engine.backend.remote.keys import Keys
from engine.backend.remote.servers import Servers
from engine.backend.server.clients import Clients
from engine.speculation.drafter.gguf_adapter import adapter_file
from engine.speculation.model.files.suspects import Suspects
from engine.values.remote import RemoteServer

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")


def _try_a_model(folder: Path) -> None:
    with Suspects(folder).watched("gguf:abc"):
        _check(folder)


def _apply_what_was_learned(folder: Path) -> None:
    with adapter_file(folder / "adapters", "llama", {"blk.0.attn_q.weight.lora_a": np.ones((2, 2), np.float32)}):
        _check(folder)


def _name_a_server(folder: Path) -> None:
    Servers(folder, Keys(lambda: None)).save(RemoteServer("desk", "http://localhost:1"))


def _lock_the_folder(folder: Path) -> None:
    with closing(InstanceLock(folder)) as lock:
        assert lock.take()


@pytest.mark.parametrize(
    "write",
    [
        _try_a_model,
        _apply_what_was_learned,
        _name_a_server,
        lambda folder: Clients(folder).add("editor"),
        lambda folder: CrashFolder(folder).write("What.", "Where."),
        _lock_the_folder,
        lambda folder: SettingsFile(folder).save(AppSettings()),
    ],
)
def test_a_generous_umask_opens_nothing(tmp_path: Path, write: Callable[[Path], object]) -> None:
    before = os.umask(0)
    try:
        write(tmp_path / "data")
        _check(tmp_path / "data")
    finally:
        os.umask(before)


def _check(folder: Path) -> None:
    found = [folder, *folder.rglob("*")]
    assert len(found) > 1
    open_folders = [each for each in found if each.is_dir() and stat.S_IMODE(each.stat().st_mode) & 0o077]
    assert not open_folders
