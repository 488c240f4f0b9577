from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMessageBox

from app.features.chats.store_notice import SUBJECT, StoreNotice
from app.main_window import MainWindow
from engine.values.conversations import Conversation
from engine.values.events import (
    ConversationOpened,
    EverythingForgotten,
    MessageStored,
    PromptStored,
    ReplyFinished,
    StoreBehind,
)
from engine.values.orders import Send
from tests.fakes.answers import Wrote
from tests.unit.app.features.chat.test_chat import Desk, answered, desk, figures, prompt, ready, reply, summary

__all__ = ["desk", "ready"]

FULL = "The disk is full; free some space and try again."


def test_what_the_store_refuses_stays_in_the_chat_with_a_notice_until_it_is_stored(ready: Desk) -> None:
    StoreNotice(ready.window, ready.bridge)
    notices = ready.window.notices
    _, answer = answered(ready)
    asked = replace(prompt(-1, 7, "And?"), parent_id=answer.id)
    ready.write("And?")
    ready.tell(StoreBehind(FULL, (asked,)), PromptStored(asked), Wrote(7, "Go", figures(1, 5.0, 11)))
    stored = replace(asked, id=72)
    held = reply(-2, asked, "Good.")
    ready.tell(ReplyFinished(held), StoreBehind(FULL, (asked, held)))
    assert ready.shown == ["Hi", "Hello.", "And?", "Good."]
    bar = notices.shown[SUBJECT]
    assert bar.words.text().startswith(FULL)
    copy, again = bar.buttons
    copy.click()
    assert QGuiApplication.clipboard().text() == "And?\n\nGood."
    ready.take()
    again.click()
    assert ready.take() == [("store_held", True)]
    ready.tell(MessageStored(-1, stored), MessageStored(-2, reply(73, stored, "Good.")), StoreBehind(""))
    assert [message.id for message in ready.window.transcript.messages] == [70, 71, 72, 73]
    assert SUBJECT not in notices.shown
    ready.write("More?")
    assert isinstance(ready.take()[-1], Send), "the chat goes on"
    ready.tell(StoreBehind(FULL), EverythingForgotten())
    assert SUBJECT not in notices.shown


def test_a_reply_grows_on_when_its_prompt_is_stored_meanwhile(ready: Desk) -> None:
    _, answer = answered(ready)
    asked = replace(prompt(-1, 7, "And?"), parent_id=answer.id)
    stored = replace(asked, id=72)
    ready.write("And?")
    ready.tell(PromptStored(asked), Wrote(7, "Go", figures(1, 5.0, 11)), MessageStored(-1, stored))
    assert ready.grows
    ready.window.conversations.chosen.emit(1)
    ready.window.conversations.chosen.emit(7)
    ready.tell(ConversationOpened(Conversation(summary(7), "", (stored,))))
    assert ready.grows, "it is known which prompt it answers"
    ready.tell(Wrote(7, "od.", figures(2, 5.0, 12)), ReplyFinished(reply(73, stored, "Good.")))
    assert ready.shown == ["And?", "Good."]


def question(window: MainWindow) -> QMessageBox | None:
    return next((box for box in window.findChildren(QMessageBox) if box.isVisible()), None)


@pytest.mark.parametrize("answer", ["Copy and close", "Close anyway", "stored"])
def test_the_window_is_not_closed_with_what_is_in_memory_alone_unless_the_user_says_so(
    ready: Desk, answer: str
) -> None:
    StoreNotice(ready.window, ready.bridge)
    window = ready.window
    QGuiApplication.clipboard().setText("")
    ready.tell(StoreBehind(FULL, (prompt(-1, 7, "And?"), prompt(-2, 7, "More?"))))
    assert not window.close()
    assert not window.close(), "which does not ask twice"
    box = question(window)
    assert box is not None
    assert box.text() == "2 messages are not stored yet and will be lost if you close Slipstream."
    assert box.informativeText() == FULL
    press(box, "Keep open")
    assert window.isVisible()
    assert not window.close()
    box = question(window)
    assert box is not None
    if answer == "stored":
        ready.tell(StoreBehind(""))
    else:
        press(box, answer)
    assert not window.isVisible()
    assert QGuiApplication.clipboard().text() == ("And?\n\nMore?" if answer == "Copy and close" else "")


def press(box: QMessageBox, words: str) -> None:
    (pressed,) = [each for each in box.buttons() if each.text() == words]
    pressed.click()


def test_logging_off_waits_for_the_answer_only_where_something_would_be_lost(ready: Desk) -> None:
    notice = StoreNotice(ready.window, ready.bridge)
    session = Session()
    notice._on_session_ending(session)  # type: ignore[arg-type]  # only Qt makes one
    assert (session.is_cancelled, question(ready.window)) == (False, None)
    ready.tell(StoreBehind(FULL, (prompt(-1, 7, "And?"),)))
    notice._on_session_ending(session)  # type: ignore[arg-type]
    assert session.is_cancelled
    assert question(ready.window) is not None
    ready.tell(EverythingForgotten())


class Session:
    is_cancelled = False

    def allowsInteraction(self) -> bool:
        return True

    def cancel(self) -> None:
        self.is_cancelled = True
