"""Quantizations of models in the window: on a bridge without an engine, and with the real one and a tiny model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.engine_bridge import EngineBridge
from app.features.library.library_page import LibraryPage
from app.features.library.quantization_wording import QuantizationRow
from app.features.library.quantizations import QuantizationsController
from app.main_window import MainWindow
from app.theme import ThemeKeeper
from engine import EngineConfig, SamplingSettings
from engine.backend.library.tuning.measuring import Extent
from engine.values.events import TargetInfo, TargetReady, TargetsListed
from engine.values.quantizations import TuneProgress, TuneStep
from engine.values.targets import LibraryTarget, LoadOrder
from tests.fakes.bridge import Asked, FakeBridge
from tests.fakes.tiny_models import tiny_llama
from tests.unit.app.library_samples import QWEN, STARTER_TARGET, TARGETS
from tests.unit.app.quantization_samples import MEASURED, OFFERS, REPORT, STARTER_IN_Q8, STARTER_OFFERS, STARTER_REPORT

LEFT = Qt.MouseButton.LeftButton
STARTER_MEASURED = replace(STARTER_TARGET, tuned=STARTER_REPORT)


class Desk:
    def __init__(self, window: MainWindow, keeper: ThemeKeeper, bridge: EngineBridge) -> None:
        self.window, self.bridge, self.tuning = window, bridge, bridge.engine.tuning
        self.page = LibraryPage(keeper, SamplingSettings(), window)
        self.controller = QuantizationsController(window, self.page, bridge)
        self.dialog = self.controller.dialog
        self.used: list[str] = []
        self.controller.use_requested.connect(self.used.append)

    def asked(self, method: object) -> Asked:
        """The latest."""
        assert isinstance(self.bridge, FakeBridge)
        return self.bridge.asked(method)[-1]

    def open(self, target: LibraryTarget | Path) -> None:
        self.page.quantizations_requested.emit(target if isinstance(target, Path) else target.path)

    def point_at(self, quantization: str) -> None:
        self.dialog.table.setCurrentCell([row.quantization for row in self.dialog.table.rows].index(quantization), 0)

    @property
    def words(self) -> str:
        return self.dialog.words.text()

    @property
    def toasts(self) -> list[str]:
        return [toast.words.text() for toast in self.window.toasts.shown]


@pytest.fixture
def desk(window: MainWindow, keeper: ThemeKeeper, bridge: FakeBridge) -> Desk:
    desk = Desk(window, keeper, bridge)
    bridge.tell(TargetsListed(TARGETS))
    desk.open(QWEN)
    desk.asked(desk.tuning.offers).answer(OFFERS)
    bridge.all_asked.clear()
    return desk


@pytest.fixture
def starter(desk: Desk, bridge: FakeBridge) -> Desk:
    bridge.tell(TargetsListed((STARTER_MEASURED, QWEN)))
    ready(bridge, STARTER_TARGET)
    desk.open(STARTER_TARGET)
    desk.asked(desk.tuning.offers).answer(STARTER_OFFERS)
    bridge.all_asked.clear()
    return desk


def ready(bridge: FakeBridge, target: LibraryTarget) -> None:
    info = TargetInfo(target.name, str(target.path), "llama", 8192, target.size_bytes, 2)
    bridge.tell(TargetReady(info, LoadOrder(str(target.path))))


def test_opened_it_asks_which_quantizations_can_be_made(desk: Desk) -> None:
    desk.open(MEASURED)
    assert desk.dialog.isVisible()
    assert desk.words == "Checking which quantizations can be made…"
    first = desk.asked(desk.tuning.offers)
    assert first.args == (QWEN.path,)
    desk.open(MEASURED)
    first.answer(OFFERS)
    assert [row.quantization for row in desk.dialog.table.rows] == ["Q4_K_M"]
    desk.asked(desk.tuning.offers).answer(OFFERS)
    assert [row.quantization for row in desk.dialog.table.rows] == ["Q4_K_M", *(offer.quantization for offer in OFFERS)]
    assert desk.words == ""


def test_a_file_that_cannot_be_read_is_told(desk: Desk) -> None:
    desk.open(QWEN)
    desk.asked(desk.tuning.offers).fail("llama.cpp cannot read qwen2.5-7b.gguf; download it again.")
    assert desk.words.startswith("llama.cpp cannot read")
    assert not desk.dialog.measure_button.isEnabled()


def test_quantizations_are_measured_with_progress_and_shown_before_and_after(desk: Desk, bridge: FakeBridge) -> None:
    assert [row.figures for row in desk.dialog.table.rows] == [None] * 7
    desk.dialog.own_prompts.setChecked(True)
    QTest.mouseClick(desk.dialog.measure_button, LEFT)
    asked = desk.asked(desk.tuning.tune)
    assert (asked.args, asked.kwargs) == ((QWEN.path, ("Q8_0", "Q4_0")), {"own_prompts": True})
    shares = []
    for now in (
        TuneProgress("Q8_0", TuneStep.MAKING, 0.5),
        TuneProgress("Q8_0", TuneStep.COMPARING, 1.0),
        TuneProgress("Q4_0", TuneStep.TIMING, 0.5),
    ):
        asked.tell(now)
        shares.append(desk.dialog.progress.value())
    assert shares[1] == 500, "half of the forms are done"
    assert shares == sorted(shares)
    assert desk.words == "qwen2.5-7b: timing Q4_0."
    bridge.tell(TargetsListed((STARTER_TARGET, MEASURED)))
    asked.answer((REPORT, ()))
    assert {row.quantization for row in desk.dialog.table.rows if row.figures} == {"Q4_K_M", "Q8_0", "IQ4_NL", "Q4_0"}
    assert desk.dialog.advice.text().startswith("Q4_0 would write 1.32 times as fast")
    assert desk.words == "Measured. Nothing was changed or kept."
    assert desk.dialog.measure_button.isEnabled()
    assert desk.used == []


def test_what_is_under_way_is_cancelled(desk: Desk) -> None:
    desk.dialog.measure_requested.emit(("Q8_0",), False)
    desk.dialog.cancel_requested.emit()
    asked = desk.asked(desk.tuning.tune)
    assert asked.request.signal.is_set()
    desk.dialog.close()
    asked.fail("Measuring qwen2.5-7b was cancelled.")
    assert desk.words == "Measuring qwen2.5-7b was cancelled."
    assert desk.toasts == []
    desk.dialog.show()
    assert desk.dialog.measure_button.isEnabled()


def test_a_sign_in_the_window_tells_what_is_measured_and_leads_back(desk: Desk) -> None:
    sign = desk.window.signs.measuring
    assert sign.isHidden()
    desk.dialog.measure_requested.emit(("Q8_0",), False)
    desk.dialog.close()
    assert (sign.isVisible(), sign.accessibleName()) == (True, "qwen2.5-7b is being measured")
    QTest.mouseClick(sign, LEFT)
    assert desk.dialog.isVisible()
    desk.asked(desk.tuning.tune).fail("Measuring qwen2.5-7b was cancelled.")
    assert sign.isHidden()


def test_with_the_dialog_closed_a_toast_tells_how_it_ended(desk: Desk) -> None:
    desk.dialog.measure_requested.emit(("Q8_0",), False)
    desk.dialog.close()
    desk.asked(desk.tuning.tune).fail("There is no room.")
    desk.dialog.measure_requested.emit(("Q8_0",), False)
    desk.asked(desk.tuning.tune).answer((REPORT, ()))
    assert desk.toasts[0] == "There is no room."
    assert desk.toasts[1].startswith("qwen2.5-7b was measured. Q4_0 would write")


def test_another_model_waits_until_this_one_is_measured(desk: Desk, bridge: FakeBridge) -> None:
    desk.dialog.measure_requested.emit(("Q8_0",), False)
    bridge.all_asked.clear()
    desk.open(STARTER_TARGET)
    assert desk.dialog.heading.text() == "qwen2.5-7b"
    desk.dialog.measure_requested.emit(("Q8_0",), False)
    assert bridge.all_asked == []


def test_a_quantization_is_kept_and_used_only_if_the_user_wants_it(desk: Desk, bridge: FakeBridge) -> None:
    bridge.tell(TargetsListed((STARTER_TARGET, MEASURED)))
    desk.point_at("Q4_0")
    QTest.mouseClick(desk.dialog.keep_button, LEFT)
    asked = desk.asked(desk.tuning.make)
    assert asked.args == (QWEN.path, "Q4_0")
    asked.tell(TuneProgress("Q4_0", TuneStep.MAKING, 0.5))
    assert desk.dialog.progress.value() == 500
    made = OFFERS[-1].path
    kept = replace(QWEN, name="qwen2.5-7b-Q4_0", path=made)
    bridge.tell(TargetsListed((STARTER_TARGET, MEASURED, kept)))
    asked.answer(made)
    assert desk.words == "qwen2.5-7b-Q4_0 is now in the library."
    assert desk.used == []
    assert desk.dialog.keep_button.text() == "Use Q4_0"
    QTest.mouseClick(desk.dialog.keep_button, LEFT)
    assert desk.used == [str(made)]


def test_a_kept_quantization_is_offered_in_a_toast_while_the_dialog_is_closed(desk: Desk) -> None:
    desk.dialog.keep_requested.emit("Q4_0")
    desk.dialog.close()
    desk.asked(desk.tuning.make).answer(OFFERS[-1].path)
    (toast,) = desk.window.toasts.shown
    assert toast.action_button is not None
    QTest.mouseClick(toast.action_button, LEFT)
    assert desk.used == [str(OFFERS[-1].path)]


def test_the_starter_is_used_in_its_fastest_quantization_and_as_it_came_again(
    starter: Desk, bridge: FakeBridge
) -> None:
    assert starter.dialog.starter_words.text() == "The starter model uses its original quantization, Q4_1."
    starter.dialog.starter_tune_requested.emit()
    assert starter.asked(starter.tuning.tune_starter).kwargs == {"is_quick": True}
    bridge.tell(TargetsListed((STARTER_IN_Q8, QWEN)))
    starter.asked(starter.tuning.tune_starter).answer(("Q8_0", STARTER_REPORT))
    assert starter.words == "The starter model uses Q8_0 from now on."
    assert "1.24 times as fast as its original quantization, Q4_1" in starter.dialog.starter_words.text()
    assert starter.used == [STARTER_IN_Q8.reference], "it was in use"
    ready(bridge, STARTER_IN_Q8)
    assert starter.dialog.reset_button.isVisible()
    starter.dialog.starter_reset_requested.emit()
    bridge.tell(TargetsListed((STARTER_MEASURED, QWEN)))
    starter.asked(starter.tuning.reset_starter).answer()
    assert starter.words == "The starter model uses its original quantization from now on."
    assert starter.used[1:] == [STARTER_TARGET.reference]
    assert not starter.dialog.reset_button.isVisible()


def test_a_starter_that_stays_as_it_is_and_one_that_is_not_in_use_are_not_loaded(
    starter: Desk, bridge: FakeBridge
) -> None:
    starter.dialog.starter_tune_requested.emit()
    bridge.tell(TargetsListed((STARTER_MEASURED, QWEN)))
    starter.asked(starter.tuning.tune_starter).answer(("", STARTER_REPORT))
    assert starter.words.startswith("The starter model keeps its original quantization")
    ready(bridge, QWEN)
    starter.dialog.starter_tune_requested.emit()
    bridge.tell(TargetsListed((STARTER_IN_Q8, QWEN)))
    starter.asked(starter.tuning.tune_starter).answer(("Q8_0", STARTER_REPORT))
    assert starter.used == []


# With the real engine


@pytest.fixture
def real(window: MainWindow, keeper: ThemeKeeper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setattr(
        "engine.backend.library.tuning.tuning_service.USUAL", Extent(num_turns=1, num_prompts=2, reply_tokens=8)
    )
    bridge = EngineBridge(EngineConfig(tmp_path / "data"))
    yield Desk(window, keeper, bridge)
    assert bridge.close()


@pytest.mark.usefixtures("sound_models")
def test_a_quantization_is_measured_kept_and_listed(qtbot: QtBot, real: Desk, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    model = tiny_llama(tmp_path / "mine" / "tiny.gguf")

    def wait(is_so: Callable[[], bool]) -> None:
        qtbot.waitUntil(is_so, timeout=60_000)

    def row() -> QuantizationRow:
        return next(row for row in real.dialog.table.rows if row.quantization == "Q8_0")

    real.bridge.ask(real.bridge.engine.library.add, (model,))
    wait(lambda: not real.bridge.is_at_work)
    real.open(model)
    wait(lambda: not real.bridge.is_at_work)
    real.dialog.measure_requested.emit(("Q8_0",), False)
    wait(lambda: row().figures is not None)
    assert row().here is None
    assert list(model.parent.iterdir()) == [model]
    real.point_at("Q8_0")
    wait(lambda: not real.bridge.is_at_work)
    real.dialog.keep_button.click()
    wait(lambda: row().here is not None)
    assert row().here == model.parent / "tiny-Q8_0.gguf"
    assert real.dialog.keep_button.text() == "Use Q8_0"
    assert real.window.toasts.shown == ()
    wait(lambda: not real.bridge.is_at_work)
