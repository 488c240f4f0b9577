from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog
from pytestqt.qtbot import QtBot

from app.theme import ThemeKeeper
from app.widgets.target.target_bar import TargetBar
from engine.values.events import TargetInfo

TARGET = TargetInfo("SmolLM2", "/models/x.gguf", "llama · 135M · Q8_0", 8192, 144_000_000, 2)


@pytest.fixture
def bar(qtbot: QtBot, keeper: ThemeKeeper) -> TargetBar:
    bar = TargetBar(keeper)
    qtbot.addWidget(bar)
    bar.resize(700, 50)
    with qtbot.waitExposed(bar):
        bar.show()
    return bar


def test_a_target_is_named_and_its_kind_told_on_hover(bar: TargetBar) -> None:
    bar.set_target(TARGET)
    assert bar.name.text() == "SmolLM2"
    assert bar.state.text() == ""
    assert "/models/x.gguf\nllama · 135M · Q8_0\n" in bar.name.toolTip()


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


def test_how_far_loading_is_is_told_only_where_it_is_known(bar: TargetBar) -> None:
    for progress, words, most in ((0.0, "Loading…", 0), (0.5, "Loading… 50\u00a0%", 1000), (1.0, "Loading…", 0)):
        bar.show_loading("Qwen", progress)
        assert (bar.state.words, bar.progress.maximum()) == (words, most)


@pytest.mark.parametrize("path", ["/models/y.gguf", ""])
def test_a_chosen_file_is_told(bar: TargetBar, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (path, ""))
    chosen: list[str] = []
    bar.target_chosen.connect(chosen.append)
    bar.choose()
    assert chosen == ([path] if path else [])


def test_a_target_that_waits_for_the_reply_can_be_cancelled_too(bar: TargetBar) -> None:
    bar.show_waiting("Qwen")
    assert bar.state.words == "Loads when the reply is finished"
    assert bar.cancel_button.isVisible()


def test_a_long_name_gives_way_and_is_told_in_full(bar: TargetBar) -> None:
    name = "Mistral-Small-24B-Instruct-2501-abliterated-uncensored-i1-IQ3_XXS-and-more-of-it"
    bar.set_target(TargetInfo(name, "/models/x.gguf", "llama", 8192, 144_000_000, 2))
    bar.resize(420, 50)
    assert bar.name.text() == name
    bar.show_loading("SmolLM2-135M-Instruct", 0.3)
    for width in range(700, 300, -10):  # what is not said whole is not said
        bar.resize(width, 50)
        QApplication.processEvents()
        assert bar.name.width() >= bar.name.sizeHint().width() or not bar.state.text()
        assert bar.state.text() in ("Loading… 30\u00a0%", "")
    bar.set_target(TargetInfo(name, "/models/x.gguf", "llama", 8192, 144_000_000, 2))
    assert bar.name.geometry().right() < bar.menu_button.geometry().left()
