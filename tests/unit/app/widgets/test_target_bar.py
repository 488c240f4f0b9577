from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from app.theme import ThemeKeeper
from app.widgets.target_bar import TargetBar
from engine.messages.events import TargetInfo

TARGET = TargetInfo("SmolLM2", "/models/x.gguf", "llama · 135M · Q8_0", 8192, 144_000_000, 2)


@pytest.fixture
def bar(qtbot: QtBot, keeper: ThemeKeeper) -> TargetBar:
    bar = TargetBar(keeper)
    qtbot.addWidget(bar)
    bar.resize(700, 50)
    with qtbot.waitExposed(bar):
        bar.show()
    return bar


def test_a_target_is_named_and_described(bar: TargetBar) -> None:
    bar.set_target(TARGET)
    assert bar.name.text() == "SmolLM2"
    assert bar.description.words == "llama · 135M · Q8_0"
    assert "/models/x.gguf" in bar.name.toolTip()


def test_loading_can_be_cancelled(qtbot: QtBot, bar: TargetBar) -> None:
    bar.set_target(TARGET)
    bar.show_loading("Qwen", 0.5)
    assert bar.progress.isVisible()
    assert bar.progress.value() == 500
    with qtbot.waitSignal(bar.cancel_requested):
        QTest.mouseClick(bar.cancel_button, Qt.MouseButton.LeftButton)
    bar.set_target(TARGET)
    assert not bar.progress.isVisible()
    assert bar.name.text() == "SmolLM2"


@pytest.mark.parametrize("path", ["/models/y.gguf", ""])
def test_a_chosen_file_is_told(bar: TargetBar, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (path, ""))
    chosen: list[str] = []
    bar.target_chosen.connect(chosen.append)
    bar.choose()
    assert chosen == ([path] if path else [])


def test_a_target_that_waits_for_the_reply_can_be_cancelled_too(bar: TargetBar) -> None:
    bar.show_waiting("Qwen")
    assert bar.description.words == "Loads when the reply is finished"
    assert bar.cancel_button.isVisible()


def test_a_long_name_gives_way_and_is_told_in_full(bar: TargetBar) -> None:
    name = "Mistral-Small-24B-Instruct-2501-abliterated-uncensored-i1-IQ3_XXS-and-more-of-it"
    bar.set_target(TargetInfo(name, "/models/x.gguf", "llama", 8192, 144_000_000, 2))
    bar.resize(420, 50)
    assert bar.name.text() == name
    assert bar.name.geometry().right() < bar.menu_button.geometry().left()
