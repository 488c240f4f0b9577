from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.controllers.file_opening import FileOpening
from app.main_window import MainWindow
from app.startup.open_request import OpenRequest
from app.theme import ThemeKeeper


@pytest.fixture
def window(qtbot: QtBot, keeper: ThemeKeeper) -> MainWindow:
    window = MainWindow(keeper)
    qtbot.addWidget(window)
    window.show()
    return window


@pytest.fixture
def used() -> list[Path]:
    return []


@pytest.fixture
def opening(window: MainWindow, used: list[Path]) -> FileOpening:
    return FileOpening(window, used.append)


def test_a_model_is_used(opening: FileOpening, used: list[Path]) -> None:
    opening.open((Path("/models/x.GGUF"),))
    assert used == [Path("/models/x.GGUF")]


def test_profiles_chats_and_texts_go_where_they_go_when_they_are_dropped(
    qtbot: QtBot, opening: FileOpening, window: MainWindow, used: list[Path]
) -> None:
    with qtbot.waitSignal(window.profile_dropped) as profile:
        opening.open((Path("/me.slipstream"),))
    with qtbot.waitSignal(window.chats_dropped) as chats:
        opening.open((Path("/chats.json"),))
    with qtbot.waitSignal(window.texts_dropped) as texts:
        opening.open((Path("/a.md"), Path("/b.txt")))
    assert (profile.args, chats.args, texts.args) == (["/me.slipstream"], ["/chats.json"], [["/a.md", "/b.txt"]])
    assert used == []


def test_two_models_at_once_are_refused_in_a_sentence(
    opening: FileOpening, window: MainWindow, used: list[Path]
) -> None:
    opening.open((Path("/a.gguf"), Path("/b.gguf")))
    assert used == []
    assert "one after the other" in window.toasts.shown[0].words.text()


def test_a_further_start_brings_the_window_forward(
    opening: FileOpening, window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_ACTIVATION_TOKEN", "of this start")
    window.setWindowState(Qt.WindowState.WindowMinimized)
    opening.answer(OpenRequest((), "abc"))
    assert not window.isMinimized()
    assert window.isVisible()
    assert "XDG_ACTIVATION_TOKEN" not in os.environ, "what is started from here gets none"


_MACOS = """
from PySide6.QtCore import QUrl
from PySide6.QtGui import QFileOpenEvent
from app.startup.desktop_application import DesktopApplication
application = DesktopApplication()
application.opened.connect(lambda request: print("late", *request.files))
QApplication = type(application).__mro__[1]
QApplication.sendEvent(application, QFileOpenEvent(QUrl.fromLocalFile("/early.gguf")))
print("early", *application.take_early())
QApplication.sendEvent(application, QFileOpenEvent(QUrl.fromLocalFile("/late.gguf")))
print(application.desktopFileName(), application.applicationName())
"""


def test_files_that_macos_opens_wait_for_the_window() -> None:
    """In a process of its own: there is one application in each."""
    result = subprocess.run([sys.executable, "-c", _MACOS], capture_output=True, text=True, check=True)
    assert result.stdout == "early /early.gguf\nlate /late.gguf\nslipstream Slipstream\n"
