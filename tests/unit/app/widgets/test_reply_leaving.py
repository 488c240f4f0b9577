"""What goes when a reply is no longer near."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.text.highlight import Lexing
from app.text.markdown import parse
from app.theme import ThemeKeeper
from app.widgets.transcript.reply_view import ReplyView


def test_the_blocks_of_a_reply_go_a_few_at_a_time(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    column = QWidget()
    qtbot.addWidget(column)
    view = ReplyView(keeper, Lexing(), parent=column)
    view.set_blocks(parse("```\na\n```\n\n" * 100), finished=True)
    qtbot.waitUntil(lambda: len(view.block_views) == 100)
    view.height_changed.connect(lambda: pytest.fail("nobody arranges it any more"))
    view.leave()
    assert view.isHidden()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)  # as the end of one turn does
    assert len(view.block_views) >= 80
    qtbot.waitUntil(lambda: column.findChild(ReplyView) is None)
