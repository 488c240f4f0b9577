"""The number of tokens beside what is being written, on a bridge without an engine."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from app.controllers.prompt import PromptController
from app.main_window import MainWindow
from app.theme import ThemeKeeper
from engine import CountTokens, LoadTarget
from engine.messages.events import Event, TargetInfo, TargetReady, TokensCounted
from engine.messages.prompts import Attachment
from tests.fakes.bridge import FakeBridge

READY = TargetReady(TargetInfo("Tiny", "/models/tiny.gguf", "llama 1B Q4", 1000, 10, 2), LoadTarget("starter"))


class Desk:
    def __init__(self, qtbot: QtBot, keeper: ThemeKeeper) -> None:
        self.qtbot = qtbot
        self.window = MainWindow(keeper)
        qtbot.addWidget(self.window)
        self.box = self.window.prompt_box
        self.bridge = FakeBridge()
        self.controller = PromptController(self.window, self.bridge)
        self.controller._pause.setInterval(1)

    def tell(self, *events: Event) -> None:
        self.bridge.tell(*events)

    def write(self, text: str) -> None:
        num_posted = len(self.bridge.posted)
        self.box.set_text(text)
        self.qtbot.waitUntil(lambda: len(self.bridge.posted) > num_posted)


@pytest.fixture
def desk(qtbot: QtBot, keeper: ThemeKeeper) -> Desk:
    return Desk(qtbot, keeper)


def test_tokens_are_counted_after_a_pause_and_shown(desk: Desk) -> None:
    desk.tell(READY)
    desk.write("How many? ")
    assert desk.bridge.posted == [CountTokens("How many?")]
    desk.tell(TokensCounted("How many?", 3))
    assert desk.box.count.text() == "3 tokens"
    desk.box.set_text("")
    assert desk.box.count.text() == ""


def test_what_was_counted_too_late_is_not_shown(desk: Desk) -> None:
    desk.tell(READY)
    desk.write("One")
    desk.write("One two")
    assert [stop.is_set() for stop in desk.bridge.stops] == [True, False]
    desk.tell(TokensCounted("One", 1))
    assert desk.box.count.text() == ""
    desk.tell(TokensCounted("One two", 2))
    assert desk.box.count.text() == "2 tokens"


@pytest.mark.parametrize(
    ("num_tokens", "words", "level"),
    [(1, "1 token", None), (1000, "1,000 tokens", None), (1001, "1,001 tokens", "error"), (None, "Too long", "error")],
)
def test_what_does_not_fit_is_red(desk: Desk, num_tokens: int | None, words: str, level: str | None) -> None:
    desk.tell(READY)
    desk.write("text")
    desk.tell(TokensCounted("text", num_tokens))
    assert desk.box.count.text() == words
    assert (desk.box.count.property("level") or None) == level
    assert ("shorten it" in desk.box.count.toolTip()) == (level is not None)


def test_without_a_model_nothing_is_counted_until_there_is_one(desk: Desk) -> None:
    desk.box.set_text("Hello")
    desk.qtbot.waitUntil(lambda: not desk.controller._pause.isActive())
    assert desk.bridge.posted == []
    desk.tell(READY)
    desk.qtbot.waitUntil(lambda: desk.bridge.posted == [CountTokens("Hello")])


def test_what_is_too_long_for_the_box_is_attached(desk: Desk) -> None:
    def paste(text: str) -> None:
        QGuiApplication.clipboard().setText(text)
        desk.box.editor.paste()

    paste("short\n")
    for number, text in enumerate(("x" * 30_000, "\n" * 5_000 + "end", "word " * 20_000), start=1):
        paste(text)
        assert len(desk.box.chips.attachments) == number
        assert desk.box.chips.attachments[-1] == Attachment("Pasted text.txt", text)
    assert desk.box.editor.toPlainText() == "short\n"
    paste("x" * 1_500_000)
    assert len(desk.box.chips.attachments) == 3
    assert "has 1,500,000 characters; paste at most 1,000,000" in desk.window.toasts.shown[-1].words.text()
    whole = desk.box.text
    desk.box.set_text("")
    desk.box.set_text(whole)
    assert desk.box.text == whole
    for too_long in ("y" * 200_000, "y\n" * 20_000):
        desk.box.set_text(too_long)
        assert (desk.box.editor.toPlainText(), len(desk.box.chips.attachments)) == ("", 1)
