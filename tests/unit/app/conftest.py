from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.main_window import MainWindow
from app.theme import ThemeKeeper, apply_theme

# What the plugin without a display writes, whatever the window.
OFFSCREEN_NOISE = r"This plugin does not support ((propagateSizeHints|raise)\(\)|grabbing the keyboard)"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.qt_log_ignore(OFFSCREEN_NOISE))


@pytest.fixture(scope="session", autouse=True)
def _english(qapp: QApplication) -> None:
    """Also for tests that make words without widgets."""


@pytest.fixture(scope="session", autouse=True)
def _empty_clipboard(qapp: QApplication) -> Iterator[None]:  # noqa: ARG001
    """In the end: what Python has put there must not outlive Python, or the process dies of it."""
    yield
    QGuiApplication.clipboard().clear()


@pytest.fixture
def keeper(qapp: QApplication) -> Iterator[ThemeKeeper]:
    # Windows of earlier tests are deleted when an event loop runs; until then every theme is applied to them too.
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    keeper = apply_theme(qapp)
    keeper.show_scheme(Qt.ColorScheme.Light)
    yield keeper
    keeper.deleteLater()
    # Deletes the windows of this test before the next one applies a theme to everything there is.
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


@pytest.fixture
def window(qtbot: QtBot, keeper: ThemeKeeper) -> MainWindow:
    window = MainWindow(keeper, "1.2.3")
    qtbot.addWidget(window)
    with qtbot.waitExposed(window):
        window.show()
    return window
