from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.models.rows import DrawnRow
from app.theme import ThemeKeeper
from app.widgets.rows_view import RowsView

ROWS = (DrawnRow("a", "A", "first"), DrawnRow("b", "B", "second", dimmed=True), DrawnRow("c", "C", "third"))


@pytest.fixture
def view(qtbot: QtBot, keeper: ThemeKeeper) -> RowsView:
    view = RowsView(keeper, "Things")
    qtbot.addWidget(view)
    view.resize(300, 300)
    view.set_rows(ROWS)
    with qtbot.waitExposed(view):
        view.show()
    return view


def test_enter_uses_what_is_pointed_at_unless_it_is_dimmed(view: RowsView) -> None:
    used: list[object] = []
    view.used.connect(used.append)
    view.point_at_first()
    QTest.keyClick(view, Qt.Key.Key_Return)
    QTest.keyClick(view, Qt.Key.Key_Down)
    assert view.current_key == "b"
    QTest.keyClick(view, Qt.Key.Key_Return)
    assert used == ["a"]


def test_a_click_uses_a_row(view: RowsView) -> None:
    used: list[object] = []
    view.used.connect(used.append)
    place = view.visualRect(view.rows.index(2)).center()
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place)
    assert used == ["c"]


def test_what_is_pointed_at_stays_when_rows_change_around_it(view: RowsView) -> None:
    view.point_at("c")
    told: list[object] = []
    view.pointed_at.connect(told.append)
    view.set_rows((DrawnRow("z", "Z", ""), DrawnRow("c", "C", "told anew")))
    assert view.current_key == "c"
    assert view.currentIndex().row() == 1
    assert told == []
    view.set_rows((DrawnRow("z", "Z", ""),))
    assert told == [None]


def test_a_screen_reader_is_told_all_of_a_row(view: RowsView) -> None:
    index = view.rows.index(0)
    assert index.data(Qt.ItemDataRole.AccessibleTextRole) == "A, first"
