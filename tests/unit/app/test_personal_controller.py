"""Learning as the user wants it: on a bridge without an engine, and with the real one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.engine_bridge import EngineBridge
from app.learning_controller import LearningController
from app.main_window import MainWindow
from app.theme import ThemeKeeper
from engine import EngineConfig, LearningSettings, ListConversations, LoadTarget, UseLearning
from engine.events import DrafterLearned, Event, Failed, TargetInfo, TargetReady
from tests.fakes.bridge import FakeBridge
from tests.fakes.ear import Ear


class Desk:
    def __init__(self, window: MainWindow, bridge: FakeBridge | EngineBridge) -> None:
        self.controller = LearningController(window, cast(EngineBridge, bridge), LearningSettings(share=0.25))
        self.dialog = self.controller.dialog
        window.learning_action.trigger()

    @property
    def words(self) -> str:
        return self.dialog.learned.text()


@pytest.fixture
def window(qtbot: QtBot, keeper: ThemeKeeper) -> MainWindow:
    window = MainWindow(keeper)
    qtbot.addWidget(window)
    window.show()
    return window


@pytest.fixture
def bridge() -> FakeBridge:
    return FakeBridge()


@pytest.fixture
def desk(window: MainWindow, bridge: FakeBridge) -> Desk:
    return Desk(window, bridge)


def tell(bridge: FakeBridge, *events: Event) -> None:
    for event in events:
        bridge.happened.emit(event)
    QCoreApplication.processEvents()


def learned(num_learned: int = 42, number: int | None = 3, is_return: bool = False) -> DrafterLearned:
    return DrafterLearned(number, before=0.98, after=1.214, num_learned=num_learned, is_return=is_return)


def test_the_menu_opens_the_dialog_with_what_holds(desk: Desk, bridge: FakeBridge) -> None:
    assert desk.dialog.isVisible()
    assert desk.dialog.share_words.text() == "a quarter of the time"
    assert desk.words == "Nothing has been learned since the start."
    assert bridge.posted == [], "the engine knows"


def test_what_is_chosen_is_told_to_the_engine_and_kept(desk: Desk, bridge: FakeBridge) -> None:
    QTest.keyClick(desk.dialog.on_battery, Qt.Key.Key_Space)
    QTest.keyClick(desk.dialog.enabled, Qt.Key.Key_Space)
    wanted = LearningSettings(enabled=False, share=0.25, on_battery=True)
    assert bridge.posted == [UseLearning(LearningSettings(share=0.25, on_battery=True)), UseLearning(wanted)]
    assert desk.controller.settings == wanted
    desk.dialog.changed.emit(wanted)
    assert len(bridge.posted) == 2, "nothing new"


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (
            learned(),
            "With what it learned from 42 replies, 1.21 instead of 0.98 guesses stand in each round.",
        ),
        (
            learned(num_learned=1),
            "With what it learned from 1 reply, 1.21 instead of 0.98 guesses stand in each round.",
        ),
        (learned(is_return=True), "It went back to an earlier state that did better."),
        (learned(number=None, is_return=True), "It went back to the drafter as it came: that did better."),
    ],
)
def test_what_was_learned_is_told(desk: Desk, bridge: FakeBridge, event: Event, words: str) -> None:
    tell(bridge, event)
    assert desk.words == words


def test_what_another_drafter_learned_is_told_no_more(desk: Desk, bridge: FakeBridge) -> None:
    ready = TargetReady(TargetInfo("Tiny", "/t.gguf", "llama", 1000, 10, 2), LoadTarget("t"))
    tell(bridge, ready)
    assert desk.words == "Nothing has been learned since the start."
    tell(bridge, learned(), ready)
    assert desk.words == "Nothing has been learned since the model or the drafter was changed."
    tell(bridge, learned())
    desk.controller.begin_anew()
    assert desk.words == "Nothing has been learned since the model or the drafter was changed."


# With the real engine


@pytest.fixture
def real(window: MainWindow, tmp_path: Path) -> Iterator[tuple[Desk, EngineBridge, Ear]]:
    data_dir = tmp_path / "data"
    data_dir.write_text("no folder")
    bridge = EngineBridge(EngineConfig(data_dir))
    yield Desk(window, bridge), bridge, Ear(bridge)
    assert bridge.close()


def test_it_is_switched_off_also_where_no_store_can_be_opened(
    qtbot: QtBot, real: tuple[Desk, EngineBridge, Ear]
) -> None:
    desk, bridge, ear = real
    with qtbot.waitSignal(ear.heard, timeout=30_000):
        QTest.keyClick(desk.dialog.enabled, Qt.Key.Key_Space)
        bridge.post(ListConversations())  # carried out after it
    assert [event.command for event in ear.events if isinstance(event, Failed)] == [ListConversations()]
