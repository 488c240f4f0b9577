from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from app.theme import ThemeKeeper
from app.widgets.toast import MOST_TOASTS, Toasts


@pytest.fixture
def toasts(qtbot: QtBot, keeper: ThemeKeeper) -> Toasts:
    toasts = Toasts(keeper)
    qtbot.addWidget(toasts)
    return toasts


def test_undo_is_told_once_and_closes(toasts: Toasts) -> None:
    undone: list[bool] = []
    toast = toasts.show_info("Deleted", "Undo", lambda: undone.append(True))
    assert toasts.isVisible()
    assert toast.action_button is not None
    QTest.mouseClick(toast.action_button, Qt.MouseButton.LeftButton)
    assert undone == [True]
    assert toasts.shown == ()
    assert not toasts.isVisible()


def test_infos_go_by_themselves(qtbot: QtBot, toasts: Toasts) -> None:
    toast = toasts.show_info("Saved", time_ms=1)
    with qtbot.waitSignal(toast.closed):
        pass
    assert toasts.shown == ()


def test_errors_stay_until_closed(toasts: Toasts) -> None:
    toast = toasts.show_error("Broken")
    assert not toast._timer.isActive()
    QTest.mouseClick(toast.close_button, Qt.MouseButton.LeftButton)
    assert toasts.shown == ()


def test_the_oldest_gives_way(toasts: Toasts) -> None:
    for number in range(5):
        toasts.show_info(f"Number {number}")
    assert [toast.words.text() for toast in toasts.shown] == ["Number 3", "Number 4"]
    assert len(toasts.shown) == MOST_TOASTS


def test_the_same_error_is_shown_once(toasts: Toasts) -> None:
    toasts.show_error("Broken")
    toasts.show_error("Broken")
    assert len(toasts.shown) == 1


def test_markup_in_messages_is_shown_as_it_is(toasts: Toasts) -> None:
    assert toasts.show_error("<b>x</b>").words.textFormat() == Qt.TextFormat.PlainText


LONG = "The store /data/" + "very" * 60 + "/slipstream.sqlite is damaged."


def test_long_words_wrap_and_are_copied_whole(toasts: Toasts) -> None:
    toasts.resize(400, 10)
    toast = toasts.show_error(LONG)
    assert toast.words.text() == LONG
    assert toasts.minimumSizeHint().width() < 400
    QTest.mouseClick(toast.copy_button, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == LONG


def test_an_error_gives_way_to_errors_only(toasts: Toasts) -> None:
    for number in range(2):
        toasts.show_error(f"Broken {number}")
    for number in range(3):
        toasts.show_info(f"Info {number}")
    assert [toast.words.text() for toast in toasts.shown] == ["Broken 0", "Broken 1", "Info 2"]
    toasts.show_error("Broken 2")
    assert [toast.words.text() for toast in toasts.shown] == ["Broken 1", "Broken 2"]


def test_a_long_path_is_broken_behind_a_sign_and_not_in_a_word(toasts: Toasts) -> None:
    path = "/home/robin/.local/share/slipstream/slipstream.sqlite"
    shown = QLabel.text(toasts.show_error(f"The store {path} is damaged.").words)
    parts = next(word for word in shown.split() if "robin" in word).split("\u200b")
    assert "".join(parts) == path
    assert all(part[-1] in "/." for part in parts[:-1])
    run = "x" * 60
    assert QLabel.text(toasts.show_error(run).words).count("\u200b") == 59, "else it would be wider than the window"
