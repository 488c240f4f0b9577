"""The offer to stop a reply that repeats itself, in the window of a chat."""

from __future__ import annotations

import pytest

from app.features.chat.notifier import SUBJECT, RepetitionController
from app.widgets.notice_bar import NoticeBar
from engine.values.conversations import Conversation
from engine.values.events import (
    ConversationChanged,
    ConversationOpened,
    PromptStored,
    ReplyFinished,
)
from tests.fakes.answers import Answered, Broke, Repeats
from tests.unit.app.features.chat.test_chat import Desk, desk, prompt, ready, reply, summary

__all__ = ["desk", "ready"]
ASKED = prompt(70, 7)


@pytest.fixture
def writing(ready: Desk) -> Desk:
    """A reply is written in a chat of its own."""
    RepetitionController(ready.window, ready.chats.conversations, ready.chats.chat)
    ready.write("Hi")
    ready.tell(ConversationChanged(summary(7)), PromptStored(ASKED))
    return ready


def notice(desk: Desk) -> NoticeBar | None:
    return desk.window.notices.shown.get(SUBJECT)


def test_a_reply_that_repeats_itself_can_be_stopped_in_its_chat(writing: Desk) -> None:
    writing.tell(Repeats(7))
    assert not writing.bridge.answers[-1].request.signal.is_set(), "never by itself"
    writing.window.conversations.chosen.emit(1)
    assert notice(writing) is None
    writing.window.conversations.chosen.emit(7)
    writing.tell(ConversationOpened(Conversation(summary(7), "", (ASKED,))))
    bar = notice(writing)
    assert bar is not None
    assert bar.isVisible()
    assert bar.words.text() == "This reply keeps repeating itself."
    bar.buttons[0].click()
    assert writing.bridge.answers[-1].request.signal.is_set()
    writing.tell(ReplyFinished(reply(71, ASKED)), Answered())
    assert notice(writing) is None


def test_dismissed_it_does_not_come_again_for_that_reply(writing: Desk) -> None:
    writing.tell(Repeats(7))
    bar = notice(writing)
    assert bar is not None
    bar.close_button.click()
    for chat in (1, 7):
        writing.window.conversations.chosen.emit(chat)
    assert notice(writing) is None
    assert not writing.bridge.answers[-1].request.signal.is_set()


def test_it_goes_with_a_reply_that_fails(writing: Desk) -> None:
    writing.tell(Repeats(7), Broke.because("The disk is full."))
    assert notice(writing) is None
