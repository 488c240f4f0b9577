"""Choosing a drafter in the window: on a bridge without an engine, and with the real one and a hub on the loopback."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.engine_bridge import EngineBridge
from app.features.drafter.drafter import DrafterController
from app.main_window import MainWindow
from app.settings.app_settings import AppSettings
from engine import AUTOMATIC, STARTER, EngineConfig, built_in_drafter
from engine import BUILT_IN as BUILT_IN_CHOICE
from engine.speculation.drafter.choice import check_drafter
from engine.values.drafters import DrafterChoice
from engine.values.events import (
    DrafterChosen,
    LearningChanged,
    SpeculationChanged,
    TargetInfo,
    TargetReady,
    TargetsListed,
)
from engine.values.targets import Downloading, LoadOrder
from tests.fakes.bridge import Asked, FakeBridge
from tests.fakes.chats import unsaved
from tests.fakes.hub import FakeHub
from tests.unit.app.drafter_samples import BUILT_IN, CHOICE, OFFER, SMALL
from tests.unit.app.library_samples import QWEN, TARGETS

NAME = "somebody/tiny-llama"
FILE = "somebody/Tiny-GGUF:tiny.gguf"
INFO = TargetInfo(
    QWEN.name, str(QWEN.path), "qwen2", 1000, QWEN.size_bytes, 2, speculation="The starter is being loaded.",
    awaits_drafter=True, identity="q1",
)  # fmt: skip
READY = TargetReady(INFO, LoadOrder("q"))
PLAIN = replace(CHOICE, offer=None)


def used_drafters(bridge: FakeBridge) -> list[str]:
    return [each.args[0] for each in _used(bridge)]


def _used(bridge: FakeBridge) -> list[Asked]:
    return bridge.asked(bridge.engine.target.use_drafter)


class Desk:
    def __init__(self, window: MainWindow, bridge: FakeBridge | EngineBridge, choice: str) -> None:
        self.window = window
        bridge.unhandled.connect(window.toasts.show_error)
        self.keeper = unsaved(AppSettings(drafter=choice))
        self.controller = DrafterController(window, bridge, self.keeper)
        self.dialog = self.controller.dialog
        window.drafter_action.trigger()

    @property
    def words(self) -> str:
        return self.dialog.words.text()

    @property
    def heading(self) -> str:
        return self.dialog.heading.text()

    @property
    def toasts(self) -> list[str]:
        return [toast.words.text() for toast in self.window.toasts.shown]


def choose(desk: Desk, bridge: FakeBridge, choice: str, is_own: bool = False) -> None:
    """What can draft, as far as can be seen."""
    desk.dialog.chosen.emit(choice, is_own)
    checked(bridge).answer()


def checked(bridge: FakeBridge) -> Asked:
    return bridge.asked(bridge.engine.inspector.check_drafter)[-1]


def changed(bridge: FakeBridge) -> list[Asked]:
    return bridge.asked(bridge.engine.library.change_options)


def fetched(bridge: FakeBridge) -> Asked:
    return bridge.asked(bridge.engine.drafters.fetch)[-1]


@pytest.fixture
def desk(window: MainWindow, bridge: FakeBridge) -> Desk:
    return Desk(window, bridge, AUTOMATIC)


@pytest.fixture
def used(desk: Desk, bridge: FakeBridge) -> Desk:
    """With a model in use."""
    bridge.tell(TargetsListed(TARGETS), DrafterChosen(QWEN.name, PLAIN), READY)
    bridge.tell(SpeculationChanged(QWEN.name, "The starter is ready.", True))
    desk.dialog.close()
    desk.window.drafter_action.trigger()
    return desk


def test_the_dialog_follows_who_drafts_and_why(desk: Desk, bridge: FakeBridge) -> None:
    assert desk.dialog.isVisible()
    assert desk.heading == "No model is loaded yet."
    bridge.tell(DrafterChosen(QWEN.name, PLAIN))
    assert desk.heading == "No model is loaded yet."  # still on its way
    bridge.tell(SpeculationChanged(QWEN.name, "The starter is being loaded.", False, True), READY)
    assert desk.heading == f"The starter is being loaded for {QWEN.name}."
    assert desk.dialog.state.text() == f"{CHOICE.why} The starter is being loaded."
    bridge.tell(SpeculationChanged(QWEN.name, "The starter guesses 3 ahead.", True))
    assert desk.heading == f"The starter guesses ahead for {QWEN.name}."
    bridge.tell(LearningChanged(is_learning=False, can_learn=False))
    assert "cannot learn from your chats" in desk.dialog.state.text()
    bridge.tell(LearningChanged(is_learning=False))
    assert "cannot learn" not in desk.dialog.state.text()
    assert desk.dialog.table.rowCount() == 3
    another = replace(PLAIN, chosen=BUILT_IN, why="With the built-in drafter it is faster.")
    bridge.tell(DrafterChosen(QWEN.name, another))
    assert desk.heading == f"The built-in drafter guesses ahead for {QWEN.name}."
    nobody = DrafterChoice(None, "No drafter pays.", PLAIN.prospects)
    bridge.tell(DrafterChosen(QWEN.name, nobody), SpeculationChanged(QWEN.name, "No drafter pays.", False))
    assert (desk.heading, desk.dialog.state.text()) == (
        f"{QWEN.name} has no drafter at the moment.",
        "No drafter pays.",
    )
    bridge.tell(DrafterChosen("another", PLAIN), SpeculationChanged("another", "It is ready.", True))
    assert desk.heading == f"{QWEN.name} has no drafter at the moment."


def test_a_chosen_drafter_that_fails_is_in_use_no_more(used: Desk, bridge: FakeBridge) -> None:
    fixed = DrafterChoice(SMALL, "You chose qwen2.5-1.5b.", PLAIN.prospects, is_fixed=True)
    bridge.tell(DrafterChosen(QWEN.name, fixed), SpeculationChanged(QWEN.name, "It is being loaded.", False, True))
    assert used.heading.startswith("qwen2.5-1.5b-instruct-q4_k_m is being loaded")
    bridge.tell(SpeculationChanged(QWEN.name, "x.gguf is damaged; download it again.", False))
    assert used.heading == f"{QWEN.name} has no drafter at the moment."
    assert "x.gguf is damaged; download it again." in used.dialog.state.text()


def test_a_choice_that_cannot_be_loaded_gives_way_to_the_one_before(used: Desk, bridge: FakeBridge) -> None:
    folder = str(built_in_drafter())
    choose(used, bridge, folder)
    # the one before, meanwhile
    bridge.tell(SpeculationChanged(QWEN.name, "The starter failed.", False, has_failed=True))
    assert used.controller.choice == folder
    bridge.tell(SpeculationChanged(QWEN.name, "It is being loaded.", False, True))
    _used(bridge)[-1].answer()
    assert used.words == "It loads as soon as no reply is being written."
    bridge.tell(SpeculationChanged(QWEN.name, "It is damaged; choose another drafter.", False, has_failed=True))
    told = "It is damaged; choose another drafter. Your previous choice stays: Automatic."
    assert (used.words, used.controller.choice) == (told, AUTOMATIC)
    assert used_drafters(bridge) == [folder, AUTOMATIC]
    bridge.tell(SpeculationChanged(QWEN.name, "The starter is ready.", True))
    _used(bridge)[-1].answer()
    assert used.words == told  # until the dialog is opened again, or another drafter chosen


def test_the_choice_of_before_is_told_to_the_engine_at_once(window: MainWindow, bridge: FakeBridge) -> None:
    desk = Desk(window, bridge, NAME)
    desk.controller.start()
    assert used_drafters(bridge) == [NAME]
    assert desk.dialog.form.from_hub.isChecked()


def test_automatic_need_not_be_told(desk: Desk, bridge: FakeBridge) -> None:
    desk.controller.start()
    assert bridge.orders == []
    assert desk.dialog.form.choice == AUTOMATIC


def test_a_folder_is_used_and_one_that_is_not_there_is_refused(desk: Desk, bridge: FakeBridge, tmp_path: Path) -> None:
    for choice, sentence in (("gone", "There is no drafter."), ("empty", "It holds no config.json.")):
        desk.dialog.chosen.emit(str(tmp_path / choice), False)
        assert desk.controller.is_at_work
        checked(bridge).fail(sentence)
        assert desk.words == sentence
    desk.dialog.chosen.emit("", False)
    assert desk.words == "Choose a model, a file or a folder first."
    assert bridge.orders == []
    assert (desk.controller.choice, desk.controller.is_at_work) == (AUTOMATIC, False)
    folder = str(built_in_drafter())
    desk.dialog.chosen.emit(str(tmp_path), False)
    late = checked(bridge)
    choose(desk, bridge, folder)
    late.fail("It holds no config.json.")  # of a choice that the user has changed since
    assert used_drafters(bridge) == [folder]
    assert desk.controller.choice == folder
    _used(bridge)[-1].fail("The store is damaged.")
    assert (desk.words, desk.toasts) == ("The store is damaged.", ["The store is damaged."])


def test_a_choice_for_one_model_is_stored_before_it_is_used(used: Desk, bridge: FakeBridge) -> None:
    assert used.dialog.form.scope.currentText() == "All models"
    choose(used, bridge, STARTER, True)
    (change,) = changed(bridge)
    own = replace(QWEN.options, drafter=STARTER)
    assert change.args == (QWEN.path, own)
    assert used_drafters(bridge) == []
    change.answer()
    assert used_drafters(bridge) == [AUTOMATIC]
    assert used.controller.choice == AUTOMATIC
    used.dialog.close()
    bridge.tell(TargetsListed(tuple(replace(each, options=own) for each in TARGETS)))
    used.window.drafter_action.trigger()
    assert (used.dialog.form.choice, used.dialog.form.is_own) == (STARTER, True)


def test_a_choice_for_all_models_takes_the_place_of_the_own_one(used: Desk, bridge: FakeBridge) -> None:
    own = replace(QWEN.options, drafter=STARTER)
    bridge.tell(TargetsListed((replace(QWEN, options=own),)))
    choose(used, bridge, BUILT_IN_CHOICE)
    (change,) = changed(bridge)
    assert (change.args, used_drafters(bridge)) == ((QWEN.path, QWEN.options), [])
    change.answer()
    assert used_drafters(bridge) == [BUILT_IN_CHOICE]


def test_an_own_choice_that_cannot_be_stored_is_told(used: Desk, bridge: FakeBridge) -> None:
    choose(used, bridge, STARTER, True)
    changed(bridge)[0].fail("The disk is full.")
    assert used.words == "The disk is full."
    assert bridge.orders == []


def test_smaller_models_of_the_library_can_be_chosen(used: Desk, bridge: FakeBridge) -> None:
    small = replace(QWEN, name="small", path=Path("/models/small.gguf"), size_bytes=400_000_000)
    bridge.tell(TargetsListed((*TARGETS, small)))
    models = used.dialog.form.models
    assert [models.itemData(place) for place in range(models.count())] == [str(small.path)]


@pytest.mark.parametrize("name", [NAME, FILE])
def test_a_name_is_fetched_and_then_used(desk: Desk, bridge: FakeBridge, name: str) -> None:
    desk.dialog.chosen.emit(name, False)
    assert fetched(bridge).args == (name,)
    fetched(bridge).tell(Downloading(1_500_000, 3_000_000))
    assert desk.words == f"Downloading {name}: 1.5 MB of 3.0 MB."
    assert desk.dialog.progress.value() == 500
    bridge.tell(SpeculationChanged("Tiny", "Drafting pauses.", True))
    assert desk.words.startswith("Downloading")
    assert desk.controller.choice == AUTOMATIC
    fetched(bridge).answer(Path(name))
    assert used_drafters(bridge) == [name]
    assert desk.controller.choice == name
    assert not desk.dialog.progress.isVisible()


def test_a_failed_download_changes_nothing_but_the_words(desk: Desk, bridge: FakeBridge) -> None:
    desk.dialog.chosen.emit(NAME, False)
    fetched(bridge).fail("The hub cannot be reached.")
    assert desk.words == "The hub cannot be reached."
    assert desk.dialog.use_button.isEnabled()
    assert desk.controller.choice == AUTOMATIC
    assert bridge.orders == []
    assert desk.window.toasts.shown == ()


def test_with_the_dialog_closed_a_toast_tells_how_it_ended(desk: Desk, bridge: FakeBridge) -> None:
    desk.dialog.chosen.emit(NAME, False)
    desk.dialog.close()
    fetched(bridge).fail("The hub cannot be reached.")
    assert desk.toasts == ["The hub cannot be reached."]
    desk.dialog.chosen.emit(NAME, False)
    fetched(bridge).answer(Path(NAME))
    assert desk.toasts[-1] == f"{NAME} is downloaded. It loads as soon as no reply is being written."


def test_the_download_is_stopped(desk: Desk, bridge: FakeBridge) -> None:
    desk.dialog.chosen.emit(NAME, False)
    desk.dialog.cancel_requested.emit()
    assert fetched(bridge).request.signal.is_set()


def test_a_small_model_of_the_family_is_offered_once_for_each_target(used: Desk, bridge: FakeBridge) -> None:
    used.dialog.close()
    bridge.tell(DrafterChosen(QWEN.name, CHOICE))
    (toast,) = used.window.toasts.shown
    assert "Qwen 2.5 0.5B" in toast.words.text()
    assert bridge.all_asked == []  # nothing is asked of the network
    assert used.keeper.settings.drafters_offered == ("q1",)
    toast.dismiss()
    bridge.tell(DrafterChosen(QWEN.name, CHOICE))
    assert used.window.toasts.shown == ()
    used.window.drafter_action.trigger()
    assert used.dialog.offer.isVisible()  # where it is looked for, it stays


def test_an_offer_is_downloaded_and_then_found_out_who_drafts(used: Desk, bridge: FakeBridge) -> None:
    used.dialog.close()
    bridge.tell(DrafterChosen(QWEN.name, CHOICE))
    button = used.window.toasts.shown[0].action_button
    assert button is not None
    button.click()
    assert fetched(bridge).args == (OFFER.hub_name,)
    fetched(bridge).answer(Path(OFFER.hub_name))
    assert used_drafters(bridge) == [AUTOMATIC]
    assert used.controller.choice == AUTOMATIC
    assert used.toasts[-1] == f"{OFFER.hub_name} is downloaded and drafts wherever that pays."


# With the real engine


@pytest.fixture
def real(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> Iterator[Desk]:
    bridge = EngineBridge(EngineConfig(tmp_path / "data"))
    yield Desk(window, bridge, AUTOMATIC)
    qtbot.waitUntil(lambda: not bridge.is_at_work, timeout=30_000)
    assert bridge.close()


def test_a_folder_is_looked_at_while_the_window_goes_on(
    qtbot: QtBot, real: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []
    look = check_drafter

    def noted(choice: str, data_dir: Path) -> None:
        threads.append(threading.current_thread().name)
        look(choice, data_dir)

    monkeypatch.setattr("engine.backend.library.inspector.check_drafter", noted)
    for choice, sentence in ((tmp_path / "gone", "There is no drafter at"), (tmp_path, "holds no config.json")):
        real.dialog.chosen.emit(str(choice), False)
        assert real.controller.is_at_work
        qtbot.waitUntil(lambda: not real.controller.is_at_work, timeout=30_000)
        assert sentence in real.words
    assert threads == ["slipstream-library"] * 2
    assert (real.controller.choice, real.controller.is_at_work) == (AUTOMATIC, False)


def test_a_drafter_comes_from_the_hub_into_the_settings(
    qtbot: QtBot, real: Desk, server: FakeHub, tmp_path: Path
) -> None:
    shown: list[int] = []
    real.dialog.progress.valueChanged.connect(shown.append)
    real.dialog.chosen.emit(NAME, False)
    qtbot.waitUntil(lambda: real.controller.choice == NAME, timeout=30_000)
    assert (tmp_path / "data/drafters/somebody--tiny-llama/model.safetensors").exists()
    assert 1000 in shown
    assert server.ranges("model.safetensors") == [""]


def test_a_stopped_download_goes_on_later(qtbot: QtBot, real: Desk, server: FakeHub) -> None:
    server.cut_after["model.safetensors"] = [1000]
    server.on_cut = real.dialog.cancel_requested.emit  # on the server's thread: the engine is stopped at once
    real.dialog.chosen.emit(NAME, False)
    stopped = "The download was stopped; start it again to resume it."
    qtbot.waitUntil(lambda: real.words == stopped, timeout=30_000)
    real.dialog.chosen.emit(NAME, False)
    qtbot.waitUntil(lambda: real.controller.choice == NAME, timeout=30_000)
    assert server.ranges("model.safetensors") == ["", "bytes=1000-"]
