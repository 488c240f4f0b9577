from __future__ import annotations

from PySide6.QtWidgets import QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.widgets.flow import FlowLayout


def test_a_row_goes_on_in_the_next_line(qtbot: QtBot) -> None:
    inside = QWidget()
    qtbot.addWidget(inside)
    buttons = [QPushButton(words, inside) for words in ("Use", "Show in folder", "Remove…")]
    inside.setLayout(flow := FlowLayout(buttons, spacing=8, line_spacing=6))
    all_px = sum(each.sizeHint().width() for each in buttons) + 16
    height = max(each.sizeHint().height() for each in buttons)
    assert flow.sizeHint().width() == all_px
    assert flow.heightForWidth(all_px) == height
    assert flow.heightForWidth(all_px - 1) == 2 * height + 6
    assert flow.minimumSize().width() == max(each.minimumSizeHint().width() for each in buttons)
    inside.resize(all_px - 1, 200)
    inside.show()
    assert buttons[2].x() == buttons[0].x()
    assert buttons[2].y() > buttons[1].y() == buttons[0].y()
    buttons[1].hide()
    qtbot.waitUntil(lambda: buttons[2].y() == buttons[0].y())
