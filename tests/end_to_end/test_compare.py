"""The real window compares with the real engine and the starter target, in the middle of a chat."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.engine_bridge import EngineBridge
from app.features.history.history import HistoryController
from app.features.speed.compare import CompareController
from app.main_window import MainWindow
from app.theme import ThemeKeeper, apply_theme
from engine import EngineConfig, ReplySettings, SamplingSettings
from engine.values.comparison import Comparison, Side
from engine.values.events import Event, ReplyFinished, TargetReady
from tests.fakes.chats import Chats
from tests.fakes.ear import Ear

pytestmark = [
    pytest.mark.starter,
    pytest.mark.qt_log_ignore(r"This plugin does not support (propagateSizeHints|raise)\(\)"),
]

_SETTINGS = ReplySettings(SamplingSettings(temperature=0), max_tokens=24)
_PATIENCE_MS = 60_000


class Desk:
    def __init__(self, qtbot: QtBot, keeper: ThemeKeeper, folder: Path) -> None:
        self.qtbot = qtbot
        self.window = MainWindow(keeper)
        self.bridge = EngineBridge(EngineConfig(folder))
        chats = Chats(self.window, self.bridge, _SETTINGS)
        self.comparing = CompareController(self.window, self.bridge, chats.chat)
        self.history = HistoryController(self.window, self.bridge, keeper)
        self.ear = Ear(self.bridge)  # after the controllers: what the test hears, they have heard
        qtbot.addWidget(self.window)
        with qtbot.waitExposed(self.window):
            self.window.show()
        with self.waiting_for(TargetReady):
            chats.start("starter")

    @contextmanager
    def waiting_for(self, kind: type[Event]) -> Iterator[None]:
        def is_it(event: Event) -> bool:
            return isinstance(event, kind)

        with self.qtbot.waitSignal(self.ear.heard, timeout=_PATIENCE_MS, check_params_cb=is_it):
            yield

    def ask(self, text: str) -> ReplyFinished:
        with self.waiting_for(ReplyFinished):
            QTest.keyClicks(self.window.prompt_box.editor, text)
            QTest.keyClick(self.window.prompt_box.editor, Qt.Key.Key_Return)
        return [event for event in self.ear.events if isinstance(event, ReplyFinished)][-1]


@pytest.fixture
def desk(qtbot: QtBot, qapp: QApplication, tmp_path: Path) -> Iterator[Desk]:
    keeper = apply_theme(qapp)
    desk = Desk(qtbot, keeper, tmp_path / "store")
    yield desk
    desk.window.close()
    assert desk.bridge.close()
    keeper.deleteLater()


def test_a_chat_is_compared_and_goes_on_as_if_nothing_had_been(desk: Desk) -> None:
    first = desk.ask("Name three colours.")
    desk.window.compare_action.trigger()
    dialog = desk.comparing.dialog
    assert dialog.prompt.toPlainText() == "Name three colours."
    dialog.length.setCurrentIndex(0)
    with desk.qtbot.waitSignal(desk.comparing.run.compared, timeout=_PATIENCE_MS) as compared:
        QTest.mouseClick(dialog.start_button, Qt.MouseButton.LeftButton)
    assert compared.args is not None
    comparison = compared.args[1]
    assert isinstance(comparison, Comparison)
    assert not comparison.is_stopped
    assert len(comparison.plain) == len(comparison.sped_up) == 2
    assert comparison.ratio is not None
    assert comparison.ratio > 0.3
    assert comparison.fork is None or (comparison.fork.logit_gap or 1.0) < 0.5
    plain = dialog.sides.texts[Side.PLAIN].toPlainText()
    assert plain.startswith(first.message.text[:20]), "the same model, with the same turns before"
    assert "×" in dialog.sides.outcome.text()
    dialog.close()

    second = desk.ask("And two animals.")
    statistics = second.message.statistics
    assert statistics is not None
    assert first.message.statistics is not None
    held = first.message.statistics.context_used
    assert statistics.evaluated_tokens <= statistics.prompt_tokens - held + 1, "all that was said before was still held"

    read = desk.bridge.engine.ask(desk.bridge.engine.chats.history).result()
    assert sum(portion.tally.num_replies for portion in read.days) == 2, "those of the chat alone"
    desk.window.history_action.trigger()
    desk.qtbot.waitUntil(lambda: desk.history.page is not None and desk.history.page.headline.text() != "")
    assert desk.history.page is not None
    assert "repl" in desk.history.page.headline.text()
    desk.history.page.close()
