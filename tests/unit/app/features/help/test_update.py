from __future__ import annotations

import time
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.engine_bridge import EngineBridge
from app.features.help.update import DAY_S, SUBJECT, UpdateController, update_description
from app.main_window import MainWindow
from app.settings.app_settings import AppSettings, SettingsFile
from app.settings.keeper import SettingsKeeper
from app.theme import ThemeKeeper
from engine import EngineConfig, update_url
from engine.values.targets import Release
from tests.fakes.bridge import Asked, FakeBridge
from tests.fakes.browser import Browser
from tests.fakes.site import serving

URL = "https://api.example.org/latest"
NEWER = Release("1.3.0", "https://example.org/1.3.0")


class Desk:
    def __init__(self, window: MainWindow, folder: Path, settings: AppSettings, url: str = URL) -> None:
        self.window = window
        self.bridge = FakeBridge()
        self.bridge.unhandled.connect(window.toasts.show_error)
        self.keeper = SettingsKeeper(SettingsFile(folder), settings)
        self.controller = UpdateController(window, self.bridge, self.keeper, url)

    @property
    def asked(self) -> list[Asked]:
        return self.bridge.asked(self.bridge.engine.hub.newer_release)

    def check(self, found: Release | None, by_hand: bool = False) -> None:
        """A check that ends with this."""
        self.keeper.note(update_checked_at=0.0)
        if by_hand:
            self.window.update_action.trigger()
        else:
            self.controller._ask_if_due()
        self.asked[-1].answer(found)

    @property
    def toasts(self) -> list[str]:
        return [toast.words.text() for toast in self.window.toasts.shown]


@pytest.fixture
def window(qtbot: QtBot, keeper: ThemeKeeper) -> MainWindow:
    window = MainWindow(keeper, "1.2.3")
    qtbot.addWidget(window)
    window.show()
    return window


def test_nobody_is_asked_unless_it_is_switched_on(window: MainWindow, tmp_path: Path) -> None:
    assert not AppSettings().check_updates
    desk = Desk(window, tmp_path, AppSettings())
    desk.controller._ask_if_due()
    assert desk.asked == []
    desk.keeper.change("check_updates", True)
    assert len(desk.asked) == 1
    desk.keeper.change("theme", "dark")
    desk.asked[0].answer(None)
    desk.controller._ask_if_due()
    assert len(desk.asked) == 1, "once a day"
    assert desk.toasts == [], "no news is no message"


@pytest.mark.parametrize(("ago_s", "num_asked"), [(DAY_S - 60, 0), (DAY_S + 60, 1), (-3600, 1)])
def test_once_a_day_also_over_restarts(window: MainWindow, tmp_path: Path, ago_s: float, num_asked: int) -> None:
    settings = AppSettings(check_updates=True, update_checked_at=time.time() - ago_s)
    desk = Desk(window, tmp_path, settings)
    desk.controller._ask_if_due()
    assert len(desk.asked) == num_asked


def test_a_newer_version_is_told_calmly(window: MainWindow, tmp_path: Path) -> None:
    desk = Desk(window, tmp_path, AppSettings(check_updates=True))
    desk.check(NEWER)
    bar = window.notices.shown[SUBJECT]
    assert bar.words.text() == "Slipstream 1.3.0 is available; this is 1.2.3."
    with Browser("https") as browser:
        bar.buttons[0].click()
    assert [url.toString() for url in browser.opened] == [NEWER.page]
    bar.buttons[1].click()
    assert window.notices.isHidden()
    desk.check(NEWER)
    assert window.notices.isHidden(), "this one was skipped"
    desk.check(Release("1.4.0", NEWER.page))
    assert SUBJECT in window.notices.shown
    desk.check(NEWER, by_hand=True)
    assert "1.3.0" in window.notices.shown[SUBJECT].words.text(), "whoever asks is told"


def test_whoever_asks_by_hand_gets_an_answer(window: MainWindow, tmp_path: Path) -> None:
    desk = Desk(window, tmp_path, AppSettings())
    window.update_action.trigger()
    window.update_action.trigger()
    assert len(desk.asked) == 1, "one press is enough"
    desk.asked[0].answer(None)
    assert desk.toasts[-1] == "Slipstream 1.2.3 is the newest version."
    window.update_action.trigger()
    desk.asked[-1].fail("example.org could not be asked.")
    assert desk.toasts[-1] == "example.org could not be asked."
    assert len(desk.asked) == 2


def test_a_failure_nobody_waits_for_is_not_told(window: MainWindow, tmp_path: Path) -> None:
    desk = Desk(window, tmp_path, AppSettings(check_updates=True))
    desk.controller._ask_if_due()
    desk.asked[0].fail("example.org could not be asked.")
    assert desk.toasts == []
    window.update_action.trigger()
    assert len(desk.asked) == 2


def test_a_build_without_an_address_says_so(window: MainWindow, tmp_path: Path) -> None:
    desk = Desk(window, tmp_path, AppSettings(check_updates=True), url="")
    window.update_action.trigger()
    assert desk.asked == []
    assert not window.update_action.isVisible()
    assert "cannot check for updates" in update_description("")
    assert "Asks api.example.org" in update_description(URL)


def test_the_real_engine_asks_the_site_of_the_build(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving() as site:
        monkeypatch.setenv("SLIPSTREAM_UPDATE_URL", f"{site.url}/latest")
        site.answer = lambda visit: visit.tell({"tag_name": "v99.0"})
        bridge = EngineBridge(EngineConfig(tmp_path))
        keeper = SettingsKeeper(SettingsFile(tmp_path), AppSettings())
        UpdateController(window, bridge, keeper, update_url())
        window.update_action.trigger()
        qtbot.waitUntil(lambda: SUBJECT in window.notices.shown, timeout=30_000)
        assert window.notices.shown[SUBJECT].words.text().startswith("Slipstream 99.0 is available")
        assert len(site.asked) == 1
        assert bridge.close()
