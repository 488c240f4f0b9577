"""Words of users and of files are shown as they are: never as HTML, never as a shortcut, with marks for what is unseen.

The windows are those of `top_levels.py`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QModelIndex, QPoint, Qt
from PySide6.QtGui import QHelpEvent, QKeySequence
from PySide6.QtGui import Qt as TextQt
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QLabel,
    QListView,
    QMessageBox,
    QPushButton,
    QTableView,
    QToolTip,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.main_window import MainWindow
from app.models.rows import DrawnRow
from app.theme import ThemeKeeper
from app.widgets.dialog_parts import question_box
from app.widgets.parts import ElidedLabel
from engine.values.conversations import ConversationSummary
from engine.values.events import TargetInfo
from engine.values.replies import OriginRun
from tests.unit.app.test_accessibility import shown
from tests.unit.app.top_levels import TOP_LEVELS
from tests.unit.app.widgets.meter.test_speed_meter import KEPT

TAG = re.compile(r"</?[a-zA-Z][a-z0-9]*[ />]|&(?:[a-z]+|#\d+);")


@pytest.mark.parametrize("name", sorted(TOP_LEVELS))
def test_no_label_takes_words_for_html(qtbot: QtBot, keeper: ThemeKeeper, name: str) -> None:
    window = shown(qtbot, TOP_LEVELS[name](keeper))
    window.ensurePolished()
    for label in window.findChildren(QLabel):
        label.ensurePolished()  # also on pages that are not open
    html = [label for label in window.findChildren(QLabel) if label.textFormat() is not Qt.TextFormat.PlainText]
    assert [(type(label.parent()).__name__, label.text()) for label in html] == []


def said(widget: QWidget) -> Iterator[str]:
    """All that a widget shows or tells, but for texts that are written in it."""
    yield from (widget.toolTip(), widget.whatsThis(), widget.accessibleName(), widget.accessibleDescription())
    if isinstance(widget, QLabel | QAbstractButton):
        yield widget.text()
    for action in widget.actions():
        yield from (action.text(), action.toolTip(), action.statusTip())
    model = widget.model() if isinstance(widget, QTableView | QListView) else None
    if model is not None:
        columns = 1 if isinstance(widget, QListView) else model.columnCount(QModelIndex())
        for row, column in product(range(model.rowCount()), range(columns)):
            for role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
                yield str(model.index(row, column).data(role) or "")


@pytest.mark.parametrize("name", sorted(TOP_LEVELS))
def test_no_tag_of_ours_is_in_sight(qtbot: QtBot, keeper: ThemeKeeper, name: str) -> None:
    """None of our words are HTML: they would be shown with their tags."""
    window = shown(qtbot, TOP_LEVELS[name](keeper))
    if isinstance(window, MainWindow):
        window.meter.show_details()
    told = [words for part in (window, *window.findChildren(QWidget)) for words in said(part)]
    assert any(told)
    assert [words for words in told if TextQt.mightBeRichText(words) or TAG.search(words)] == []


def test_the_tooltip_of_the_speed_is_read_as_it_is_shown(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    window = shown(qtbot, TOP_LEVELS["main window, chat"](keeper))
    assert isinstance(window, MainWindow)
    window.meter.show_reply(replace(KEPT, origins=(OriginRun(10, "<b>x</b>"), OriginRun(10, "recall"))), "<i>host</i>")
    headline = window.meter.headline
    point = headline.rect().center()
    QApplication.sendEvent(headline, QHelpEvent(QEvent.Type.ToolTip, point, headline.mapToGlobal(point)))
    (tip,) = (each for each in QApplication.topLevelWidgets() if each.inherits("QTipLabel") and each.isVisible())
    assert isinstance(tip, QLabel)
    assert tip.textFormat() is Qt.TextFormat.PlainText
    first, *others = tip.text().splitlines()
    assert first == headline.text()
    assert "Written on: <i>host</i>" in others, "words from elsewhere are shown as they are"
    assert TAG.sub("", tip.text().replace("<i>host</i>", "")) == tip.text().replace("<i>host</i>", "")
    QToolTip.hideText()


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
    for words in (row.data(Qt.ItemDataRole.ToolTipRole), DrawnRow(1, picture, picture, tooltip=picture).about, picture):
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
