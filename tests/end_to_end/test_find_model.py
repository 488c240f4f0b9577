"""From a fresh start to a model that fits this computer, in the window as users get it, with a hub on the loopback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from huggingface_hub import close_session
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.features.library.hub import SUBJECT
from app.startup.first_paint import open_window
from app.wiring import WiredWindow
from engine.values.config import SpeculationSettings
from engine.values.targets import HubFile
from tests.fakes.gguf import TINY, gguf
from tests.fakes.hub import FakeHub, serving

pytestmark = [
    pytest.mark.starter,
    pytest.mark.qt_log_ignore(r"This plugin does not support ((propagateSizeHints|raise)\(\)|grabbing the keyboard)"),
]
_PATIENCE_MS = 60_000
_NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    with serving() as hub:
        yield hub
        close_session()


class Desk:
    """A person in front of the window, whose clicks and keys are counted."""

    def __init__(self, qtbot: QtBot, qapp: QApplication, folder: Path) -> None:
        self._qtbot = qtbot
        self.app = WiredWindow(open_window(qapp, folder), folder, SpeculationSettings())
        self.app.keeper.note(reply_length=16)  # else a reply may go on for minutes
        self.window = self.app.window
        self.num_presses = 0
        qtbot.addWidget(self.window)
        self.until(lambda: self.app.target.in_use is not None and self.app.library is not None)
        library = self.app.library
        assert library is not None
        self.page = library.dialog.hub

    def until(self, is_so: Callable[[], bool]) -> None:
        self._qtbot.waitUntil(is_so, timeout=_PATIENCE_MS)

    def click(self, widget: QWidget) -> None:
        assert widget.isVisible()
        self.num_presses += 1
        QTest.mouseClick(widget, Qt.MouseButton.LeftButton)

    def close(self) -> None:
        self.window.close()
        self.app.close()
        self.app.theme.deleteLater()


@pytest.fixture
def desk(qtbot: QtBot, qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setenv("HF_ENDPOINT", _NOWHERE)
    desk = Desk(qtbot, qapp, tmp_path / "store")
    yield desk
    desk.close()


def test_two_clicks_lead_from_a_fresh_start_to_the_download_of_the_model_that_fits_best(
    desk: Desk, hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    window, page, suggestions = desk.window, desk.page, desk.page.suggestions
    desk.click(window.transcript.welcome.models_button)
    desk.until(lambda: suggestions.view.rows.rowCount() > 0)
    rows = suggestions.view.rows.rows
    assert all("tok/s" in row.subtitle for row in rows), "the starter was measured when it was loaded"
    best = suggestions.view.current_key
    assert isinstance(best, HubFile)
    assert (rows[0].key, rows[0].tag) == (best, "best here")
    assert suggestions.download_button.isEnabled()

    # without a network
    suggestions.check_button.click()
    desk.until(lambda: suggestions.check_button.text() == "Retry")
    assert "cannot be reached" in suggestions.state.text()
    page.search_button.click()
    desk.until(page.models.retry_button.isVisible)
    page.back_button.click()

    # or with the starter for now; a line goes on telling of bigger models
    window.transcript.welcome.starter_button.click()
    assert not page.isVisible()
    assert not window.transcript.welcome.introduction.isVisible()
    assert window.focusWidget() is window.prompt_box.editor
    assert not window.notices.shown
    QTest.keyClicks(window.prompt_box.editor, "Hi")
    QTest.keyClick(window.prompt_box.editor, Qt.Key.Key_Return)
    desk.until(lambda: SUBJECT in window.notices.shown)
    window.notices.shown[SUBJECT].buttons[0].click()
    assert page.isVisible()

    # with a network, where the hub is not as it was
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    hub.models[best.repository] = {best.name: gguf({**TINY, "filler": "x" * 20_000})}
    assert hub.asked == [], "nothing is asked until the user wants it"
    suggestions.check_button.click()
    desk.until(lambda: suggestions.state.text() == "The list was checked.")
    tags = [row.tag for row in suggestions.view.rows.rows]
    assert tags == ["file has changed", *["no longer offered"] * (len(rows) - 1)]
    suggestions.view.point_at(best)
    desk.click(suggestions.download_button)
    assert desk.num_presses == 2
    (download,) = page.downloads.rows
    desk.until(download.use_button.isVisible)
    assert hub.ranges(best.name) == [""]
    desk.until(lambda: SUBJECT not in window.notices.shown)
