"""The guided start, in the window on a bridge without an engine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton

from app.features.guided.guided import SUBJECT, GuidedController
from app.features.guided.guided_dialog import GuidedDialog
from app.features.guided.samples import OWN
from app.features.guided.steps import State
from app.features.speed.compare import ComparisonRun
from app.main_window import MainWindow
from app.settings.app_settings import AppSettings
from engine.backend.library.suggestions import read_suggestions
from engine.values.comparison import Comparison, ComparisonOrder, ComparisonStep, RunFigures, Side
from engine.values.events import TargetInfo, TargetReady
from engine.values.outlook import ExpectedSpeeds, MachineFigures, Outlook, Span
from engine.values.targets import HubFile, LoadOrder, Purpose
from tests.fakes.bridge import Asked, FakeBridge
from tests.fakes.chats import unsaved

MACHINE = MachineFigures("tiny", "file:1", 98_000_000, {1: 0.01, 2: 0.017, 4: 0.03, 8: 0.05}, 560.0)
SUGGESTED = [each for each in read_suggestions() if each.purpose is Purpose.CHAT]
SAME, MORE = Span(0.97, 1.0, 1.1), Span(1.1, 1.3, 1.6)
OUTLOOKS = (
    Outlook("tiny", None, Span(95, 100, 105), SAME, MORE),
    *(Outlook(each.name, each, Span(9, 12, 15), MORE, Span(1.5, 2, 3)) for each in SUGGESTED),
)
SLOW, QUICK = RunFigures(90, 4.0, 22.0, 90), RunFigures(90, 2.0, 44.0, 16, 100, 76)
WHOLE = Comparison((SLOW, SLOW), (QUICK, QUICK), is_greedy=True, is_stopped=False, fork=None)


class Desk:
    def __init__(self, window: MainWindow, settings: AppSettings) -> None:
        self.window, self.bridge = window, FakeBridge()
        self.keeper = unsaved(settings)
        run = ComparisonRun(window, self.bridge)
        self.controller = GuidedController(window, self.bridge, self.keeper, run, Path("/"))
        self.asked_for: list[HubFile] = []
        self.controller.model_requested.connect(self.asked_for.append)

    @property
    def dialog(self) -> GuidedDialog:
        assert self.controller.dialog is not None
        return self.controller.dialog

    def press(self, button: QPushButton) -> None:
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)

    @property
    def measuring(self) -> Asked:
        return self.bridge.asked(self.bridge.engine.trials.measure_machine)[-1]

    @property
    def comparing(self) -> Asked:
        return self.bridge.asked(self.bridge.engine.trials.compare)[-1]

    def measure(self, machine: MachineFigures = MACHINE) -> None:
        self.press(self.dialog.main_button)
        self.measuring.tell(0.5)
        self.measuring.answer(machine)
        asked = self.bridge.asked(self.bridge.engine.library.expect_speeds)[-1]
        assert asked.args == (machine,)
        asked.answer(ExpectedSpeeds(OUTLOOKS, 0.011))


@pytest.fixture
def desk(window: MainWindow) -> Desk:
    return Desk(window, AppSettings())


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("seen", [True, False])
def test_it_is_offered_to_whoever_has_not_seen_it(window: MainWindow, at_once: bool, seen: bool) -> None:
    desk = Desk(window, AppSettings(guided_seen=seen))
    desk.controller.offer(at_once)
    assert (desk.controller.dialog is not None) is (at_once and not seen)
    assert (SUBJECT in window.notices.shown) is (not at_once and not seen)
    if SUBJECT in window.notices.shown:
        window.notices.shown[SUBJECT].closed.emit()
    assert desk.keeper.settings.guided_seen
    assert not window.notices.shown


def test_every_step_says_what_it_found_out(desk: Desk) -> None:
    desk.window.guided_action.trigger()
    dialog = desk.dialog
    desk.measure()
    QApplication.processEvents()
    facts = [each.text() for each in dialog.machine.findChildren(type(dialog.title)) if each.isVisible()]
    assert "100 tok/s" in facts
    assert "560 tok/s" in facts
    assert "3.0×" in facts, "V(4)"
    assert any("no more than 1.6×" in fact for fact in facts), "8 tokens in the time of 5"
    assert not dialog.machine.busy.isVisible()

    desk.press(dialog.main_button)
    desk.press(dialog.main_button)
    (order,) = desk.comparing.args
    assert isinstance(order, ComparisonOrder)
    assert order.prompt.startswith("Correct the spelling")
    assert order.settings.sampling.temperature == 0
    assert order.conversation_id is None
    desk.comparing.tell(ComparisonStep(Side.PLAIN, 0, "Dear Mrs Hall", SLOW))
    desk.comparing.tell(ComparisonStep(Side.SPED_UP, 0, "Dear Mrs Hall", QUICK))
    desk.comparing.answer(WHOLE)
    assert dialog.proof.sides.outcome.text() == "2.00× faster; the texts are the same."

    desk.press(dialog.main_button)
    lines = dialog.outlook.text.splitlines()
    assert lines[0] == (
        "tiny (in use): 100 tok/s without speed-up; with it about the same in new text, and 130 (1.1 to 1.6 times as "
        "fast) where it quotes, corrects or changes text. Measured just now: 2.00×."
    )
    assert lines[1].startswith(f"{SUGGESTED[0].name}: About 12 tok/s without speed-up; with it 16 (1.1 to 1.6 times as")
    desk.press(dialog.outlook.best_button)
    assert [file in [each.file for each in SUGGESTED] for file in desk.asked_for] == [True]
    desk.press(dialog.main_button)
    assert not dialog.isVisible()
    assert desk.keeper.settings.guided_step == 0
    assert not [each for each in desk.bridge.orders if isinstance(each, LoadOrder)], "nothing was loaded or fetched"


def test_a_busy_machine_is_told_and_measured_again(desk: Desk) -> None:
    desk.window.guided_action.trigger()
    desk.measure(replace(MACHINE, is_busy=True))
    assert desk.dialog.machine.busy.isVisible()
    first = desk.measuring
    desk.press(desk.dialog.machine.again_button)
    assert desk.measuring is not first
    assert desk.dialog.machine.state is State.RUNNING
    assert not desk.dialog.machine.again_button.isVisible()


def test_a_failure_is_told_where_it_was_measured(desk: Desk) -> None:
    desk.window.guided_action.trigger()
    desk.press(desk.dialog.main_button)
    assert desk.dialog.machine.state is State.RUNNING
    desk.press(desk.dialog.main_button)
    assert desk.measuring.request.signal.is_set()
    desk.measuring.fail("Measuring was stopped.")
    assert desk.dialog.machine.status.text() == "Measuring was stopped."
    assert desk.dialog.main_button.isEnabled()
    assert desk.dialog.main_button.text() == "Measure this computer"


def test_it_goes_on_where_it_was_left(desk: Desk) -> None:
    desk.window.guided_action.trigger()
    desk.measure()
    desk.press(desk.dialog.main_button)
    desk.press(desk.dialog.main_button)
    assert desk.dialog.proof.state is State.RUNNING
    desk.press(desk.dialog.skip_button)
    assert not desk.dialog.isVisible()
    assert desk.comparing.request.signal.is_set(), "nothing goes on unseen"
    assert desk.keeper.settings.guided_step == 1
    desk.window.guided_action.trigger()
    assert desk.dialog.page is desk.dialog.proof


def test_without_figures_the_last_step_says_what_to_do(desk: Desk) -> None:
    desk.window.guided_action.trigger()
    for _ in range(2):
        desk.press(desk.dialog.pass_button)
    assert desk.dialog.page is desk.dialog.outlook
    assert desk.dialog.outlook.none.isVisible()
    assert not desk.dialog.outlook.best_button.isVisible()


def test_another_model_makes_what_was_measured_void(desk: Desk) -> None:
    desk.window.guided_action.trigger()
    desk.measure()
    other = TargetInfo("another", "/a.gguf", "llama", 8192, 10, 2, identity="file:2")
    desk.bridge.tell(TargetReady(other, LoadOrder("/a.gguf")))
    assert desk.dialog.machine.state is State.OPEN
    assert desk.dialog.outlook.text == ""


def test_a_text_of_ones_own_is_put_behind_what_is_to_be_done(desk: Desk) -> None:
    desk.window.guided_action.trigger()
    desk.press(desk.dialog.pass_button)
    proof = desk.dialog.proof
    proof.choice.setCurrentIndex(proof.choice.count() - 1)
    QTest.keyClicks(proof.prompt, "Helo.")
    assert proof.words == f"{OWN.prompt}\n\nHelo."
    proof.prompt.clear()
    assert not desk.dialog.main_button.isEnabled(), "there is nothing to answer"
