from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.models.server_rows import ServerKey, Sighting
from app.theme import ThemeKeeper
from app.widgets.target.target_bar import TargetBar
from app.widgets.target.target_picker import NO_MODELS, ONLY_STARTER, TargetPicker
from tests.unit.app.library_samples import HEAD, LARGE, MAMBA, QWEN, SMALL, STARTER_TARGET, TARGETS
from tests.unit.app.server_samples import AGREED, DESK


@pytest.fixture
def bar(qtbot: QtBot, keeper: ThemeKeeper) -> TargetBar:
    bar = TargetBar(keeper)
    qtbot.addWidget(bar)
    bar.resize(700, 400)
    with qtbot.waitExposed(bar):
        bar.show()
    return bar


@pytest.fixture
def picker(bar: TargetBar) -> TargetPicker:
    picker = bar.picker
    picker.set_targets(TARGETS)
    picker.set_in_use(STARTER_TARGET.reference)
    QTest.mouseClick(bar.name, Qt.MouseButton.LeftButton)
    return picker


def test_the_name_opens_it_at_the_model_in_use(picker: TargetPicker) -> None:
    assert picker.isVisible()
    assert picker.search.hasFocus()
    assert picker.view.current_key == STARTER_TARGET.reference


def test_a_drafter_made_for_one_model_is_not_offered(picker: TargetPicker) -> None:
    num_rows = picker.view.rows.rowCount()
    picker.set_targets((*TARGETS, HEAD))
    assert picker.view.rows.rowCount() == num_rows


def test_words_and_arrows_and_enter_choose(qtbot: QtBot, picker: TargetPicker) -> None:
    QTest.keyClick(picker.search, Qt.Key.Key_Down)
    assert picker.view.current_key == QWEN.reference
    QTest.keyClicks(picker.search, "mamba")
    assert picker.view.current_key == MAMBA.reference
    with qtbot.waitSignal(picker.chosen) as chosen:
        QTest.keyClick(picker.search, Qt.Key.Key_Return)
    assert chosen.args == [MAMBA.reference]
    assert not picker.isVisible()


def test_what_cannot_be_loaded_is_not_chosen(qtbot: QtBot, picker: TargetPicker) -> None:
    QTest.keyClicks(picker.search, "gone")
    with qtbot.assertNotEmitted(picker.chosen):
        QTest.keyClick(picker.search, Qt.Key.Key_Return)
    assert picker.isVisible()


def test_escape_closes_also_while_words_stand_in_the_field(picker: TargetPicker) -> None:
    QTest.keyClicks(picker.search, "q")
    QTest.keyClick(picker.search, Qt.Key.Key_Escape)
    assert not picker.isVisible()


def test_memory_is_asked_for_and_told(qtbot: QtBot, picker: TargetPicker) -> None:
    with qtbot.waitSignal(picker.estimate_wanted) as wanted:
        QTest.keyClick(picker.search, Qt.Key.Key_Down)
    assert wanted.args == [QWEN.reference]
    picker.show_estimate(MAMBA.reference, LARGE)
    assert picker.note.text() == "", "it is not pointed at"
    picker.show_estimate(QWEN.reference, SMALL)
    assert picker.note.text() == "Takes about 4.6 GB of memory; 10.0 GB are free."
    picker.show_estimate(QWEN.reference, LARGE)
    assert picker.note.text() == "Takes about 45.1 GB of memory; only 10.0 GB are free."


def test_it_says_what_there_is_not(picker: TargetPicker) -> None:
    picker.search.setText("llama 405b")
    assert picker.note.text() == "No model matches “llama 405b”."
    picker.search.clear()
    picker.set_targets(())
    assert picker.note.text() == NO_MODELS
    picker.set_targets((STARTER_TARGET,))
    assert picker.note.text() == ONLY_STARTER


@pytest.mark.parametrize(
    ("button", "signal"),
    [
        ("add_files_button", "add_files_requested"),
        ("add_folder_button", "add_folder_requested"),
        ("find_button", "find_requested"),
        ("library_button", "library_requested"),
    ],
)
def test_buttons_close_it_first(qtbot: QtBot, picker: TargetPicker, button: str, signal: str) -> None:
    with qtbot.waitSignal(getattr(picker, signal)):
        QTest.keyClick(getattr(picker, button), Qt.Key.Key_Return)
    assert not picker.isVisible()


def test_it_stays_within_a_narrow_window(bar: TargetBar) -> None:
    bar.resize(400, 300)
    bar.picker.set_targets(TARGETS)
    bar.open_picker()
    assert bar.picker.width() < 400
    right = bar.mapToGlobal(bar.rect().topRight()).x()
    assert bar.picker.mapToGlobal(bar.picker.rect().topRight()).x() <= right


def test_servers_stand_below_the_library_with_their_models(picker: TargetPicker) -> None:
    picker.set_servers((AGREED, DESK), {DESK.address: Sighting(sentence="It is off.")})
    rows = picker.view.rows.rows[len(TARGETS) :]
    assert [row.title for row in rows] == ["Example", "llama-3.3-70b", "Workstation", "Qwen2.5-72B", "Qwen2.5-VL-7B"]
    assert [row.subtitle for row in rows] == [
        "models.example.org · vLLM",
        "on models.example.org",
        "192.168.1.5:8080 · llama-server · did not answer",
        "on 192.168.1.5 · 32,768 tokens of context",
        "on 192.168.1.5 · 8,192 tokens of context · sees pictures",
    ]


def test_a_model_of_a_server_is_found_and_chosen_by_keys_and_takes_no_memory_here(
    qtbot: QtBot, picker: TargetPicker
) -> None:
    picker.set_servers((AGREED, DESK), {})
    with qtbot.assertNotEmitted(picker.estimate_wanted, wait=300):
        QTest.keyClicks(picker.search, "workstation vl")
        assert picker.view.current_key == DESK.models[1].reference, "not at the server, where Enter would ask it"
    assert picker.note.text() == "Runs on Workstation (192.168.1.5:8080): your chats are sent there."
    with qtbot.waitSignal(picker.chosen) as chosen:
        QTest.keyClick(picker.search, Qt.Key.Key_Return)
    assert chosen.args == [DESK.models[1].reference]


def test_why_a_server_did_not_answer_is_said_at_its_row(picker: TargetPicker) -> None:
    picker.set_servers((DESK,), {DESK.address: Sighting(sentence="It is off.")})
    picker.view.point_at(ServerKey(DESK.address))
    assert picker.note.text() == "It is off."


def test_with_servers_nobody_is_told_that_there_are_no_models(picker: TargetPicker) -> None:
    picker.search.setText("no such")
    picker.search.clear()
    picker.set_servers((DESK,), {})
    picker.set_targets((STARTER_TARGET,))
    picker.view.point_at(None)
    assert ONLY_STARTER not in picker.note.text()
