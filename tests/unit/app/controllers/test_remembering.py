from __future__ import annotations

from pathlib import Path
from typing import cast

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.controllers.chat import ChatController
from app.controllers.drafter import DrafterController
from app.controllers.personal import PersonalController
from app.controllers.remembering import Remembering
from app.engine_bridge import EngineBridge
from app.main_window import MainWindow
from app.settings.app_settings import AppSettings, SettingsFile
from app.settings.keeper import SettingsKeeper
from app.theme import ThemeKeeper
from engine import LearningSettings, ReplySettings, TargetSettings
from engine.messages.events import TargetInfo, TargetReady
from tests.fakes.bridge import FakeBridge


def test_what_was_chosen_is_on_the_disk_before_the_app_is_closed(
    qtbot: QtBot, keeper: ThemeKeeper, tmp_path: Path
) -> None:
    window = MainWindow(keeper)
    qtbot.addWidget(window)
    fake = FakeBridge()
    bridge = cast(EngineBridge, fake)
    settings = SettingsKeeper(SettingsFile(tmp_path), AppSettings(temperature=0.3))
    chat = ChatController(window, bridge, ReplySettings(), TargetSettings(), "", window)
    drafters = DrafterController(window, bridge, tmp_path, "built-in")
    personal = PersonalController(window, bridge, LearningSettings())
    remembering = Remembering(window, bridge, settings, chat, drafters, personal)

    window.target_bar.target_chosen.emit("/models/x.gguf")
    fake.happened.emit(TargetReady(TargetInfo("x", "/models/x.gguf", "llama", 1000, 10, 2), fake.loads[-1]))
    QCoreApplication.processEvents()
    QTest.keyClick(personal.dialog.learning.on_battery, Qt.Key.Key_Space)

    def kept() -> AppSettings:
        return SettingsFile(tmp_path).load()[0]

    qtbot.waitUntil(lambda: kept().learning_on_battery)
    assert (kept().target, kept().temperature) == ("/models/x.gguf", 0.3)
    window.resize(900, 700)
    remembering.remember()
    settings.close()
    assert kept().window == window.state()
