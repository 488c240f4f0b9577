"""Whoever sees little, or has no mouse: every window can be heard, walked through with Tab, and read at twice the size.

The windows are those of `top_levels.py`.
"""

from __future__ import annotations

from itertools import pairwise

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QScrollArea, QWidget
from pytestqt.qtbot import QtBot

from app.theme import ThemeKeeper
from app.widgets.parts import ElidedLabel
from tests.unit.app.top_levels import TOP_LEVELS

SIZE_PX = (1100, 760)
_COUNT_LIMIT = 300  # of presses of Tab until one is lost in a circle


@pytest.fixture(params=sorted(TOP_LEVELS))
def window(request: pytest.FixtureRequest, qtbot: QtBot, keeper: ThemeKeeper) -> QWidget:
    return shown(qtbot, TOP_LEVELS[request.param](keeper))


def shown(qtbot: QtBot, window: QWidget) -> QWidget:
    qtbot.addWidget(window)
    with qtbot.waitActive(window):
        window.show()
        window.activateWindow()
    QApplication.processEvents()
    return window


def is_ours(widget: QWidget) -> bool:
    """Not a part that Qt makes of one of its own widgets."""
    return not widget.objectName().startswith("qt_") and widget.focusProxy() is None


def parts(window: QWidget) -> list[QWidget]:
    return [widget for widget in window.findChildren(QWidget) if widget.isVisible() and is_ours(widget)]


def name(widget: QWidget) -> str:
    interface = QAccessible.queryAccessibleInterface(widget)
    return "" if interface is None else str(interface.text(QAccessible.Text.Name))


def describe(widget: QWidget) -> str:
    return f"{type(widget).__name__} {name(widget) or widget.objectName()!r} at {widget.geometry().getRect()}"


def test_everything_that_takes_the_keyboard_has_a_name_and_tab_leads_to_it_as_one_reads(window: QWidget) -> None:
    """Within a part of the window: from one line to the next, and within a line from left to right."""
    focusable = [widget for widget in parts(window) if widget.focusPolicy() != Qt.FocusPolicy.NoFocus]
    focusable = [widget for widget in focusable if not isinstance(widget, QLabel)]  # whose text is its name
    assert focusable
    assert [describe(widget) for widget in focusable if not name(widget).strip()] == []
    stops = tab_stops(window)
    missing = [widget for widget in parts(window) if takes_tab(widget) and widget not in stops]
    radio_buttons = [widget for widget in missing if isinstance(widget, QAbstractButton) and widget.autoExclusive()]
    assert [describe(widget) for widget in missing if widget not in radio_buttons] == [], "arrows choose among those"
    backwards = []
    for first, second in pairwise(stops):
        if first.parentWidget() is second.parentWidget():
            above, below = area(window, first), area(window, second)
            if below.bottom() < above.top() or (below.right() < above.left() and below.bottom() <= above.bottom()):
                backwards.append(f"{describe(first)} -> {describe(second)}")
    assert len(backwards) <= 1, backwards  # where the circle closes


def tab_stops(window: QWidget) -> list[QWidget]:
    """What Tab leads to, from where the window begins and once round."""
    stops: list[QWidget] = []
    for _ in range(_COUNT_LIMIT):
        focused = QApplication.focusWidget()
        if focused in stops:
            return stops
        if focused is not None:
            stops.append(focused)
        QTest.keyClick(focused or window, Qt.Key.Key_Tab)
    raise AssertionError("Tab does not come round")


def takes_tab(widget: QWidget) -> bool:
    return bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus) and widget.isEnabled()


def area(window: QWidget, widget: QWidget) -> QRect:
    return QRect(widget.mapTo(window, QPoint(0, 0)), widget.size())


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_one_sees_where_the_keyboard_is(window: QWidget, keeper: ThemeKeeper, scheme: str) -> None:
    keeper.choose(scheme, 100)
    unseen = []
    stops = tab_stops(window)
    for stop in stops:
        box = stop.parentWidget() or stop
        stop.setFocus(Qt.FocusReason.TabFocusReason)
        QApplication.processEvents()
        focused = box.grab().toImage()
        if window.inherits("QMainWindow"):  # to whose message box a keyboard without a place returns
            next(each for each in stops if not box.isAncestorOf(each)).setFocus()
        else:
            stop.clearFocus()
        QApplication.processEvents()
        if focused == box.grab().toImage():
            unseen.append(describe(stop))
    assert unseen == []


def test_nothing_is_cut_off_at_twice_the_size(window: QWidget, keeper: ThemeKeeper) -> None:
    keeper.choose("light", 200)
    QApplication.processEvents()
    layout = window.layout()
    if window.inherits("QMainWindow"):
        window.resize(*SIZE_PX)
    elif layout is not None:  # as on a large screen
        width = max(window.width(), layout.totalSizeHint().width())
        window.resize(width, max(window.height(), layout.totalHeightForWidth(width)))
    for _ in range(3):
        QApplication.processEvents()
    assert [describe(widget) for widget in parts(window) if is_cut_off(widget)] == []
    if window.inherits("QMainWindow"):
        assert (window.width(), window.height()) == SIZE_PX, "there is room for all of it"


def is_cut_off(widget: QWidget) -> bool:
    """Whether a text has less room than it takes. What may be shortened needs its height only."""
    metrics = widget.fontMetrics()
    if isinstance(widget, QScrollArea):
        inside = widget.widget()
        return inside is not None and inside.width() > widget.viewport().width()
    if isinstance(widget, QAbstractButton) and widget.text():
        return widget.height() < metrics.height() or widget.width() < metrics.horizontalAdvance(widget.text())
    if isinstance(widget, ElidedLabel):
        return widget.height() < metrics.height()
    if isinstance(widget, QLabel) and widget.text():
        if widget.wordWrap():
            return widget.height() < widget.heightForWidth(widget.width())
        return widget.height() < metrics.height() or widget.width() < widget.minimumSizeHint().width()
    return False
