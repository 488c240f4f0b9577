from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.theme import ThemeKeeper
from app.widgets.table import Heading, Table

HEADINGS = (Heading("Name", "What it is called", is_words=True), Heading("Size", "How large it is"))


def table(qtbot: QtBot, num_rows: int, least_letters: int = 0) -> Table:
    made = Table(HEADINGS, 3, least_letters)
    qtbot.addWidget(made)
    made.setRowCount(num_rows)
    for number in range(num_rows):
        made.show_row(number, ("one", "1.0"))
    with qtbot.waitExposed(made):
        made.show()
    return made


def test_it_is_as_high_as_its_rows_up_to_a_number_of_them(qtbot: QtBot) -> None:
    for num_rows in range(4):
        shown = table(qtbot, num_rows)
        assert shown.viewport().height() >= num_rows * shown.rowHeight(0)
        assert not shown.verticalScrollBar().isVisible()
    assert table(qtbot, 9).height() == shown.height() > table(qtbot, 2).height()


def test_it_grows_with_its_text(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    shown = table(qtbot, 3, least_letters=9)
    height, width = shown.height(), shown.columnWidth(1)
    keeper.choose("system", 150)
    QApplication.processEvents()
    assert shown.height() > 1.2 * height
    assert shown.columnWidth(1) > 1.2 * width


def test_a_cell_says_what_its_column_means_or_more(qtbot: QtBot) -> None:
    shown = table(qtbot, 1)
    shown.show_row(0, ("two", "2.0"), tip="The second one", is_bold=True)
    cells = [cell for column in range(2) if (cell := shown.item(0, column)) is not None]
    assert [cell.text() for cell in cells] == ["two", "2.0"]
    assert [cell.toolTip() for cell in cells] == ["The second one", "How large it is"]
    assert [bool(cell.textAlignment() & Qt.AlignmentFlag.AlignLeft) for cell in cells] == [True, False]
    assert all(cell.font().bold() for cell in cells)
