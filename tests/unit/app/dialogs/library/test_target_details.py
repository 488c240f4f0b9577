from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.dialogs.library.target_details import PathField
from app.theme import ThemeKeeper

PATH = "/home/someone/Documents/models/bartowski/Meta-Llama-3.1-8B-Instruct-GGUF/llama-3.1-8b.gguf"


def test_a_long_path_loses_its_middle_until_it_is_to_be_read_or_copied(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    assert keeper  # the style is applied
    window = QWidget()
    qtbot.addWidget(window)
    other = QPushButton("Other", window)
    field = PathField(window)
    column = QVBoxLayout(window)
    column.addWidget(other)
    column.addWidget(field)
    window.resize(300, 100)
    with qtbot.waitActive(window):
        window.show()
        window.activateWindow()
    other.setFocus()
    field.show_path(PATH)
    assert "…" in field.text()
    assert field.text().endswith("8b.gguf")
    assert field.fontMetrics().horizontalAdvance(field.text()) <= field.width()
    assert field.toolTip() == PATH
    QTest.keyClick(other, Qt.Key.Key_Tab)
    assert field.hasFocus()
    assert field.text() == PATH
    QTest.keyClick(field, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QApplication.clipboard().text() == PATH
    QTest.keyClick(field, Qt.Key.Key_Backtab)
    assert "…" in field.text()
    window.resize(1200, 100)
    assert field.text() == PATH
    field.show_path("/models/small.gguf")
    assert field.text() == "/models/small.gguf"
