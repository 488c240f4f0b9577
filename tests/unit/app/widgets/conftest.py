from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from app.main_window import MainWindow
from app.theme import ThemeKeeper
from app.widgets.pictures import Pictures
from app.widgets.transcript import Transcript


@pytest.fixture
def window(qtbot: QtBot, keeper: ThemeKeeper) -> MainWindow:
    window = MainWindow(keeper, "1.2.3")
    qtbot.addWidget(window)
    with qtbot.waitExposed(window):
        window.show()
    return window


@pytest.fixture
def transcript(qtbot: QtBot, keeper: ThemeKeeper) -> Transcript:
    transcript = Transcript(keeper, Pictures())
    qtbot.addWidget(transcript)
    transcript.resize(900, 600)
    with qtbot.waitExposed(transcript):
        transcript.show()
    return transcript
