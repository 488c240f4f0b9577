"""The line that offers a comparison, in the window on a bridge without an engine."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.features.speed.compare import SUBJECT, ProofOffer, came_again
from app.main_window import MainWindow
from app.settings.app_settings import AppSettings
from engine.values.conversations import Message
from engine.values.events import ReplyFinished
from engine.values.replies import ProposerCounts, ReplyStatistics, StopReason
from tests.fakes.bridge import FakeBridge
from tests.fakes.chats import unsaved
from tests.unit.app.widgets.messages import reply

COPIED = ReplyStatistics(
    prompt_tokens=200,
    evaluated_tokens=200,
    reply_tokens=90,
    prompt_s=1.0,
    reply_s=2.0,
    stop_reason=StopReason.END,
    context_used=290,
    context_size=8192,
    num_rounds=16,
    num_drafted=100,
    num_accepted=76,
    ratio=1.8,
    proposers=(ProposerCounts("recall", 14, 100, 76),),
)
FINISHED = replace(reply(1), statistics=COPIED)


class Desk:
    def __init__(self, window: MainWindow, settings: AppSettings) -> None:
        self.window, self.bridge, self.keeper = window, FakeBridge(), unsaved(settings)
        ProofOffer(window, self.bridge, self.keeper)

    def finish(self, message: Message = FINISHED) -> None:
        """As the window shows it before anything is offered."""
        self.window.transcript.show_messages((message,))
        self.bridge.tell(ReplyFinished(message))

    @property
    def is_shown(self) -> bool:
        return SUBJECT in self.window.notices.shown


@pytest.mark.parametrize(
    ("statistics", "offered"),
    [
        (COPIED, True),
        (replace(COPIED, ratio=1.0), False),  # no faster
        (replace(COPIED, reply_tokens=12), False),  # too short to tell
        (replace(COPIED, proposers=(ProposerCounts("drafter", 14, 100, 76),)), False),  # guessed, not reused
        (replace(COPIED, proposers=(ProposerCounts("recall", 14, 100, 20),)), False),  # little of it
        (replace(COPIED, num_drafted=0, proposers=()), False),
    ],
    ids=["copied", "no faster", "short", "drafted", "little", "nothing guessed"],
)
def test_it_is_offered_after_text_that_came_again(
    window: MainWindow, statistics: ReplyStatistics, offered: bool
) -> None:
    desk = Desk(window, AppSettings())
    desk.finish(reply(0))
    desk.finish(replace(reply(1), statistics=statistics))
    assert desk.is_shown is offered is came_again(statistics)
    if offered:
        assert "1.8× faster" in window.notices.shown[SUBJECT].words.text()


@pytest.mark.parametrize("way", ["used", "dismissed", "compared by itself"])
def test_it_is_never_offered_again(window: MainWindow, way: str) -> None:
    desk = Desk(window, AppSettings())
    opened: list[bool] = []
    window.compare_action.triggered.connect(lambda: opened.append(True))
    desk.finish()
    match way:
        case "used":
            QTest.mouseClick(window.notices.shown[SUBJECT].buttons[0], Qt.MouseButton.LeftButton)
        case "dismissed":
            QTest.mouseClick(window.notices.shown[SUBJECT].close_button, Qt.MouseButton.LeftButton)
        case _:
            window.compare_action.trigger()
    assert bool(opened) is (way != "dismissed")
    assert not desk.is_shown
    desk.finish()
    assert not desk.is_shown
    assert desk.keeper.settings.proof_offered


def test_it_is_not_about_a_reply_that_is_not_in_sight_or_of_a_server(window: MainWindow) -> None:
    desk = Desk(window, AppSettings())
    desk.bridge.tell(ReplyFinished(FINISHED))
    assert not desk.is_shown, "it may be one that another program has asked for"
    desk.finish(replace(FINISHED, server="https://server.example.org"))
    assert not desk.is_shown, "nobody has measured it here"


def test_until_then_each_such_reply_offers_it(window: MainWindow) -> None:
    desk = Desk(window, AppSettings())
    desk.finish()
    desk.finish()
    assert desk.is_shown
    assert not desk.keeper.settings.proof_offered
