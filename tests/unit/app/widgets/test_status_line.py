from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from app.theme import ThemeKeeper
from app.widgets.status_line import StatusLine


@pytest.fixture
def line(qtbot: QtBot, keeper: ThemeKeeper) -> StatusLine:
    line = StatusLine(keeper)
    qtbot.addWidget(line)
    return line


@pytest.mark.parametrize(("used", "level"), [(0, "calm"), (799, "calm"), (800, "high"), (950, "full"), (1200, "full")])
def test_the_gauge_warns_as_the_context_fills(line: StatusLine, used: int, level: str) -> None:
    line.set_context(used, 1000)
    assert line.gauge.property("level") == level
    assert line.context.text() == f"{used:,} / 1,000"


def test_speed_and_tokens(line: StatusLine) -> None:
    line.set_speed(1204, 31.04)
    assert line.speed.text() == "31.0 tok/s  ·  1,204 tokens"
    line.clear()
    assert line.speed.text() == ""
    assert line.gauge.isHidden()
