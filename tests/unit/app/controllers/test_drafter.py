"""Choosing a drafter in the window: on a bridge without an engine, and with the real one and a hub on the loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.controllers.drafter import DrafterController
from app.engine_bridge import EngineBridge
from app.main_window import MainWindow
from app.settings.app_settings import AppSettings
from app.theme import ThemeKeeper
from engine import AUTOMATIC, BUILT_IN, EngineConfig, FetchDrafter, LoadTarget, UseDrafter
from engine.messages.events import (
    DrafterFetched,
    DrafterFetching,
    Event,
    Failed,
    SpeculationChanged,
    TargetInfo,
    TargetReady,
)
from tests.fakes.bridge import FakeBridge
from tests.fakes.chats import unsaved
from tests.fakes.ear import Ear
from tests.fakes.hub import FakeHub

NAME = "somebody/tiny-llama"


class Desk:
    def __init__(self, window: MainWindow, bridge: FakeBridge | EngineBridge, data_dir: Path, choice: str) -> None:
        self.window = window
        bridge.unhandled.connect(window.toasts.show_error)
        keeper = unsaved(AppSettings(drafter=choice))
        self.controller = DrafterController(window, bridge, data_dir, keeper)
        self.dialog = self.controller.dialog
        window.drafter_action.trigger()

    @property
    def words(self) -> str:
        return self.dialog.words.text()


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
def desk(window: MainWindow, bridge: FakeBridge, tmp_path: Path) -> Desk:
    return Desk(window, bridge, tmp_path, BUILT_IN)


def tell(bridge: FakeBridge, *events: Event) -> None:
    bridge.tell(*events)


def test_the_menu_opens_the_dialog_with_what_is_in_use(desk: Desk, bridge: FakeBridge) -> None:
    assert desk.dialog.isVisible()
    assert desk.dialog.built_in.isChecked()
    desk.controller.start()
    assert bridge.posted == [UseDrafter(BUILT_IN)]
    info = TargetInfo("Tiny", "/t.gguf", "llama", 1000, 10, 2, speculation="The drafter is being loaded.")
    tell(bridge, TargetReady(info, LoadTarget("t")))
    assert desk.words == "In use: the built-in drafter. The drafter is being loaded."
    tell(bridge, SpeculationChanged("Tiny", "Drafter guesses 3 ahead.", True))
    assert desk.words == "In use: the built-in drafter. Drafter guesses 3 ahead."


def test_without_a_choice_the_engine_finds_out(window: MainWindow, bridge: FakeBridge, tmp_path: Path) -> None:
    Desk(window, bridge, tmp_path, AUTOMATIC).controller.start()
    assert bridge.posted == []


def test_the_choice_of_before_is_told_to_the_engine_at_once(
    window: MainWindow, bridge: FakeBridge, tmp_path: Path
) -> None:
    desk = Desk(window, bridge, tmp_path, NAME)
    desk.controller.start()
    assert bridge.posted == [UseDrafter(NAME)]
    assert desk.dialog.from_hub.isChecked()
    tell(bridge, SpeculationChanged("Tiny", f"The drafter {NAME} is not on this machine; choose it again.", False))
    assert desk.words.startswith(f"In use: {NAME}. The drafter {NAME} is not on this machine")


def test_a_folder_is_used_and_one_that_is_not_there_is_refused(desk: Desk, bridge: FakeBridge, tmp_path: Path) -> None:
    desk.dialog.chosen.emit(str(tmp_path / "nothing"))
    assert desk.words.startswith("There is no folder")
    desk.dialog.chosen.emit("")
    assert desk.words == "Choose a folder first."
    assert (desk.controller.choice, bridge.posted) == (BUILT_IN, [])
    desk.dialog.chosen.emit(str(tmp_path))
    assert bridge.posted == [UseDrafter(str(tmp_path))]
    assert desk.controller.choice == str(tmp_path)


def test_a_name_is_fetched_and_then_used(desk: Desk, bridge: FakeBridge) -> None:
    desk.dialog.chosen.emit(NAME)
    assert bridge.posted == [FetchDrafter(NAME)]
    tell(bridge, DrafterFetching(NAME, "model.safetensors", 1_500_000, 3_000_000))
    assert desk.words == f"Downloading {NAME}: 1.5 of 3.0 MB."
    assert desk.dialog.progress.value() == 500
    tell(bridge, SpeculationChanged("Tiny", "Drafting pauses.", True))
    assert desk.words.startswith("Downloading")
    assert desk.controller.choice == BUILT_IN
    tell(bridge, DrafterFetched(NAME))
    assert bridge.posted[1:] == [UseDrafter(NAME)]
    assert desk.controller.choice == NAME
    assert not desk.dialog.progress.isVisible()


def test_a_failed_download_changes_nothing_but_the_words(desk: Desk, bridge: FakeBridge) -> None:
    desk.dialog.chosen.emit(NAME)
    tell(bridge, Failed("The hub cannot be reached.", FetchDrafter(NAME)))
    assert desk.words == "The hub cannot be reached."
    assert desk.dialog.use_button.isEnabled()
    assert desk.controller.choice == BUILT_IN
    assert len(bridge.posted) == 1
    assert desk.window.toasts.shown == ()


def test_with_the_dialog_closed_a_toast_tells_how_it_ended(desk: Desk, bridge: FakeBridge) -> None:
    desk.dialog.chosen.emit(NAME)
    desk.dialog.close()
    tell(bridge, Failed("The hub cannot be reached.", FetchDrafter(NAME)))
    assert [toast.words.text() for toast in desk.window.toasts.shown] == ["The hub cannot be reached."]
    desk.dialog.chosen.emit(NAME)
    tell(bridge, DrafterFetched(NAME))
    assert desk.window.toasts.shown[-1].words.text() == f"{NAME} is downloaded and drafts from now on."


def test_the_download_is_stopped(desk: Desk, bridge: FakeBridge) -> None:
    desk.dialog.chosen.emit(NAME)
    desk.dialog.cancel_requested.emit()
    assert bridge.stops[-1].is_set()


# With the real engine


@pytest.fixture
def real(window: MainWindow, tmp_path: Path) -> Iterator[tuple[Desk, Ear]]:
    bridge = EngineBridge(EngineConfig(tmp_path / "data"))
    desk = Desk(window, bridge, tmp_path / "data", BUILT_IN)
    yield desk, Ear(bridge)  # after the controller: what the test hears, the dialog has shown
    assert bridge.close()


def test_a_drafter_comes_from_the_hub_into_the_settings(
    qtbot: QtBot, real: tuple[Desk, Ear], server: FakeHub, tmp_path: Path
) -> None:
    desk, ear = real
    with qtbot.waitSignal(ear.heard, timeout=30_000, check_params_cb=lambda event: isinstance(event, DrafterFetched)):
        desk.dialog.chosen.emit(NAME)
    assert desk.controller.choice == NAME
    assert (tmp_path / "data/drafters/somebody--tiny-llama/model.safetensors").exists()
    assert any(isinstance(event, DrafterFetching) for event in ear.events)
    assert server.ranges("model.safetensors") == [""]


def test_a_stopped_download_goes_on_later(qtbot: QtBot, real: tuple[Desk, Ear], server: FakeHub) -> None:
    desk, ear = real
    server.cut_after["model.safetensors"] = [1000]
    server.on_cut = desk.dialog.cancel_requested.emit  # on the server's thread: the engine is stopped at once
    with qtbot.waitSignal(ear.heard, timeout=30_000, check_params_cb=lambda event: isinstance(event, Failed)):
        desk.dialog.chosen.emit(NAME)
    assert desk.words == "The download was stopped; started again, it goes on from there."
    with qtbot.waitSignal(ear.heard, timeout=30_000, check_params_cb=lambda event: isinstance(event, DrafterFetched)):
        desk.dialog.chosen.emit(NAME)
    assert server.ranges("model.safetensors") == ["", "bytes=1000-"]
