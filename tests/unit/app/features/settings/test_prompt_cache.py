"""The prompt cache as the settings show it, on a bridge without an engine."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from app.features.settings.prompt_cache import PromptCacheController
from app.features.settings.settings import SettingsController
from app.main_window import MainWindow
from app.settings.app_settings import AppSettings, SettingsFile
from app.settings.keeper import SettingsKeeper
from app.theme import ThemeKeeper
from app.widgets.option_row import LinkRow
from engine import PromptCacheSettings
from tests.fakes.bridge import FakeBridge
from tests.fakes.chats import Chats


def test_how_much_is_kept_is_shown_limited_and_deleted_by_keyboard(
    qtbot: QtBot, keeper: ThemeKeeper, tmp_path: Path
) -> None:
    window, bridge = MainWindow(keeper), FakeBridge()
    qtbot.addWidget(window)
    settings = SettingsKeeper(SettingsFile(tmp_path), AppSettings())
    controller = SettingsController(window, keeper, settings, Chats(window, bridge, keeper=settings).target)
    PromptCacheController(window, keeper, bridge, settings, controller)
    window.show()
    window.settings_action.trigger()
    engine = bridge.engine.prompt_cache
    (measuring,) = bridge.asked(engine.measure)
    dialog = controller.dialog
    row = next(row for row in dialog.findChildren(LinkRow) if row.name == "Delete prompt caches")
    assert row.description == "No prompt caches are stored at the moment."
    assert not row.button.isEnabled()
    measuring.answer(1_240_000_000)
    assert row.description.startswith("1.2 GB in use. ")
    assert row.button.accessibleName() == row.name
    row.button.setFocus()
    QTest.keyClick(row.button, Qt.Key.Key_Space)
    assert len(bridge.asked(engine.forget_all)) == 1
    field = dialog.rows["readings_gb"].control
    assert isinstance(field, QLineEdit)
    assert field.text() == "2"
    field.selectAll()
    QTest.keyClicks(field, "0.5")
    QTest.keyClick(field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: bridge.calls[-1] == ("use", PromptCacheSettings(0.5)))
    bridge.last(engine.use).answer(0)
    assert not row.button.isEnabled()
