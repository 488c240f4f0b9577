from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtWidgets import QApplication

from app.theme import ThemeKeeper, apply_theme

# Of the plugin without a display, whatever the window.
OFFSCREEN_NOISE = r"This plugin does not support (propagateSizeHints|raise)\(\)"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.qt_log_ignore(OFFSCREEN_NOISE))


@pytest.fixture
def keeper(qapp: QApplication) -> Iterator[ThemeKeeper]:
    keeper = apply_theme(qapp)
    keeper.show_scheme(Qt.ColorScheme.Light)
    yield keeper
    keeper.deleteLater()
    # The windows of this test are gone before the next one dresses everything that there is.
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
