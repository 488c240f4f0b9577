"""The tour: at the first start alone, beside what it is about, and ended with Esc."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.features.guided.tour import TourController
from app.main_window import MainWindow
from app.settings.app_settings import AppSettings
from app.settings.keeper import SettingsKeeper
from app.theme import ThemeKeeper
from app.widgets.tour import Tour
from engine.values.conversations import ConversationSummary
from engine.values.events import ConversationsListed
from tests.fakes.bridge import FakeBridge
from tests.fakes.chats import unsaved

CHAT = ConversationSummary(1, "Chat", datetime.now(UTC))


class Desk:
    def __init__(self, window: MainWindow, theme: ThemeKeeper, by_itself: bool, settings: AppSettings) -> None:
        self.window, self.bridge = window, FakeBridge()
        self.keeper: SettingsKeeper = unsaved(settings)
        self.controller = TourController(window, theme, self.bridge, self.keeper, by_itself)

    @property
    def tour(self) -> Tour:
        assert self.controller.tour is not None
        return self.controller.tour

    @property
    def is_shown(self) -> bool:
        return self.controller.tour is not None and self.controller.tour.isVisible()


def place(window: QWidget, part: QWidget) -> QRect:
    return QRect(part.mapTo(window, QPoint(0, 0)), part.size())


@pytest.mark.parametrize(
    ("by_itself", "seen", "chats", "shown"),
    [
        (True, False, (), True),
        (True, True, (), False),
        (True, False, (CHAT,), False),
        (False, False, (), False),
    ],
)
def test_it_is_shown_once_to_whoever_has_no_chats(
    window: MainWindow,
    keeper: ThemeKeeper,
    by_itself: bool,
    seen: bool,
    chats: tuple[ConversationSummary, ...],
    shown: bool,
) -> None:
    desk = Desk(window, keeper, by_itself, AppSettings(tour_seen=seen))
    desk.bridge.tell(ConversationsListed(chats))
    assert desk.is_shown is shown
    assert desk.keeper.settings.tour_seen is (by_itself or seen)
    ended: list[bool] = []
    desk.controller.first_ended.connect(ended.append)
    if shown:
        desk.tour.end()
    assert ended == [False] * shown, "what is offered next hears that it was skipped"
    desk.bridge.tell(ConversationsListed(()))
    assert not desk.is_shown


@pytest.mark.parametrize("size", [(1100, 760), (640, 480)])
@pytest.mark.parametrize("text_size", [100, 150])
def test_every_step_is_beside_its_part_and_whole(
    window: MainWindow, keeper: ThemeKeeper, size: tuple[int, int], text_size: int
) -> None:
    keeper.choose("dark", text_size)
    window.resize(*size)
    desk = Desk(window, keeper, False, AppSettings())
    window.tour_action.trigger()
    tour = desk.tour
    parts = (window.prompt_box.frame, window.meter, window.target_bar.name)
    for number, part in enumerate(parts, 1):
        QApplication.processEvents()
        assert tour.count.text() == f"Tour, {number} of 3"
        assert window.rect().contains(tour.geometry())
        assert not tour.geometry().intersects(place(window, part)), "it does not hide what it is about"
        assert tour.text.height() >= tour.text.heightForWidth(tour.text.width())
        assert tour.next_button.text() == ("Done" if number == 3 else "Next")
        tour.next_button.click()
    assert not tour.isVisible()
    assert window.prompt_box.editor.hasFocus()


def test_it_goes_back_follows_the_window_and_ends_with_esc(
    window: MainWindow, keeper: ThemeKeeper, qtbot: QtBot
) -> None:
    desk = Desk(window, keeper, False, AppSettings())
    with qtbot.waitActive(window):
        window.activateWindow()
    window.tour_action.trigger()
    tour = desk.tour
    assert tour.next_button.hasFocus()
    assert not tour.back_button.isVisible()
    QTest.keyClick(tour.next_button, Qt.Key.Key_Return)
    assert tour.count.text() == "Tour, 2 of 3"
    QTest.keyClick(tour.back_button, Qt.Key.Key_Space)
    assert tour.title.text() == "Write here"
    spoken = QAccessible.queryAccessibleInterface(tour)
    assert spoken.text(QAccessible.Text.Name) == "Tour, 1 of 3"
    assert spoken.text(QAccessible.Text.Description).startswith("Write here. Type a message")
    before = tour.geometry()
    window.resize(700, 500)
    QApplication.processEvents()
    assert tour.geometry() != before
    assert window.rect().contains(tour.geometry())
    handle = window.windowHandle()
    assert handle is not None
    QTest.keyClick(handle, Qt.Key.Key_Escape)
    assert not tour.isVisible()
    window.tour_action.trigger()
    assert tour.count.text() == "Tour, 1 of 3", "found again, from its beginning"
