"""The server as the window shows it, on a bridge without an engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QCheckBox
from pytestqt.qtbot import QtBot

from app.features.server.server import ServerController
from app.main_window import MainWindow
from app.settings.app_settings import AppSettings, SettingsFile
from app.settings.keeper import SettingsKeeper
from app.theme import ThemeKeeper
from engine import ServerSettings
from engine.values.serving import Client, OpenServer
from tests.fakes.bridge import Asked, FakeBridge


@pytest.fixture
def window(qtbot: QtBot, keeper: ThemeKeeper) -> MainWindow:
    window = MainWindow(keeper)
    qtbot.addWidget(window)
    window.show()
    return window


def used(bridge: FakeBridge) -> list[Asked]:
    return bridge.asked(bridge.engine.server.use)


def settings_of(bridge: FakeBridge) -> ServerSettings | None:
    settings: ServerSettings | None = used(bridge)[-1].args[0]
    return settings


def controller_of(window: MainWindow, folder: Path, settings: AppSettings) -> tuple[ServerController, FakeBridge]:
    bridge = FakeBridge()
    return ServerController(window, bridge, SettingsKeeper(SettingsFile(folder), settings)), bridge


def test_it_is_off_until_it_is_switched_on_by_keyboard(window: MainWindow, tmp_path: Path) -> None:
    controller, bridge = controller_of(window, tmp_path, AppSettings())
    controller.follow()
    assert not bridge.all_asked
    controller.action.trigger()
    dialog = controller.dialog
    assert [each.method for each in bridge.all_asked] == [bridge.engine.clients.all]
    assert dialog.state.text() == "Off. No connections are accepted."
    assert not dialog.copy_button.isEnabled()
    dialog.switch.setFocus()
    QTest.keyClick(dialog.switch, Qt.Key.Key_Space)
    assert used(bridge)[-1].args == (ServerSettings(), AppSettings().reply_settings())
    used(bridge)[-1].answer(OpenServer("http://127.0.0.1:8642"))
    assert dialog.state.text() == "Programs reach it at http://127.0.0.1:8642/v1; they need no other setting."
    dialog.copy_button.click()
    assert QGuiApplication.clipboard().text() == "http://127.0.0.1:8642/v1"
    dialog.port.setText("9000")
    QTest.keyClick(dialog.port, Qt.Key.Key_Return)
    dialog.needs_key.click()
    assert settings_of(bridge) == ServerSettings(port=9000, needs_key=True)
    used(bridge)[-1].answer(OpenServer("http://127.0.0.1:9000", needs_key=True))
    assert dialog.state.text() == "Programs reach it at http://127.0.0.1:9000/v1 with a key; create one below."
    dialog.switch.click()
    assert settings_of(bridge) is None
    QGuiApplication.clipboard().clear()


def test_it_is_opened_at_the_start_where_it_was_on_and_says_what_is_wrong(window: MainWindow, tmp_path: Path) -> None:
    controller, bridge = controller_of(window, tmp_path, AppSettings(server=True, server_port=9000))
    controller.follow()
    controller.follow()
    assert len(used(bridge)) == 1
    assert settings_of(bridge) == ServerSettings(port=9000)
    used(bridge)[-1].fail("Another program already uses port 9000; choose another port.")
    controller.action.trigger()
    assert controller.dialog.state.text() == "Another program already uses port 9000; choose another port."
    controller.resume(controller.kept())
    assert len(used(bridge)) == 2, "in another language, it is tried again and what is wrong is said again"


def test_programs_get_keys_that_are_shown_once(window: MainWindow, tmp_path: Path) -> None:
    controller, bridge = controller_of(window, tmp_path, AppSettings())
    controller.action.trigger()
    dialog, clients = controller.dialog, bridge.engine.clients
    QTest.keyClicks(dialog.name, "phone")
    QTest.keyClick(dialog.name, Qt.Key.Key_Return)
    (addition,) = bridge.asked(clients.add)
    assert addition.args == ("phone", False)
    addition.answer("slip-secret")
    bridge.asked(clients.all)[-1].answer((Client("phone"),))
    assert "slip-secret" in dialog.key.text()
    remembers, speeds_up = (each for each in dialog.findChildren(QCheckBox) if "phone" in each.accessibleName())
    remembers.click()
    assert bridge.asked(clients.change)[-1].args == ("phone", True)
    assert not speeds_up.isChecked()
    speeds_up.click()
    assert bridge.asked(clients.change)[-1].kwargs == {"drafts_from_chats": True}
    dialog.client_unwanted.emit("phone")
    (removal,) = bridge.asked(clients.remove)
    assert removal.args == ("phone",)
    removal.fail("There is no program called phone.")
    assert dialog.problem.text() == "There is no program called phone."
    dialog.close_button.click()
    assert "slip-secret" not in dialog.key.text()
