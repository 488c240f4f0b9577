"""The server as the window shows it, on a bridge without an engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QCheckBox
from pytestqt.qtbot import QtBot

from app.controllers.server import ServerController
from app.main_window import MainWindow
from app.settings.app_settings import AppSettings, SettingsFile
from app.settings.keeper import SettingsKeeper
from app.theme import ThemeKeeper
from engine import AddClient, ChangeClient, ListClients, RemoveClient, ServerSettings, UseServer
from engine.messages.events import ClientAdded, ClientsListed, Failed, ServerChanged
from engine.messages.serving import Client
from tests.fakes.bridge import FakeBridge


@pytest.fixture
def window(qtbot: QtBot, keeper: ThemeKeeper) -> MainWindow:
    window = MainWindow(keeper)
    qtbot.addWidget(window)
    window.show()
    return window


def settings_of(bridge: FakeBridge) -> ServerSettings | None:
    command = bridge.posted[-1]
    assert isinstance(command, UseServer)
    return command.settings


def controller_of(window: MainWindow, folder: Path, settings: AppSettings) -> tuple[ServerController, FakeBridge]:
    bridge = FakeBridge()
    return ServerController(window, bridge, SettingsKeeper(SettingsFile(folder), settings)), bridge


def test_it_is_off_until_it_is_switched_on_by_keyboard(window: MainWindow, tmp_path: Path) -> None:
    controller, bridge = controller_of(window, tmp_path, AppSettings())
    controller.follow()
    assert bridge.posted == []
    window.server_action.trigger()
    dialog = controller.dialog
    assert bridge.posted == [ListClients()]
    assert dialog.state.text() == "Off. No connections are accepted."
    assert not dialog.copy_button.isEnabled()
    dialog.switch.setFocus()
    QTest.keyClick(dialog.switch, Qt.Key.Key_Space)
    assert bridge.posted[-1] == UseServer(ServerSettings(), AppSettings().reply_settings())
    bridge.tell(ServerChanged("http://127.0.0.1:8642"))
    assert dialog.state.text() == "Programs reach it at http://127.0.0.1:8642/v1; they need no other setting."
    dialog.copy_button.click()
    assert QGuiApplication.clipboard().text() == "http://127.0.0.1:8642/v1"
    dialog.port.setText("9000")
    QTest.keyClick(dialog.port, Qt.Key.Key_Return)
    dialog.needs_key.click()
    assert settings_of(bridge) == ServerSettings(port=9000, needs_key=True)
    bridge.tell(ServerChanged("http://127.0.0.1:9000", needs_key=True))
    assert dialog.state.text() == "Programs reach it at http://127.0.0.1:9000/v1 with a key; create one below."
    dialog.switch.click()
    assert settings_of(bridge) is None
    QGuiApplication.clipboard().clear()


def test_it_is_opened_at_the_start_where_it_was_on_and_says_what_is_wrong(window: MainWindow, tmp_path: Path) -> None:
    controller, bridge = controller_of(window, tmp_path, AppSettings(server=True, server_port=9000))
    controller.follow()
    controller.follow()
    assert len(bridge.posted) == 1
    assert settings_of(bridge) == ServerSettings(port=9000)
    bridge.tell(ServerChanged("", "Another program already uses port 9000; choose another port."))
    window.server_action.trigger()
    assert controller.dialog.state.text() == "Another program already uses port 9000; choose another port."


def test_programs_get_keys_that_are_shown_once(window: MainWindow, tmp_path: Path) -> None:
    controller, bridge = controller_of(window, tmp_path, AppSettings())
    window.server_action.trigger()
    dialog = controller.dialog
    QTest.keyClicks(dialog.name, "phone")
    QTest.keyClick(dialog.name, Qt.Key.Key_Return)
    assert AddClient("phone") in bridge.posted[-1:]
    bridge.tell(ClientAdded("phone", "slip-secret"))
    bridge.tell(ClientsListed((Client("phone"),)))
    assert "slip-secret" in dialog.key.text()
    remembers, speeds_up = (each for each in dialog.findChildren(QCheckBox) if "phone" in each.accessibleName())
    remembers.click()
    assert ChangeClient("phone", True) in bridge.posted[-1:]
    assert not speeds_up.isChecked()
    speeds_up.click()
    assert ChangeClient("phone", drafts_from_chats=True) in bridge.posted[-1:]
    dialog.client_unwanted.emit("phone")
    assert RemoveClient("phone") in bridge.posted[-1:]
    bridge.tell(Failed("There is no program called phone.", RemoveClient("phone")))
    assert dialog.problem.text() == "There is no program called phone."
    dialog.close_button.click()
    assert "slip-secret" not in dialog.key.text()
