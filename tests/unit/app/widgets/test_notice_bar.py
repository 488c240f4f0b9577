from __future__ import annotations

import pytest
from PySide6.QtWidgets import QApplication

from app.main_window import MainWindow
from engine.values.conversations import Message
from tests.unit.app.widgets.messages import prompt, reply

_NOTICE = "Slipstream 1.3 is available. " * 4


def chat(num_turns: int) -> tuple[Message, ...]:
    turns = ((prompt(n, "What?"), reply(n + 1, "Words. " * 60)) for n in range(0, 2 * num_turns, 2))
    return tuple(message for turn in turns for message in turn)


def places(window: MainWindow) -> dict[int, int]:
    """Of the messages that are in sight, on the screen."""
    QApplication.processEvents()
    column = window.transcript.column
    views = ((row, column.view_of(row)) for row, _ in column.visible_rows())
    return {id(row): view.mapToGlobal(view.rect().topLeft()).y() for row, view in views if view is not None}


@pytest.mark.parametrize("num_turns", [1, 12])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_what_one_reads_does_not_move_when_a_notice_comes_and_goes(
    window: MainWindow, num_turns: int, share: float
) -> None:
    window.transcript.show_messages(chat(num_turns))
    bar = window.transcript.column.verticalScrollBar()
    bar.setValue(round(share * bar.maximum()))
    before = places(window)
    window.notices.show_notice("update", _NOTICE, (("Open the download page", print),))
    shared = before.keys() & places(window).keys()
    assert shared
    assert {key: places(window)[key] for key in shared} == {key: before[key] for key in shared}
    window.notices.dismiss("update")
    assert {key: places(window)[key] for key in shared} == {key: before[key] for key in shared}


def test_what_a_notice_covers_can_be_scrolled_out_from_under_it(window: MainWindow) -> None:
    window.transcript.show_messages(chat(1))
    column = window.transcript.column
    window.notices.show_notice("update", _NOTICE, ())
    assert column.following, "all of it is there"
    column.verticalScrollBar().setValue(column.verticalScrollBar().minimum())
    first = min(places(window).values())
    assert first >= window.notices.mapToGlobal(window.notices.rect().bottomLeft()).y()
    window.transcript.show_messages(chat(1))
    assert min(places(window).values()) == first, "another chat begins below it"
    window.transcript.show_messages(chat(12))
    bar = column.verticalScrollBar()
    assert bar.value() == bar.maximum()
