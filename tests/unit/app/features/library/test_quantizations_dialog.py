from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.features.library.quantization_wording import QuantizationRow, quantization_rows
from app.features.library.quantizations_dialog import QuantizationsDialog
from app.theme import ThemeKeeper
from engine.values.quantizations import TuneReport
from tests.unit.app.library_samples import QWEN
from tests.unit.app.quantization_samples import OFFERS, ORIGINAL, REPORT

OWN = QuantizationRow("Q4_K_M", QWEN.size_bytes, is_original=True)
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def dialog(qtbot: QtBot, keeper: ThemeKeeper) -> QuantizationsDialog:
    assert keeper  # the style is applied
    dialog = QuantizationsDialog()
    qtbot.addWidget(dialog)
    dialog.show_model(QWEN.name, "", False)
    with qtbot.waitExposed(dialog):
        dialog.show()
    return dialog


def show(dialog: QuantizationsDialog, report: TuneReport | None = None, is_new: bool = True) -> None:
    own = OWN if report is None else replace(OWN, figures=report.original)
    dialog.show_quantizations(quantization_rows(own, OFFERS, report, [OFFERS[2].path]), report, is_new)


def cell(dialog: QuantizationsDialog, quantization: str, column: int) -> str:
    number = next(number for number, row in enumerate(dialog.table.rows) if row.quantization == quantization)
    item = dialog.table.item(number, column)
    return "" if item is None else item.text()


def point_at(dialog: QuantizationsDialog, quantization: str) -> None:
    dialog.table.setCurrentCell([row.quantization for row in dialog.table.rows].index(quantization), 0)


def test_all_quantizations_are_listed_with_their_sizes_before_anything_is_measured(dialog: QuantizationsDialog) -> None:
    show(dialog)
    assert [cell(dialog, row.quantization, 0) for row in dialog.table.rows][:3] == ["Q4_K_M (as it is)", "F16", "Q8_0"]
    assert cell(dialog, "Q8_0", 1) == "8.1 GB"
    assert cell(dialog, "Q8_0", 2) == "–"
    assert not dialog.advice.isVisible()
    assert cell(dialog, "F16", 2) == "There is no room for it in /models."
    assert "F16" not in [row.quantization for row in dialog.table.ticked]


def test_what_was_measured_is_side_by_side_with_the_model_and_there_is_advice(dialog: QuantizationsDialog) -> None:
    show(dialog, REPORT)
    words = [cell(dialog, "Q4_0", column) for column in range(dialog.table.columnCount())]
    assert words == [
        "Q4_0", "4.4 GB", "12.5", "1.32\u00a0×", "1.32\u00a0×", "1.65\u00a0×", "3.00\u00a0×", "92\u00a0%", "0.046"
    ]  # fmt: skip
    assert [cell(dialog, "Q4_K_M", column) for column in (2, 3, 5, 8)] == ["9.43", "–", "1.65\u00a0×", "–"]
    assert dialog.advice.text().startswith("Q4_0 would write 1.32 times as fast")
    assert "its words differ a little: 92\u00a0% are the same" in dialog.advice.text()
    assert dialog.table.current is not None
    assert dialog.table.current.quantization == "Q4_0", "what is advised can be kept at once"


def test_quantizations_are_ticked_with_the_keyboard_and_measured(qtbot: QtBot, dialog: QuantizationsDialog) -> None:
    show(dialog)
    assert [row.quantization for row in dialog.table.ticked] == ["Q8_0", "Q4_0"]
    assert "Measuring 2 quantizations takes about 11 min" in dialog.needs.text()
    point_at(dialog, "Q8_0")
    QTest.keyClick(dialog.table, Qt.Key.Key_Space)
    QTest.keyClick(dialog.table, Qt.Key.Key_Down)
    QTest.keyClick(dialog.table, Qt.Key.Key_Down)
    QTest.keyClick(dialog.table, Qt.Key.Key_Space)
    with qtbot.waitSignal(dialog.measure_requested) as wanted:
        QTest.mouseClick(dialog.measure_button, LEFT)
    assert wanted.args == [("Q5_K_M", "Q4_0"), False]
    show(dialog, REPORT, is_new=False)
    assert [row.quantization for row in dialog.table.ticked] == ["Q5_K_M", "Q4_0"], "ticks stay as they are"


