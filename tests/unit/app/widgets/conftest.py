from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from app.theme import ThemeKeeper
from app.widgets.prompt.pictures import Pictures
from app.widgets.transcript.transcript import Transcript


@pytest.fixture
def transcript(qtbot: QtBot, keeper: ThemeKeeper) -> Transcript:
    transcript = Transcript(keeper, Pictures())
    qtbot.addWidget(transcript)
    transcript.resize(900, 600)
    with qtbot.waitExposed(transcript):
        transcript.show()
    return transcript
