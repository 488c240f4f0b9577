"""Comparing plain with sped up, on a bridge without an engine."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.features.chat.chat import NextChat
from app.features.speed.compare import CompareController
from app.features.speed.compare_wording import HOW_IT_IS_FAIR, reasons, result
from app.features.speed.compared_sides import ComparedTexts, first_difference
from app.main_window import MainWindow
from app.text.speed import hindrance_words
from app.theme import ThemeKeeper
from engine import OwnSampling, ReplySettings, SamplingSettings
from engine.values.comparison import (
    ChatSampling,
    Comparison,
    ComparisonOrder,
    ComparisonStep,
    RunFigures,
    Side,
    TextFork,
)
from engine.values.conversations import Message, Role
from engine.values.events import EverythingForgotten
from engine.values.speed import Hindrance
from tests.fakes.bridge import Asked, FakeBridge
from tests.fakes.chats import Chats
from tests.unit.app.wordings import normal

OWN = ReplySettings(SamplingSettings(temperature=0.7))
GREEDY = ReplySettings(SamplingSettings(temperature=0))
SLOW, QUICK = RunFigures(128, 4.0, 30.0, 127), RunFigures(128, 3.0, 42.0, 74, 110, 54)
WHOLE = Comparison((SLOW, SLOW), (QUICK, QUICK), is_greedy=True, is_stopped=False, fork=None)


class Desk:
    def __init__(self, window: MainWindow, bridge: FakeBridge) -> None:
        self.window = window
        self.bridge = bridge
        self.chats = Chats(window, bridge, OWN, system_prompt="Be kind.")
        self.controller = CompareController(window, bridge, self.chats.chat)
        self.dialog = self.controller.dialog

    def open(self, *texts: str) -> None:
        """After these messages of a chat."""
        self.window.transcript.show_messages(
            tuple(
                Message(number, 7, None, (Role.USER, Role.ASSISTANT)[number % 2], text, datetime.now(UTC))
                for number, text in enumerate(texts)
            )
        )
        self.window.compare_action.trigger()

    def press(self) -> None:
        QTest.mouseClick(self.dialog.start_button, Qt.MouseButton.LeftButton)

    @property
    def all_asked(self) -> list[Asked]:
        return self.bridge.asked(self.bridge.engine.trials.compare)

    @property
    def asked(self) -> Asked:
        return self.all_asked[-1]

    @property
    def order(self) -> ComparisonOrder:
        (order,) = self.asked.args
        assert isinstance(order, ComparisonOrder)
        return order


@pytest.fixture
def desk(qtbot: QtBot, keeper: ThemeKeeper) -> Desk:
    window = MainWindow(keeper)
    qtbot.addWidget(window)
    window.show()
    return Desk(window, FakeBridge())


def test_the_last_prompt_of_the_chat_is_compared(desk: Desk) -> None:
    desk.open("First.", "Yes.", "Second.", "No.")
    assert desk.dialog.prompt.toPlainText() == "Second."
    assert desk.dialog.in_chat.isVisible()
    desk.press()
    assert desk.order == ComparisonOrder("Second.", 7, GREEDY, 128, "Be kind.")


def test_without_a_chat_there_is_an_example_and_all_can_be_set(desk: Desk) -> None:
    desk.open()
    assert desk.dialog.prompt.toPlainText().startswith("Write a Python class")
    assert not desk.dialog.in_chat.isVisible()
    desk.dialog.prompt.setPlainText("  ")
    assert not desk.dialog.start_button.isEnabled()
    desk.dialog.prompt.setPlainText(" Sing. ")
    QTest.keyClick(desk.dialog.own_sampling, Qt.Key.Key_Space)
    desk.dialog.length.setCurrentIndex(0)
    desk.press()
    assert desk.order == ComparisonOrder("Sing.", None, OWN, 64, "Be kind.", ChatSampling())


@pytest.mark.parametrize("in_chat", [True, False])
def test_my_sampling_is_that_of_the_chat_that_is_open(desk: Desk, in_chat: bool) -> None:
    desk.chats.conversations.open_id = 7
    desk.open("First.")
    desk.dialog.in_chat.setChecked(in_chat)
    desk.dialog.own_sampling.setChecked(True)
    desk.press()
    assert desk.order == ComparisonOrder("First.", 7 if in_chat else None, OWN, 128, "Be kind.", ChatSampling(7))


def test_my_sampling_is_that_of_the_chat_that_is_begun_next(desk: Desk) -> None:
    desk.chats.chat.next_chat = NextChat("", OwnSampling(temperature=0.25))
    desk.open()
    desk.dialog.own_sampling.setChecked(True)
    desk.press()
    assert desk.order.sampled_as == ChatSampling(None, OwnSampling(temperature=0.25))


def test_both_sides_are_seen_as_they_are_written(desk: Desk, qtbot: QtBot) -> None:
    desk.open("Sing.")
    desk.press()
    assert desk.dialog.sides.outcome.text().startswith("Waiting for the model")
    desk.asked.tell(ComparisonStep(Side.PLAIN, 0, "La ", RunFigures(1, 0.0, 0.0)))
    assert desk.dialog.sides.figures[Side.PLAIN].text() == "", "one token has no speed yet"
    desk.asked.tell(ComparisonStep(Side.PLAIN, 0, "la.", RunFigures(2, 0.1, 10.0)))
    desk.asked.tell(ComparisonStep(Side.PLAIN, 0, "", SLOW, is_finished=True))
    assert desk.dialog.sides.figures[Side.PLAIN].text() == "30.0 tok/s  ·  128 tokens  ·  4.0 s"
    assert desk.dialog.sides.progress.value() == 250
    desk.asked.tell(ComparisonStep(Side.SPED_UP, 0, "La", RunFigures(64, 1.0, 42.0)))
    assert desk.dialog.sides.outcome.text() == "Reply 2 of 4: with speed-up."
    assert desk.dialog.sides.progress.value() == 375
    desk.asked.tell(ComparisonStep(Side.SPED_UP, 0, "", QUICK, is_finished=True))
    desk.asked.tell(ComparisonStep(Side.SPED_UP, 1, "La again", RunFigures(64, 1.0, 42.0)))
    assert desk.dialog.sides.outcome.text() == "Reply 3 of 4: with speed-up again, only to measure."
    desk.asked.answer(WHOLE)
    assert desk.dialog.sides.outcome.text() == "1.40× faster; the texts are the same."
    assert desk.dialog.sides.reasons.text() == f"Reply by reply, it was 1.40× to 1.40×.\n{HOW_IT_IS_FAIR}"
    assert desk.dialog.sides.figures[Side.SPED_UP].text() == "42.0 and 42.0 tok/s  ·  128 tokens in 74 rounds  ·  3.0 s"
    texts = desk.dialog.sides.texts
    qtbot.waitUntil(lambda: texts[Side.SPED_UP].toPlainText() == "La")
    assert texts[Side.PLAIN].toPlainText() == "La la."
    assert desk.dialog.start_button.text() == "Start"


def test_equal_words_stand_side_by_side_and_the_first_that_differ_are_marked(desk: Desk) -> None:
    desk.open("Sing.")
    desk.press()
    same = "Words that are the same, 😀 and some more of them. " * 40
    for side, end in ((Side.PLAIN, "Then green hills. " * 9), (Side.SPED_UP, "Then great hills, and a song. " * 40)):
        for piece in (same, end):
            desk.asked.tell(ComparisonStep(side, 0, piece, RunFigures(100, 1.0, 30.0)))
        desk.asked.tell(ComparisonStep(side, 0, "", SLOW, is_finished=True))
    desk.asked.answer(WHOLE)
    plain, sped_up = (desk.dialog.sides.texts[side] for side in Side)
    for field, word in ((plain, "green"), (sped_up, "great")):
        (mark,) = field.extraSelections()
        assert mark.cursor.selectedText() == word
    at, beside = plain.cursorRect(), sped_up.cursorRect()  # before these words
    assert at.x() == beside.x()
    assert abs(at.y() - beside.y()) <= 2  # the last line of a text stands on the edge
    assert plain.viewport().rect().contains(plain.cursorRect())
    assert plain.width() == sped_up.width()
    assert plain.verticalScrollBar().value() == sped_up.verticalScrollBar().value() > 0
    sped_up.verticalScrollBar().setValue(sped_up.verticalScrollBar().maximum())  # the longer one goes on alone
    assert plain.verticalScrollBar().value() == plain.verticalScrollBar().maximum()
    assert sped_up.verticalScrollBar().value() > plain.verticalScrollBar().value()


@pytest.mark.parametrize(
    ("one", "other", "now", "at_last"),
    [
        ("a b", "a b", None, None),
        ("a bc d", "a bd d", 2, 2),
        ("a b", "a b c", None, 2),  # the one may go on
        ("a ", "a b", None, 2),
        ("", "a", None, 0),
        ("x", "a", 0, 0),
    ],
)
def test_where_two_texts_differ(one: str, other: str, now: int | None, at_last: int | None) -> None:
    assert first_difference(one, other, are_whole=False) == now
    assert first_difference(one, other, are_whole=True) == at_last


def test_it_can_be_stopped_and_is_when_somebody_waits(desk: Desk) -> None:
    desk.open("Sing.")
    desk.press()
    assert desk.dialog.start_button.text() == "Stop"
    assert not desk.dialog.prompt.isEnabled()
    desk.press()
    assert desk.asked.request.signal.is_set()
    assert not desk.dialog.start_button.isEnabled()
    desk.press()
    assert len(desk.all_asked) == 1
    desk.asked.answer(Comparison((), (), is_greedy=True, is_stopped=True, fork=None))
    assert desk.dialog.sides.outcome.text() == "Stopped before both sides had answered."
    for interrupt in (
        lambda: desk.window.prompt_box.submitted.emit("Hi"),
        lambda: desk.window.transcript.message_actions.regenerate_requested.emit(1),
        desk.window.transcript.message_actions.continue_requested.emit,
        lambda: desk.window.transcript.message_actions.revision_submitted.emit(1, "Ho"),
        desk.dialog.close,
    ):
        desk.dialog.show()
        desk.press()
        stop = desk.asked.request.signal
        assert not stop.is_set()
        interrupt()
        assert stop.is_set()
        desk.asked.answer(WHOLE)


def test_a_failure_is_told_and_it_can_be_tried_again(desk: Desk) -> None:
    desk.open("Sing.")
    desk.press()
    desk.asked.fail("No model is loaded yet; choose one.")
    assert desk.dialog.sides.outcome.text() == "No model is loaded yet; choose one."
    desk.press()
    assert len(desk.all_asked) == 2


def test_opened_again_it_shows_what_is_under_way(desk: Desk) -> None:
    desk.open("Sing.")
    desk.dialog.prompt.setPlainText("Hum.")
    desk.press()
    desk.open("Sing.")
    assert desk.dialog.prompt.toPlainText() == "Hum."


@pytest.mark.parametrize(
    ("comparison", "sentence", "reason"),
    [
        (
            Comparison((SLOW,), (QUICK,), True, True, TextFork(37, " that", "\nwhich", 0.312, 0.31)),
            "1.40× faster; the texts differ after 37 tokens.",
            "There, plain writing continued with “ that” (31.2\u00a0%) and the other continued with “⏎which” (31.0",
        ),
        (
            Comparison((SLOW,), (QUICK,), True, True, TextFork(1, "", "a", 0.8, 0.1)),
            "1.40× faster; the texts differ after 1 token.",
            "There, plain writing ended (80.0\u00a0%) and the other continued with “a” (10.0\u00a0%). Rounding",
        ),
        (
            Comparison((SLOW,), (QUICK,), True, True, TextFork(5, "b", "a", 0.8, None)),
            "1.40× faster; the texts differ after 5 tokens.",
            "There, plain writing continued with “b” and the other continued with “a”; how likely each was is unknown.",
        ),
        (
            Comparison((SLOW,), (QUICK,), False, True, None),
            "1.40× faster; the words were drawn at random.",
            "With your sampling settings, words are drawn at random",
        ),
        (
            Comparison((QUICK, QUICK), (replace(SLOW, hindrance=Hindrance.NOTHING),) * 2, True, False, None),
            "0.71× the normal speed: guessing cost time here; the texts are the same.",
            f"Nothing was guessed: {hindrance_words(Hindrance.NOTHING)}.",
        ),
        (
            Comparison((SLOW, SLOW), (replace(SLOW, num_drafted=9, hindrance=Hindrance.COSTS),) * 2, True, False, None),
            f"{normal()} (1.00×); the texts are the same.",
            f"Why it was not faster: {hindrance_words(Hindrance.COSTS)}.",
        ),
        (
            Comparison((RunFigures(9, 1.0, 8.0, 8),), (RunFigures(9, 1.0, 8.1, 7, 1, 1),), True, True, None),
            f"{normal()} (1.01×); the texts are the same.",
            "Stopped before each side had answered twice",
        ),
        (
            Comparison(
                (RunFigures(1, 0.0, 0.0),), (RunFigures(1, 0.0, 0.0, hindrance=Hindrance.OFF),), True, False, None
            ),
            "The replies are too short to be timed; try another prompt.",
            f"Nothing was guessed: {hindrance_words(Hindrance.OFF)}.",
        ),
    ],
)
def test_what_came_of_it_is_said_honestly(comparison: Comparison, sentence: str, reason: str) -> None:
    assert result(comparison) == sentence
    assert reasons(comparison)[0].startswith(reason)


def test_nothing_is_left_of_a_chat_that_is_forgotten(desk: Desk) -> None:
    desk.open("Secret.", "Yes.")
    desk.press()
    desk.asked.tell(ComparisonStep(Side.PLAIN, 0, "La la.", RunFigures(2, 0.1, 10.0)))
    desk.asked.answer(WHOLE)
    desk.bridge.tell(EverythingForgotten())
    assert desk.dialog.prompt.toPlainText().startswith("Write a Python class")
    assert desk.dialog.sides.texts[Side.PLAIN].toPlainText() == ""
    desk.press()
    assert desk.order.conversation_id is None


def test_whoever_needs_the_model_does_not_wait_for_it(desk: Desk) -> None:
    desk.open("Sing.")
    desk.press()
    desk.window.prompt_box.stop_requested.emit()
    assert desk.asked.request.signal.is_set()


def test_equal_texts_in_other_pieces_are_equal(qtbot: QtBot) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    texts = ComparedTexts({side: side.name for side in Side}, parent)
    for pieces in zip(("می", "\u200cخواهم a\u200b", "\u200b!"), ("می\u200c", "خواهم ", "a\u200b\u200b!"), strict=True):
        for side, piece in zip(Side, pieces, strict=True):
            texts.add(side, piece)
        texts._show_pending()
        assert not any(field.extraSelections() for field in texts.fields.values())
    texts.finish()
    assert {field.toPlainText() for field in texts.fields.values()} == {"می\u200cخواهم a‹U+200B ×2›!"}
    assert not any(field.extraSelections() for field in texts.fields.values())
