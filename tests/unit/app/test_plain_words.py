"""Words of users and of files are shown as they are: never as HTML, never as a shortcut, with marks for what is unseen.

The windows are those of `top_levels.py`.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QApplication, QLabel, QMessageBox, QPushButton, QToolTip, QWidget
from pytestqt.qtbot import QtBot

from app.dialogs.parts import question_box
from app.main_window import MainWindow
from app.models.rows import Row
from app.theme import ThemeKeeper
from app.widgets.parts import ElidedLabel
from engine.messages.conversations import ConversationSummary
from engine.messages.events import TargetInfo
from tests.unit.app.test_accessibility import shown
from tests.unit.app.top_levels import TOP_LEVELS

MEANT = {"SpeedDetails"}  # have a table in HTML, with escaped words


def labels(window: QWidget) -> list[QLabel]:
    return [label for label in window.findChildren(QLabel) if type(label.parent()).__name__ not in MEANT]


@pytest.mark.parametrize("name", sorted(TOP_LEVELS))
def test_no_label_takes_words_for_html(qtbot: QtBot, keeper: ThemeKeeper, name: str) -> None:
    window = shown(qtbot, TOP_LEVELS[name](keeper))
    window.ensurePolished()
    for label in labels(window):
        label.ensurePolished()  # also on pages that are not open
    html = [label for label in labels(window) if label.textFormat() is not Qt.TextFormat.PlainText]
    assert [(type(label.parent()).__name__, label.text()) for label in html] == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")
def test_no_tooltip_opens_a_file(qtbot: QtBot, keeper: ThemeKeeper, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)  # whoever opens it waits for ever
    picture = f"<img src='{pipe}'>"
    window = shown(qtbot, TOP_LEVELS["main window, chat"](keeper))
    assert isinstance(window, MainWindow)
    window.conversations.set_conversations((ConversationSummary(1, picture, datetime.now(UTC)),))
    window.target_bar.set_target(TargetInfo(picture, picture, picture, 8192, 10, 2))
    row = window.conversations.model.index(0)
    for words in (row.data(Qt.ItemDataRole.ToolTipRole), Row(1, picture, picture, tooltip=picture).about, picture):
        QToolTip.showText(QPoint(5, 5), words, window)
        (tip,) = (each for each in QApplication.topLevelWidgets() if each.inherits("QTipLabel"))
        assert isinstance(tip, QLabel)
        assert tip.textFormat() is Qt.TextFormat.PlainText
        assert tip.text().startswith("<img"), "it is shown as it is"
    QToolTip.hideText()


def test_no_question_takes_words_for_html(qtbot: QtBot, keeper: ThemeKeeper) -> None:  # noqa: ARG001
    parent = QWidget()
    qtbot.addWidget(parent)
    box = question_box(parent, "Delete", "Delete <b>“chat”</b>?", "It has <img src='x'>.")
    plain = QMessageBox(QMessageBox.Icon.Warning, "Slipstream", "<b>No</b>", parent=parent)
    for each in (box, plain):
        each.show()
        assert {label.textFormat() for label in each.findChildren(QLabel)} == {Qt.TextFormat.PlainText}
        each.close()


def test_no_letter_of_a_name_is_a_shortcut(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    window = MainWindow(keeper, "1.2.3")
    qtbot.addWidget(window)
    window.target_bar.set_target(TargetInfo("Salt & &Pepper", "/x.gguf", "", 8192, 10, 2))
    assert window.target_bar.name.words == "Salt & &Pepper"
    given = [button for button in window.findChildren(QPushButton) if "Pepper" in button.text()]
    assert given
    assert [button.shortcut() for button in given] == [QKeySequence()] * len(given)


def test_what_is_unseen_is_marked_where_names_are_shown(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    label = ElidedLabel()
    qtbot.addWidget(label)
    label.set_words("photo\u202egpj.exe")
    assert label.words == label.accessibleName() == "photo‹U+202E›gpj.exe"
    label.setToolTip("photo\u202egpj.exe")
    assert "U+202E right-to-left override" in label.toolTip()
    window = MainWindow(keeper, "1.2.3")
    qtbot.addWidget(window)
    window.conversations.set_conversations((ConversationSummary(1, "a\u202eb" + "x" * 10**6, datetime.now(UTC)),))
    index = window.conversations.model.index(0)
    assert len(index.data(Qt.ItemDataRole.ToolTipRole)) < 5_000, "a tooltip is no novel"
    assert index.data(Qt.ItemDataRole.EditRole).startswith("a\u202eb"), "it is kept as it was"
    window.toasts.show_error("“a\u202eb” is gone.")
    assert "a‹U+202E›b" in QLabel.text(window.toasts.shown[0].words)
    assert window.toasts.shown[0].words.text() == "“a\u202eb” is gone.", "what is copied"
