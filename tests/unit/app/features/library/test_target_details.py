from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFormLayout, QLabel, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.features.library.quantization_wording import advice_words
from app.features.library.target_details import PathField, TargetDetailsView
from app.theme import ThemeKeeper
from engine import SamplingSettings
from engine.values.targets import LibraryTarget
from tests.unit.app.library_samples import GONE, QWEN
from tests.unit.app.quantization_samples import MEASURED, REPORT, STARTER_IN_Q8

LABEL, FIELD = QFormLayout.ItemRole.LabelRole, QFormLayout.ItemRole.FieldRole
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


def facts(view: TargetDetailsView, target: LibraryTarget) -> dict[str, str]:
    """Those that are shown, by their names."""
    view.show_target(target, False)
    found = {}
    for row in range(view.facts.rowCount()):
        label, value = (item and item.widget() for item in (view.facts.itemAt(row, role) for role in (LABEL, FIELD)))
        if view.facts.isRowVisible(row) and isinstance(label, QLabel) and isinstance(value, QLabel):
            found[label.text()] = value.text()
    return found


def test_what_was_measured_of_a_model_is_told_and_nothing_else(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    assert keeper  # the style is applied
    view = TargetDetailsView(SamplingSettings())
    qtbot.addWidget(view)
    measured = ("Speed here", "Checking guesses", "Other quantizations")
    assert not set(measured) & set(facts(view, QWEN))
    shown = facts(view, MEASURED)
    assert [shown[name] for name in measured] == [
        "9.43 tok/s without speed-up",
        "4 tokens at once take 1.6 times as long as one, 8 take 3.0 times",
        advice_words(REPORT),
    ]
    shown = facts(view, STARTER_IN_Q8)
    assert shown["Speed here"] == "147 tok/s without speed-up", "in the form that is used"
    assert shown["Other quantizations"].startswith("The starter model uses Q8_0: 1.24 times as fast")
    assert not view.quantizations_button.isHidden()
    facts(view, GONE)
    assert view.quantizations_button.isHidden()
