"""The page of history: on a bridge without an engine, and with the real one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import current_thread

import pytest
from pytestqt.qtbot import QtBot

from app.engine_bridge import EngineBridge
from app.features.history.history import HistoryController
from app.features.history.page import HistoryPage
from app.main_window import MainWindow
from app.theme import ThemeKeeper
from engine import EngineConfig
from engine.values.events import DrafterLearned, Event, EverythingForgotten, LearnedChanged
from engine.values.history import History
from engine.values.outlook import ExpectedSpeeds, Outlook, Span
from tests.fakes.bridge import FakeBridge
from tests.unit.app.features.history.made import history


@pytest.fixture
def controller(window: MainWindow, bridge: FakeBridge, keeper: ThemeKeeper) -> HistoryController:
    return HistoryController(window, bridge, keeper)


def opened(controller: HistoryController, window: MainWindow) -> HistoryPage:
    window.history_action.trigger()
    assert controller.page is not None
    return controller.page


def tell(bridge: FakeBridge, *events: Event) -> None:
    bridge.tell(*events)


def num_read(bridge: FakeBridge) -> int:
    return len(bridge.asked(bridge.engine.chats.history))


def answer(bridge: FakeBridge, history: History) -> None:
    bridge.last(bridge.engine.chats.history).answer(history)


LEARNED = DrafterLearned(1, 10)


def test_it_is_read_when_it_is_opened(controller: HistoryController, window: MainWindow, bridge: FakeBridge) -> None:
    tell(bridge, LEARNED)
    assert num_read(bridge) == 0
    page = opened(controller, window)
    assert page.isVisible()
    assert num_read(bridge) == 1
    answer(bridge, history())
    assert page.headline.isVisible()
    opened(controller, window)
    assert num_read(bridge) == 2


def test_it_is_read_again_while_it_is_seen_one_reading_at_a_time(
    controller: HistoryController, window: MainWindow, bridge: FakeBridge
) -> None:
    page = opened(controller, window)
    tell(bridge, LEARNED, LEARNED)
    assert num_read(bridge) == 1
    answer(bridge, history())
    assert num_read(bridge) == 2, "it had changed meanwhile"
    answer(bridge, history())
    assert num_read(bridge) == 2
    page.close()
    tell(bridge, LEARNED)
    assert num_read(bridge) == 2


def test_a_failure_is_told_on_the_page(controller: HistoryController, window: MainWindow, bridge: FakeBridge) -> None:
    page = opened(controller, window)
    bridge.last(bridge.engine.chats.history).fail("The disk is gone.")
    assert page.empty.text() == "The disk is gone."
    opened(controller, window)
    assert num_read(bridge) == 2


def test_the_table_is_written(
    controller: HistoryController, window: MainWindow, bridge: FakeBridge, tmp_path: Path
) -> None:
    page = opened(controller, window)
    answer(bridge, history())
    page.export_requested.emit(str(tmp_path / "speed.csv"), "model\n")
    assert (tmp_path / "speed.csv").read_text() == "model\n"
    assert page.notice.text() == "The table was saved as speed.csv."
    page.export_requested.emit(str(tmp_path / "nowhere" / "speed.csv"), "model\n")
    assert page.notice.text() == "speed.csv could not be written (No such file or directory); choose another place."


def test_asking_for_proof_is_passed_on(
    qtbot: QtBot, controller: HistoryController, window: MainWindow, bridge: FakeBridge
) -> None:
    page = opened(controller, window)
    with qtbot.waitSignal(window.compare_action.triggered):
        page.compare_requested.emit()
    assert num_read(bridge) == 1


def test_the_window_is_up_without_plots() -> None:
    code = (
        "import sys, app.main_window, app.features.history.history, app.features.speed.compare\n"
        "sys.exit(','.join({'pyqtgraph', 'numpy', 'torch', 'sqlalchemy'} & set(sys.modules)) or 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_plots_are_imported_beside_the_interface_thread_when_they_are_first_wanted(
    qtbot: QtBot, controller: HistoryController, window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []

    def importing(_name: str) -> None:
        threads.append(current_thread().name)

    monkeypatch.delitem(sys.modules, "app.features.history.page")
    monkeypatch.setattr("app.features.history.history.import_module", importing)
    window.history_action.trigger()
    window.history_action.trigger()
    assert controller.page is None
    qtbot.waitUntil(lambda: controller.page is not None and controller.page.isVisible())
    assert threads == ["importing"], "twice asked for, once imported"


# With the real engine


@pytest.fixture
def real(tmp_path: Path) -> Iterator[EngineBridge]:
    bridge = EngineBridge(EngineConfig(tmp_path / "data"))
    yield bridge
    assert bridge.close()


def test_a_new_store_has_no_history(qtbot: QtBot, window: MainWindow, keeper: ThemeKeeper, real: EngineBridge) -> None:
    controller = HistoryController(window, real, keeper)
    page = opened(controller, window)
    qtbot.waitUntil(lambda: page.empty.text().startswith("No reply has been stored yet."), timeout=30_000)


@pytest.mark.parametrize("event", [EverythingForgotten(), LearnedChanged()])
def test_what_is_forgotten_leaves_the_page_at_once(
    controller: HistoryController, window: MainWindow, bridge: FakeBridge, event: Event
) -> None:
    opened(controller, window)
    answer(bridge, history())
    tell(bridge, event)
    assert num_read(bridge) == 2


def test_what_is_expected_of_the_model_in_use_stands_beside_what_was_measured(
    controller: HistoryController, window: MainWindow, bridge: FakeBridge
) -> None:
    page = opened(controller, window)
    (asked,) = bridge.asked(bridge.engine.library.expect_speeds)
    assert asked.args == ()
    answer(bridge, History())
    assert not page.expected.isVisible()
    outlook = Outlook("Tiny", None, Span(95, 100, 105), Span(0.97, 1, 1.1), Span(1.1, 1.3, 1.6))
    asked.answer(ExpectedSpeeds((outlook,), 0.0))
    assert page.expected.isVisible(), "there are no replies yet"
    assert page.expected.rows[0] == ("Text that comes again", "about 1.3× (1.1 to 1.6), estimated for Tiny")
    tell(bridge, LEARNED)
    answer(bridge, history())
    names = [name for name, _ in page.paying.rows]
    assert names[0] == "Text that comes again", "of which there were no replies"
    assert "New text" not in names
    assert "Code" in names
