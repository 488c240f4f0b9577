from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest
from pytestqt.qtbot import QtBot

from app.startup.desktop_application import InterfaceGarbage


@pytest.fixture
def garbage(qtbot: QtBot) -> Iterator[InterfaceGarbage]:  # noqa: ARG001
    was_enabled = gc.isenabled()
    yield InterfaceGarbage()
    gc.unfreeze()
    if was_enabled:
        gc.enable()


def test_what_was_imported_late_is_not_looked_at_again(
    garbage: InterfaceGarbage, monkeypatch: pytest.MonkeyPatch
) -> None:
    garbage._begin()
    before = gc.get_freeze_count()
    late = [[number] for number in range(1_000)]
    garbage._collect()
    assert gc.get_freeze_count() <= before, "nothing was imported"
    for number in range(60):
        monkeypatch.setitem(sys.modules, f"late_{number}", ModuleType(f"late_{number}"))
    garbage._collect()
    assert gc.get_freeze_count() >= before + len(late)
