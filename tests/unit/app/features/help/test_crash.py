from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from app.crash.reports import CrashFolder
from app.crash.watch import CrashWatch
from app.features.help.crash import SUBJECT, CrashController
from app.main_window import MainWindow
from app.settings.app_settings import AppSettings, SettingsFile
from app.settings.keeper import SettingsKeeper
from app.theme import ThemeKeeper
from tests.fakes.browser import Browser


class Desk(QObject):
    def __init__(self, window: MainWindow, folder: Path) -> None:
        super().__init__(window)
        self.window = window
        self.watch = CrashWatch(CrashFolder(folder))
        self.keeper = SettingsKeeper(SettingsFile(folder), AppSettings(theme="dark"))
        self.controller = CrashController(window, self.keeper, self.watch)

    def fail(self) -> None:
        try:
            raise IndexError("list index")
        except IndexError as error:
            record = logging.LogRecord("slipstream", logging.ERROR, "", 0, "", (), (IndexError, error, None))
            self.watch.handle(record)

    @property
    def told(self) -> str:
        bar = self.window.notices.shown.get(SUBJECT)
        return "" if bar is None else bar.words.text()


@pytest.fixture
def window(qtbot: QtBot, keeper: ThemeKeeper) -> Iterator[MainWindow]:
    window = MainWindow(keeper)
    qtbot.addWidget(window)
    window.show()
    yield window
    window.close()


def test_after_a_crash_the_next_start_offers_the_report(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    CrashFolder(tmp_path).write("What.", "Where.")
    (tmp_path / "crashes" / "1.native").write_text("Fatal Python error: Segmentation fault")
    desk = Desk(window, tmp_path)
    qtbot.waitUntil(lambda: bool(desk.told))
    assert desk.told == (
        "Slipstream ended unexpectedly last time. A report was saved on this computer; nothing was sent."
    )
    bar = window.notices.shown[SUBJECT]
    assert [button.text() for button in bar.buttons] == ["Show folder"]
    bar.close_button.click()
    assert desk.told == ""
    assert window.notices.isHidden()
    assert [file.suffix for file in (tmp_path / "crashes").iterdir()] == [".txt", ".txt"], "offered once"


def test_after_an_end_in_good_order_nothing_is_said(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    desk = Desk(window, tmp_path)
    with qtbot.assertNotEmitted(desk.controller.reported, wait=100):
        pass
    assert window.notices.isHidden()


def test_what_goes_wrong_now_is_offered_at_once(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    desk = Desk(window, tmp_path)
    desk.fail()
    qtbot.waitUntil(lambda: bool(desk.told))
    assert desk.told.startswith("Something went wrong inside Slipstream. A report was saved on this computer;")
    (report,) = (tmp_path / "crashes").iterdir()
    assert "theme = dark" in report.read_text()
    with Browser("file") as browser:
        window.notices.shown[SUBJECT].buttons[0].click()
    assert [Path(url.toLocalFile()) for url in browser.opened] == [tmp_path / "crashes"]