def test_without_a_tick_nothing_is_measured(qtbot: QtBot, dialog: QuantizationsDialog) -> None:
    show(dialog)
    for quantization in ("Q8_0", "Q4_0"):
        point_at(dialog, quantization)
        QTest.keyClick(dialog.table, Qt.Key.Key_Space)
    assert dialog.needs.text() == "Tick the quantizations to measure."
    with qtbot.assertNotEmitted(dialog.measure_requested):
        QTest.mouseClick(dialog.measure_button, LEFT)
    point_at(dialog, "F16")  # which cannot be made
    QTest.keyClick(dialog.table, Qt.Key.Key_Space)
    assert dialog.table.ticked == ()


def test_one_is_kept_or_used_if_it_is_in_the_library(qtbot: QtBot, dialog: QuantizationsDialog) -> None:
    show(dialog, REPORT)
    with qtbot.waitSignal(dialog.keep_requested) as kept:
        QTest.mouseClick(dialog.keep_button, LEFT)
    assert kept.args == ["Q4_0"]
    point_at(dialog, "Q6_K")
    assert dialog.keep_button.text() == "Use Q6_K"
    with qtbot.waitSignal(dialog.use_requested) as used:
        QTest.mouseClick(dialog.keep_button, LEFT)
    assert used.args == [str(OFFERS[2].path)]
    point_at(dialog, "F16")
    assert not dialog.keep_button.isEnabled()
    assert dialog.keep_button.toolTip() == OFFERS[0].problem
    point_at(dialog, "Q4_K_M")
    assert not dialog.keep_button.isVisible()


def test_what_is_under_way_can_be_cancelled_and_nothing_else_begun(qtbot: QtBot, dialog: QuantizationsDialog) -> None:
    show(dialog, REPORT)
    assert not dialog.cancel_button.isVisible()
    dialog.show_busy(True)
    dialog.show_progress(0.5)
    dialog.show_progress(0.4)
    assert dialog.progress.value() == 500, "it never goes back"
    assert not dialog.measure_button.isEnabled()
    assert not dialog.keep_button.isEnabled()
    with qtbot.waitSignal(dialog.cancel_requested):
        QTest.mouseClick(dialog.cancel_button, LEFT)
    assert not dialog.cancel_button.isEnabled()
    dialog.show_busy(False)
    assert dialog.measure_button.isEnabled()
    assert not dialog.progress.isVisible()
    dialog.show_busy(True)
    assert dialog.progress.value() == 0


def test_closing_does_not_cancel(qtbot: QtBot, dialog: QuantizationsDialog) -> None:
    dialog.show_busy(True)
    with qtbot.assertNotEmitted(dialog.cancel_requested):
        QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()


def test_the_starters_quantization_can_be_undone(qtbot: QtBot, dialog: QuantizationsDialog) -> None:
    assert not dialog.starter.isVisible()
    dialog.show_model("smol (starter)", "The starter model uses its original quantization, Q4_1.", False)
    assert dialog.starter.isVisible()
    assert not dialog.reset_button.isVisible()
    QApplication.processEvents()  # which puts the button into its place
    with qtbot.waitSignal(dialog.starter_tune_requested):
        QTest.mouseClick(dialog.tune_button, LEFT)
    dialog.show_model("smol (starter)", "The starter model uses Q8_0.", True)
    QApplication.processEvents()
    with qtbot.waitSignal(dialog.starter_reset_requested):
        QTest.mouseClick(dialog.reset_button, LEFT)


@pytest.mark.parametrize("percent", [100, 150])
def test_all_of_it_fits_a_small_screen(dialog: QuantizationsDialog, keeper: ThemeKeeper, percent: int) -> None:
    many = tuple(replace(OFFERS[1], quantization=f"Q{number}_K_M") for number in range(14))
    dialog.show_model("smol (starter)", "The starter model uses Q8_0, and a long sentence says why. " * 2, True)
    report = replace(REPORT, original=ORIGINAL)
    dialog.show_quantizations(
        quantization_rows(replace(OWN, figures=ORIGINAL), (*many, *OFFERS), report, ()), report, True
    )
    dialog.show_words("qwen2.5-7b: timing Q4_0.")
    dialog.show_busy(True)
    keeper.choose("light", percent)
    QApplication.processEvents()
    assert dialog.minimumSizeHint().width() <= 1366
    assert dialog.minimumSizeHint().height() <= 0.95 * 768
