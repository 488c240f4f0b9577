"""What the window shows and the engine is asked, event by event, on a real window and a bridge without an engine."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.features.chat.branch import BranchController
from app.features.chat.chat import NextChat
from app.main_window import MainWindow
from app.text.origin_marks import proposers
from app.theme import ThemeKeeper, load_theme
from app.widgets.icon_button import IconButton
from app.widgets.transcript.prompt_view import PromptView
from app.widgets.transcript.reply_view import ReplyView
from app.widgets.transcript.row_view import WaitingDots
from app.widgets.words.prose import Prose
from engine import STARTER, OwnSampling, ReplySettings, TargetSettings
from engine.values.conversations import Conversation, ConversationSummary, Message, Role
from engine.values.events import (
    ConversationChanged,
    ConversationForgotten,
    ConversationOpened,
    ConversationsDeleted,
    ConversationsListed,
    Event,
    EverythingForgotten,
    LearningChanged,
    PromptStored,
    ReplyFinished,
    SpeculationChanged,
    TargetInfo,
    TargetLoading,
    TargetReady,
)
from engine.values.orders import Regenerate, Send
from engine.values.replies import OriginRun, ReplyStatistics, StopReason
from engine.values.speed import Hindrance, LiveFigures, SpeedOutcome
from engine.values.targets import LoadOrder
from tests.fakes.answers import Answered, Began, Broke, Trimmed, Waits, Wrote
from tests.fakes.bridge import FakeBridge
from tests.fakes.chats import Chats
from tests.unit.app import wordings

NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
TARGET = TargetInfo("Tiny", "/models/tiny.gguf", "llama 1B Q4", 1000, 10, 2)
TARGET_SETTINGS = TargetSettings(context_size=1000)
STATISTICS = ReplyStatistics(10, 10, 3, 0.1, 0.5, StopReason.END, 13, 1000)


def summary(number: int, title: str = "Chat") -> ConversationSummary:
    return ConversationSummary(number, title, NOW)


def figures(num_tokens: int, tokens_per_s: float, context_used: int) -> LiveFigures:
    return LiveFigures(num_tokens, tokens_per_s, context_used=context_used)


def prompt(number: int, conversation_id: int, text: str = "Hi") -> Message:
    return Message(number, conversation_id, None, Role.USER, text, NOW)


def reply(number: int, parent: Message, text: str = "Hello.") -> Message:
    return Message(number, parent.conversation_id, parent.id, Role.ASSISTANT, text, NOW, "Tiny", STATISTICS)


class Desk:
    """A window, its controllers, and what stands in for the engine."""

    def __init__(self, window: MainWindow) -> None:
        self.window = window
        self.bridge = FakeBridge()
        self.settings = ReplySettings()
        self.chats = Chats(window, self.bridge, self.settings, TARGET_SETTINGS, "Be kind.")
        BranchController(window, self.bridge, self.chats.conversations, self.chats.chat, self.chats.consent)

    def tell(self, *events: Event) -> None:
        self.bridge.tell(*events)

    def take(self) -> list[Any]:
        return self.bridge.take()

    def write(self, text: str) -> None:
        self.window.prompt_box.set_text(text)
        self.window.prompt_box.submit()

    @property
    def shown(self) -> list[str]:
        return [message.text for message in self.window.transcript.messages]

    @property
    def grows(self) -> bool:
        """Whether a reply is seen that is being written."""
        return self.window.transcript.rows.growing is not None


@pytest.fixture
def desk(qtbot: QtBot, keeper: ThemeKeeper) -> Desk:
    window = MainWindow(keeper)
    qtbot.addWidget(window)
    window.show()
    desk = Desk(window)
    desk.chats.start("starter")
    return desk


@pytest.fixture
def ready(desk: Desk) -> Desk:
    desk.tell(TargetReady(TARGET, desk.bridge.loads[-1]), ConversationsListed((summary(1, "Old"),)))
    desk.take()
    return desk


def waiting_words(desk: Desk) -> str:
    """Beside the dots of the reply that is awaited."""
    (waiting,) = desk.window.transcript.findChildren(WaitingDots)
    return waiting.words


def answered(desk: Desk, conversation_id: int = 7) -> tuple[Message, Message]:
    """Goes through a whole first turn."""
    asked = prompt(70, conversation_id)
    answer = reply(71, asked)
    desk.write("Hi")
    desk.tell(
        ConversationChanged(summary(conversation_id, "Hi")),
        PromptStored(asked),
        Began(conversation_id, asked.id, 10, 0),
        Wrote(conversation_id, "Hello.", figures(3, 6.0, 13)),
        ReplyFinished(answer),
    )
    return asked, answer


def test_starting_lists_what_was_kept_and_loads_the_target(desk: Desk) -> None:
    assert desk.take() == [("list_all",), ("load", LoadOrder("starter", for_all=TARGET_SETTINGS))]
    desk.write("Hi")
    assert desk.take() == [Send("Hi", None, desk.settings, "Be kind.")], "it waits for the target in its chat"
    waits = Waits(7, "Waiting until the model is loaded")
    desk.tell(ConversationChanged(summary(7)), PromptStored(prompt(70, 7)), waits)
    assert (desk.shown, waiting_words(desk)) == (["Hi"], "Waiting until the model is loaded")


def test_where_no_target_could_be_loaded_nothing_is_sent(desk: Desk) -> None:
    desk.bridge.refuse("It is damaged.")
    desk.take()
    desk.write("Hi")
    assert desk.take() == []
    assert desk.window.prompt_box.text == "Hi", "and nothing typed is lost"


def test_a_prompt_goes_to_a_new_conversation_which_is_then_the_open_one(ready: Desk) -> None:
    ready.write("Hi")
    assert ready.take() == [Send("Hi", None, ready.settings, "Be kind.")]
    asked = prompt(70, 7)
    ready.tell(ConversationChanged(summary(7, "Hi")), PromptStored(asked))
    assert ready.window.conversations.chosen_id == 7
    assert ready.shown == ["Hi"]
    ready.tell(Wrote(7, "Hel", figures(1, 5.0, 11)), ReplyFinished(reply(71, asked)))
    assert ready.shown == ["Hi", "Hello."]
    ready.write("And?")
    assert ready.take() == [Send("And?", 7, ready.settings, "Be kind.")]


def test_stop_sets_the_signal_of_the_reply_under_way(ready: Desk) -> None:
    ready.write("Hi")
    ready.window.prompt_box.stop_requested.emit()
    assert ready.bridge.answers[-1].request.signal.is_set()


def test_a_prompt_that_could_not_be_kept_comes_back_into_the_box(ready: Desk) -> None:
    ready.write("A long story")
    (_command,) = ready.take()
    ready.tell(Broke.because("This message takes too many tokens; shorten it."))
    assert ready.window.prompt_box.text == "A long story"
    assert [toast.words.text() for toast in ready.window.toasts.shown] == [
        "This message takes too many tokens; shorten it."
    ]
    ready.write("Short")
    assert len(ready.take()) == 1, "the engine can be asked again"


def test_another_conversation_can_be_read_while_a_reply_is_written(ready: Desk) -> None:
    ready.write("Hi")
    asked = prompt(70, 7)
    ready.tell(ConversationChanged(summary(7)), PromptStored(asked), Wrote(7, "Hel", figures(1, 5.0, 11)))
    ready.take()
    ready.window.conversations.chosen.emit(1)
    assert ready.take() == [("open", 1)]
    old = prompt(10, 1, "Old prompt")
    ready.tell(ConversationOpened(Conversation(summary(1), "", (old,))), Wrote(7, "lo.", figures(2, 5.0, 12)))
    assert ready.shown == ["Old prompt"]
    # Back, while the reply still grows: all of its text so far is there.
    ready.window.conversations.chosen.emit(7)
    ready.tell(ConversationOpened(Conversation(summary(7), "", (asked,))), Wrote(7, " Bye", figures(3, 5.0, 13)))
    ready.tell(ReplyFinished(reply(71, asked, "Hello. Bye")))
    assert ready.shown == ["Hi", "Hello. Bye"]


def test_a_reply_that_ends_while_its_conversation_is_being_read_is_shown(ready: Desk) -> None:
    asked, answer = answered(ready)
    ready.window.conversations.chosen.emit(1)
    ready.window.conversations.chosen.emit(7)
    ready.tell(ConversationOpened(Conversation(summary(7), "", (asked,))))  # read before the reply was kept
    assert ready.shown == [asked.text, answer.text]


def test_what_was_opened_too_late_is_not_shown(ready: Desk) -> None:
    ready.window.conversations.chosen.emit(1)
    ready.window.conversations.new_requested.emit()
    ready.tell(ConversationOpened(Conversation(summary(1), "", (prompt(10, 1, "Old prompt"),))))
    assert ready.shown == []


def test_regenerating_replaces_the_last_reply_and_brings_it_back_when_that_fails(ready: Desk) -> None:
    asked, answer = answered(ready)
    ready.take()
    ready.window.transcript.message_actions.regenerate_requested.emit(71)
    assert ready.take() == [Regenerate(7, ready.settings, 71)]
    assert ready.shown == ["Hi"]
    ready.tell(Broke.because("Something is wrong; try again."))
    assert ready.take() == [("open", 7)]
    ready.tell(ConversationOpened(Conversation(summary(7), "", (asked, answer))))
    assert ready.shown == ["Hi", "Hello."]


def test_deleting_can_be_undone(ready: Desk) -> None:
    answered(ready)
    ready.take()
    ready.window.conversations.deleted.emit((7,))
    assert ready.take() == [("delete", (7,))]
    ready.tell(ConversationsDeleted((summary(7, "Hi"),)))
    assert ready.shown == []
    (toast,) = ready.window.toasts.shown
    toast.acted.emit()
    assert ready.take() == [("restore", (7,)), ("open", 7)]


def test_nothing_is_left_in_the_window_when_everything_is_forgotten(ready: Desk) -> None:
    answered(ready)
    ready.tell(ConversationsDeleted((summary(1, "Old"),)))
    ready.window.prompt_box.set_text("not sent")
    ready.tell(EverythingForgotten(), ConversationsListed(()))
    assert ready.shown == []
    assert ready.window.prompt_box.text == ""
    assert ready.window.toasts.shown == ()
    assert not ready.window.restore_action.isEnabled()
    ready.take()
    ready.write("Hi")
    assert ready.take() == [Send("Hi", None, ready.settings, "Be kind.")]


def test_undo_leaves_when_its_chat_is_back_however_that_came(ready: Desk) -> None:
    one, two = summary(1, "Old"), summary(2, "Older")
    ready.tell(ConversationsDeleted((one,)), ConversationsDeleted((two,)))
    ready.window.restore_action.trigger()
    assert [toast.words.text() for toast in ready.window.toasts.shown] == ["“Old” was deleted."]
    ready.tell(ConversationChanged(one))
    assert ready.window.toasts.shown == ()
    assert not ready.window.restore_action.isEnabled()


def test_what_was_deleted_can_be_brought_back_long_after_its_toast_is_gone(ready: Desk) -> None:
    assert not ready.window.restore_action.isEnabled()
    ready.tell(ConversationsDeleted((summary(1, "Old"),)), ConversationsDeleted((summary(2, "Older"),)))
    ready.window.toasts.clear()
    ready.window.restore_action.trigger()
    assert ready.take() == [("restore", (2,)), ("open", 2)]
    ready.window.restore_action.trigger()
    assert ready.take() == [("restore", (1,)), ("open", 1)]
    assert not ready.window.restore_action.isEnabled()


def test_undo_brings_back_the_conversation_it_stands_beside(ready: Desk) -> None:
    ready.tell(ConversationsDeleted((summary(1, "Old"),)), ConversationsDeleted((summary(2, "Older"),)))
    first, _second = ready.window.toasts.shown
    first.acted.emit()
    assert ready.take() == [("restore", (1,)), ("open", 1)]
    ready.window.restore_action.trigger()
    assert ready.take() == [("restore", (2,)), ("open", 2)]


def test_a_target_that_was_ready_while_the_next_was_loading_is_shown_when_that_fails(ready: Desk) -> None:
    ready.window.target_bar.target_chosen.emit("/models/a.gguf")
    ready.window.target_bar.target_chosen.emit("/models/b.gguf")
    first, second = ready.bridge.loads[-2:]
    ready.tell(TargetReady(replace(TARGET, name="a"), first))
    ready.bridge.refuse("b.gguf is damaged.", second)
    assert ready.window.target_bar.name.text() == "a"


def test_only_a_choice_in_the_window_is_remembered(desk: Desk) -> None:
    desk.tell(TargetReady(TARGET, desk.bridge.loads[-1]))
    assert desk.chats.keeper.settings.target == STARTER, "what the command line or a fallback loads is for this once"
    desk.window.target_bar.target_chosen.emit("/models/tiny.gguf")
    desk.tell(TargetReady(TARGET, desk.bridge.loads[-1]))
    assert desk.chats.keeper.settings.target == "/models/tiny.gguf"
    desk.window.starter_action.trigger()
    desk.tell(TargetReady(TARGET, desk.bridge.loads[-1]))
    assert desk.chats.keeper.settings.target == STARTER


def test_an_error_leaves_when_something_works_again(ready: Desk) -> None:
    ready.write("Too long")
    ready.tell(Broke.because("This message is too long; shorten it."))
    assert ready.window.toasts.shown
    ready.write("Short")
    ready.tell(ConversationChanged(summary(7)), PromptStored(prompt(70, 7, "Short")))
    assert ready.window.toasts.shown == ()


def test_a_prompt_that_stayed_unanswered_can_be_answered(ready: Desk) -> None:
    ready.window.conversations.chosen.emit(1)
    ready.tell(ConversationOpened(Conversation(summary(1), "", (prompt(10, 1),))))
    ready.take()
    ready.window.regenerate_action.trigger()
    assert ready.take() == [Regenerate(1, ready.settings, 10)]


def retry_button(desk: Desk) -> IconButton | None:
    """The one that offers to answer the last message, if it is offered."""
    views = desk.window.transcript.findChildren(PromptView)
    return next((view.footer.retry_button for view in views if view.footer.retry_button.isVisible()), None)


def test_a_message_that_waits_is_shown_with_what_it_waits_for(ready: Desk) -> None:
    desk, asked = ready, prompt(70, 7)
    desk.write("Hi")
    desk.tell(ConversationChanged(summary(7)), PromptStored(asked), Waits(7, "Waiting for another program"))
    assert (desk.shown, waiting_words(desk)) == (["Hi"], "Waiting for another program")
    desk.window.conversations.chosen.emit(1)
    desk.tell(ConversationOpened(Conversation(summary(1), "", ())))
    desk.window.conversations.chosen.emit(7)
    desk.tell(ConversationOpened(Conversation(summary(7), "", (asked,))))
    assert (desk.shown, waiting_words(desk)) == (["Hi"], "Waiting for another program"), "also when one comes back"
    desk.tell(Began(7, 70, 9, 0))
    assert waiting_words(desk) == ""
    desk.tell(ReplyFinished(reply(71, asked)))
    assert retry_button(desk) is None


def test_what_a_program_is_answered_does_not_end_the_message_that_waits(ready: Desk) -> None:
    desk, asked = ready, prompt(70, 7)
    desk.write("Hi")
    desk.tell(ConversationChanged(summary(7)), PromptStored(asked), Waits(7, "Waiting for another program"))
    desk.tell(ReplyFinished(reply(81, prompt(80, 8))))
    assert desk.window.is_busy
    assert desk.grows
    desk.tell(ReplyFinished(reply(71, asked)))
    assert desk.shown == ["Hi", "Hello."]


@pytest.mark.parametrize("stop", [Qt.Key.Key_Escape, None])
def test_a_message_that_waits_can_be_stopped_and_tried_again(ready: Desk, stop: Qt.Key | None) -> None:
    desk, asked = ready, prompt(70, 7)
    desk.write("Hi")
    desk.tell(ConversationChanged(summary(7)), PromptStored(asked), Waits(7, "Waiting for another program"))
    assert retry_button(desk) is None
    if stop is None:
        desk.window.prompt_box.button.click()
    else:
        QTest.keyClick(desk.window, stop)
    assert desk.bridge.answers[-1].request.signal.is_set()
    desk.tell(Answered(), ConversationOpened(Conversation(summary(7), "", (asked,))))
    assert (desk.shown, desk.grows, desk.window.is_busy) == (["Hi"], False, False)
    button = retry_button(desk)
    assert button is not None
    assert button.accessibleName() == "Try again"
    desk.take()
    button.click()
    assert desk.take() == [Regenerate(7, desk.settings, 70)]
    assert desk.grows
    assert retry_button(desk) is None


def test_a_message_that_is_stored_after_it_was_stopped_is_shown(ready: Desk) -> None:
    """Another program has locked the store meanwhile."""
    _, before = answered(ready)
    ready.write("And?")
    ready.tell(Answered())
    ready.take()
    waits = replace(prompt(72, 7), parent_id=before.id)
    ready.tell(PromptStored(waits), Waits(7, "Waiting for another program"))
    assert ready.take() == [("open", 7)]
    assert not ready.grows


def test_a_reply_that_was_to_be_written_again_is_back_when_that_is_stopped_before_it_began(ready: Desk) -> None:
    asked, answer = answered(ready)
    ready.window.transcript.message_actions.regenerate_requested.emit(answer.id)
    ready.take()
    ready.tell(Broke.off())
    assert ready.take() == [("open", 7)]
    ready.tell(ConversationOpened(Conversation(summary(7), "", (asked, answer))))
    assert ready.shown == ["Hi", "Hello."]


def test_after_an_error_or_a_start_a_message_without_a_reply_can_be_tried_again(ready: Desk) -> None:
    asked = prompt(70, 7)
    ready.window.conversations.chosen.emit(1)
    ready.tell(ConversationOpened(Conversation(summary(1), "", (prompt(5, 1),))))
    assert retry_button(ready) is not None
    ready.window.conversations.new_requested.emit()
    ready.write("Hi")
    (_send,) = [each for each in ready.take() if isinstance(each, Send)]
    ready.tell(ConversationChanged(summary(7)), PromptStored(asked), Broke.because("The model failed."))
    ready.tell(ConversationOpened(Conversation(summary(7), "", (asked,))))
    assert retry_button(ready) is not None


def test_deleting_the_conversation_of_a_reply_stops_it(ready: Desk) -> None:
    ready.write("Hi")
    ready.tell(ConversationChanged(summary(7)), PromptStored(prompt(70, 7)))
    stop = ready.bridge.answers[-1].request.signal
    ready.window.conversations.deleted.emit((7,))
    assert stop.is_set()


def test_renaming(ready: Desk) -> None:
    ready.window.conversations.renamed.emit(1, "Better")
    assert ready.take() == [("rename", 1, "Better")]


def test_the_user_is_told_once_for_every_time_messages_leave(ready: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    notes: list[str] = []
    monkeypatch.setattr(ready.window.transcript, "show_note", notes.append)
    asked, answer = answered(ready)
    ready.window.transcript.message_actions.regenerate_requested.emit(answer.id)
    ready.tell(Began(7, asked.id, 10, 2), Began(7, asked.id, 10, 2), Trimmed(7, 6))
    assert len(notes) == 2
    assert "2 oldest messages" in notes[0]
    assert "6 oldest messages" in notes[1]


def test_messages_that_left_are_told_when_the_conversation_is_opened_too(
    ready: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes: list[str] = []
    monkeypatch.setattr(ready.window.transcript, "show_note", notes.append)
    asked = prompt(70, 7)
    answer = replace(reply(71, asked), statistics=replace(STATISTICS, left_out_messages=4))
    ready.window.conversations.chosen.emit(7)
    ready.tell(ConversationOpened(Conversation(summary(7), "", (asked, answer))))
    assert len(notes) == 1
    assert "4 oldest messages" in notes[0]


def test_a_reply_written_again_does_not_show_beside_the_old_one_after_looking_elsewhere(ready: Desk) -> None:
    asked, answer = answered(ready)
    ready.window.transcript.message_actions.regenerate_requested.emit(71)
    ready.tell(Began(7, asked.id, 10, 0), Wrote(7, "New", figures(1, 0.0, 11)))
    ready.window.conversations.chosen.emit(1)
    ready.window.conversations.chosen.emit(7)
    ready.tell(ConversationOpened(Conversation(summary(7), "", (asked, answer))))  # the store knows the old one still
    assert ready.shown == ["Hi"]
    ready.tell(ReplyFinished(reply(72, asked, "New reply")))
    assert ready.shown == ["Hi", "New reply"]


def test_what_is_read_between_asking_anew_and_the_beginning_of_the_reply_does_not_hide_it(ready: Desk) -> None:
    asked, answer = answered(ready)
    ready.window.transcript.message_actions.regenerate_requested.emit(71)
    ready.tell(ConversationOpened(Conversation(summary(7), "", (asked, answer))))  # for the settings of the chat, say
    assert ready.shown == ["Hi"]
    ready.tell(Began(7, asked.id, 10, 0), Wrote(7, "New", figures(1, 0.0, 11)))
    assert ready.grows
    ready.tell(ReplyFinished(reply(72, asked, "New reply")))
    assert ready.shown == ["Hi", "New reply"]


def test_a_prompt_that_the_store_told_first_is_seen_to_be_answered(ready: Desk) -> None:
    asked, answer = answered(ready)
    second = replace(prompt(72, 7, "And?"), parent_id=answer.id)
    ready.write("And?")
    ready.tell(ConversationOpened(Conversation(summary(7), "", (asked, answer, second))), PromptStored(second))
    ready.tell(Began(7, second.id, 10, 0), Wrote(7, "Yes", figures(1, 0.0, 11)))
    assert ready.grows


def test_a_reply_goes_with_the_chat_that_is_forgotten_without_a_word(ready: Desk) -> None:
    answered(ready)
    ready.window.transcript.message_actions.regenerate_requested.emit(71)
    _command, stop = ready.take()[-1], ready.bridge.answers[-1].request.signal
    ready.tell(Began(7, 70, 10, 0), Wrote(7, "Secret", figures(1, 0.0, 11)))
    ready.tell(ConversationForgotten(summary(7)))
    assert stop.is_set()
    assert ready.shown == []
    ready.window.toasts.clear()  # that it is gone
    ready.tell(Broke.because("This chat no longer exists."))
    assert ready.window.toasts.shown == ()
    assert ready.take() == []
    ready.write("Again")
    assert isinstance(ready.take()[-1], Send)


def test_a_prompt_is_not_given_back_where_its_chat_was_forgotten(ready: Desk) -> None:
    answered(ready)
    ready.write("Secret")
    ready.take()
    ready.tell(ConversationForgotten(summary(7)))
    ready.window.toasts.clear()  # that it is gone
    ready.tell(Broke.because("This chat no longer exists."))
    assert (ready.window.prompt_box.text, ready.window.toasts.shown) == ("", ())


def test_what_the_store_told_first_is_not_shown_twice(ready: Desk) -> None:
    asked, answer = answered(ready)
    second = replace(prompt(72, 7, "And?"), parent_id=answer.id)
    ready.write("And?")
    ready.window.conversations.chosen.emit(1)
    ready.window.conversations.chosen.emit(7)
    ready.tell(ConversationOpened(Conversation(summary(7), "", (asked, answer, second))), PromptStored(second))
    assert ready.shown == ["Hi", "Hello.", "And?"]
    last = reply(73, second, "Yes.")
    ready.window.conversations.chosen.emit(1)
    ready.window.conversations.chosen.emit(7)
    ready.tell(ConversationOpened(Conversation(summary(7), "", (asked, answer, second, last))), ReplyFinished(last))
    assert ready.shown == ["Hi", "Hello.", "And?", "Yes."]


def test_a_failure_after_the_prompt_was_kept_shows_what_was_kept(ready: Desk) -> None:
    ready.write("Hi")
    ready.take()
    ready.tell(ConversationChanged(summary(7)), PromptStored(prompt(70, 7)), Wrote(7, "Hel", figures(1, 0.0, 11)))
    ready.tell(Broke.because("The disk is full; free some space."))
    assert ready.take() == [("open", 7)]
    ready.tell(ConversationOpened(Conversation(summary(7), "", (prompt(70, 7),))))
    assert ready.shown == ["Hi"]
    ready.write("Again")
    assert isinstance(ready.take()[-1], Send)


def test_a_cancelled_loading_does_not_count_for_the_same_target_chosen_again(ready: Desk) -> None:
    ready.window.target_bar.target_chosen.emit("/models/a.gguf")
    ready.window.target_bar.cancel_requested.emit()
    ready.window.target_bar.target_chosen.emit("/models/a.gguf")
    first, second = ready.bridge.loads[-2:]
    assert first == second
    ready.take()
    ready.bridge.refuse("Loading a.gguf was cancelled.", first)
    assert ready.take() == []
    ready.tell(TargetReady(replace(TARGET, name="a", path="/models/a.gguf"), second))
    assert ready.window.target_bar.name.text() == "a"
    assert ready.chats.keeper.settings.target == "/models/a.gguf"


def test_a_failed_start_falls_back_to_the_starter(desk: Desk) -> None:
    desk.take()
    desk.chats.target.load("/models/gone.gguf")
    assert desk.bridge.loads[-1] == LoadOrder("/models/gone.gguf", for_all=TARGET_SETTINGS)
    desk.bridge.refuse("There is no such file; choose another.")
    assert desk.bridge.loads[-1] == LoadOrder(STARTER, for_all=TARGET_SETTINGS, by_itself=True)
    num_loads = len(desk.bridge.loads)
    desk.bridge.refuse("The starter model is not installed.")
    assert len(desk.bridge.loads) == num_loads
    desk.write("Hi")
    assert desk.window.prompt_box.text == "Hi"


def test_a_target_that_cannot_be_loaded_leaves_the_one_in_use(ready: Desk) -> None:
    ready.window.target_bar.target_chosen.emit("/models/bad.gguf")
    ready.tell(TargetLoading("bad", 0.5))
    ready.bridge.refuse("bad.gguf is damaged.")
    assert ready.window.target_bar.name.text() == "Tiny"
    ready.write("Hi")
    assert isinstance(ready.take()[-1], Send)


def test_loading_can_be_cancelled(ready: Desk) -> None:
    ready.window.target_bar.target_chosen.emit("/models/big.gguf")
    ready.window.target_bar.cancel_requested.emit()
    assert ready.bridge.loading[-1].request.signal.is_set()


def test_choosing_another_target_gives_up_the_one_being_loaded(ready: Desk) -> None:
    ready.window.target_bar.target_chosen.emit("/models/a.gguf")
    first = ready.bridge.loading[-1].request
    ready.window.target_bar.target_chosen.emit("/models/b.gguf")
    assert first.signal.is_set()
    first_load, second_load = ready.bridge.loads[-2:]
    ready.bridge.refuse("Loading a was cancelled.", first_load)
    assert ready.window.toasts.shown == (), "the user knows"
    ready.tell(TargetReady(TargetInfo("b", "/models/b.gguf", "", 1000, 10, 2), second_load))
    assert ready.chats.keeper.settings.target == "/models/b.gguf"


def test_a_notice_about_the_target_is_shown(desk: Desk) -> None:
    target = TargetInfo("b", "/b.gguf", "", 1000, 10, 2, notice="No template; ChatML is used.")
    desk.tell(TargetReady(target, desk.bridge.loads[-1]))
    assert [toast.words.text() for toast in desk.window.toasts.shown] == ["No template; ChatML is used."]


def test_the_meter_tells_of_the_reply_shown(ready: Desk) -> None:
    """Whatever the engine did last: in this chat, in another, of another version, in a new one and an imported one."""
    headline = ready.window.meter.headline
    drafted = replace(STATISTICS, reply_tokens=214, reply_s=6.9, num_rounds=100, num_drafted=180, num_accepted=114)
    fast, normal = (replace(drafted, plain_tokens_per_s=plain, plain_error=0.04) for plain in (20.0, 30.5))
    asked = prompt(70, 7)
    first = replace(reply(71, asked), statistics=fast)
    second = replace(reply(72, asked), statistics=normal)
    imported = replace(reply(12, prompt(11, 1)), statistics=None)

    def open_chat(number: int, *messages: Message) -> str:
        ready.window.conversations.chosen.emit(number)
        ready.tell(ConversationOpened(Conversation(summary(number), "", messages)))
        return headline.text()

    ready.write("Hi")
    ready.tell(ConversationChanged(summary(7)), PromptStored(asked), ReplyFinished(first))
    assert headline.text() == "1.6× faster"
    ready.tell(SpeculationChanged("Tiny", "Paused: this text is unpredictable.", True))
    assert headline.text() == "1.6× faster"
    ready.window.new_action.trigger()
    assert headline.text() == "Speed-up ready"
    assert ready.window.meter.gauge.isHidden()
    assert open_chat(1, prompt(11, 1), imported) == wordings.told(SpeedOutcome.UNKNOWN)
    assert open_chat(7, asked, second) == wordings.normal()
    ready.window.regenerate_action.trigger()
    assert headline.text() == "Speed-up ready", "the version before is not this reply"
    assert not ready.window.meter.gauge.isHidden(), "the chat takes about as much as before"
    ready.tell(Wrote(7, "Hel", replace(figures(40, 50.0, 60), hindrance=Hindrance.NOTHING)))
    assert headline.property("live") is True
    assert headline.text() == wordings.normal(Hindrance.NOTHING)
    assert open_chat(1, prompt(11, 1), imported) == wordings.told(SpeedOutcome.UNKNOWN)
    ready.tell(Wrote(7, "lo", figures(41, 99.0, 61)))
    assert headline.text() == wordings.told(SpeedOutcome.UNKNOWN)
    assert headline.property("live") is False
    ready.tell(ReplyFinished(first))
    assert headline.text() == wordings.told(SpeedOutcome.UNKNOWN)


def test_the_meter_tells_whether_replies_can_be_sped_up(desk: Desk) -> None:
    target = replace(TARGET, name="b", speculation="The starter is being loaded.", awaits_drafter=True)
    headline = desk.window.meter.headline
    assert headline.text() == ""
    desk.tell(TargetReady(target, desk.bridge.loads[-1]))
    assert headline.text() == "Getting ready…"
    assert "The starter is being loaded." in headline.toolTip()
    desk.tell(SpeculationChanged("another", "Of a target that is gone.", True))
    assert headline.text() == "Getting ready…"
    desk.tell(SpeculationChanged("b", "The starter is ready.", True))
    assert headline.text() == "Speed-up ready"
    desk.tell(SpeculationChanged("b", "It cannot take back what it read.", False, can_draft=False))
    assert headline.text() == "No speed-up with this model"
    assert "It cannot take back what it read." in headline.toolTip()


def test_speed_up_is_switched_for_the_replies_that_follow(ready: Desk) -> None:
    window = ready.window
    QTest.mouseClick(window.meter.switch, Qt.MouseButton.LeftButton)
    assert window.meter.headline.text() == "Speed-up off"
    assert not window.speed_up_action.isChecked()
    assert ready.chats.keeper.settings.speed_up is False, "it is remembered"
    ready.write("Hi")
    (sent,) = ready.take()
    assert isinstance(sent, Send)
    assert not sent.settings.speculate
    ready.tell(PromptStored(prompt(70, 7)), ReplyFinished(reply(71, prompt(70, 7))))
    assert window.meter.headline.text() == "Speed-up off"
    window.speed_up_action.trigger()
    assert window.meter.switch.isChecked()
    assert window.meter.headline.text() == wordings.told(SpeedOutcome.SHORT)
    assert window.focusWidget() is window.prompt_box.editor
    ready.chats.keeper.change("speed_up", False)
    assert not window.meter.switch.isChecked()


def test_learning_is_paused_until_it_is_resumed(ready: Desk) -> None:
    meter = ready.window.meter
    for is_learning, is_paused, is_self_distilling, words in (
        (True, False, False, "Learning…"),
        (False, False, True, "Practising on earlier questions"),
        (False, True, False, "Learning paused"),
    ):
        ready.tell(LearningChanged(is_learning, is_paused, is_self_distilling=is_self_distilling))
        assert meter.learning.text().startswith(words)
        QTest.mouseClick(meter.pause_button, Qt.MouseButton.LeftButton)
        assert ready.bridge.asked(ready.bridge.engine.learning.hold)[-1].args == (not is_paused,)
    ready.tell(LearningChanged(is_learning=False))
    assert meter.learning.isHidden()


def test_a_reply_that_fails_leaves_the_meter_at_rest(ready: Desk) -> None:
    ready.write("Hi")
    ready.tell(PromptStored(prompt(70, 7)), Wrote(7, "Hel", figures(40, 50.0, 60)))
    ready.tell(Broke.because("It broke."))
    assert ready.window.meter.headline.property("live") is False


@pytest.mark.usefixtures("drafter_and_recall")
def test_a_growing_reply_that_is_opened_again_keeps_its_colours(ready: Desk) -> None:
    ready.window.origins_action.setChecked(True)
    asked = prompt(70, 7)
    ready.write("Hi")
    ready.tell(PromptStored(asked))
    for text, origin in (("red ", "drafter"), ("and blue", "recall")):
        ready.tell(Wrote(7, text, figures(2, 5.0, 12), (OriginRun(len(text), origin),)))
    ready.window.conversations.chosen.emit(1)
    ready.tell(ConversationOpened(Conversation(summary(1), "", ())))
    ready.window.conversations.chosen.emit(7)
    ready.tell(ConversationOpened(Conversation(summary(7), "", (asked,))))
    view = ready.window.transcript.column.built_rows()[-1][1]
    assert isinstance(view, ReplyView)
    (block,) = view.block_views
    assert isinstance(block, Prose)
    html = block.toHtml()
    drafter, recall = map(load_theme("light").tint, proposers())
    assert html.index(drafter) < html.index("red ") < html.index(recall)


def test_a_prompt_that_was_not_sent_comes_back_in_its_own_chat_only(ready: Desk) -> None:
    ready.window.conversations.incognito_requested.emit()
    ready.write("secret")
    (_command,) = ready.take()
    ready.window.conversations.new_requested.emit()
    ready.tell(Broke.because("Something is wrong; try again."))
    assert ready.window.prompt_box.text == "", "what is begun there is kept on the disk"
    told = {toast.words.text(): toast for toast in ready.window.toasts.shown}
    button = told["Your message was not sent."].action_button
    assert button is not None
    button.click()
    assert QApplication.clipboard().text() == "secret"


def test_what_the_next_chat_was_to_have_ends_with_it_also_if_the_user_leaves_it(ready: Desk) -> None:
    ready.chats.chat.next_chat = NextChat("Speak French.", OwnSampling())
    ready.write("Hi")
    ready.window.conversations.chosen.emit(1)
    ready.tell(PromptStored(prompt(70, 7)), ReplyFinished(reply(71, prompt(70, 7))))
    ready.window.conversations.new_requested.emit()
    ready.take()
    ready.write("Hi")
    assert ready.take() == [Send("Hi", None, ready.settings, "Be kind.")]


def test_a_message_stopped_before_anybody_has_begun_with_it_is_in_the_box_again(ready: Desk) -> None:
    ready.window.prompt_box.set_text("Name three fruits.")
    ready.window.prompt_box.submit()
    ready.tell(Answered())
    assert not ready.window.is_busy
    assert ready.window.prompt_box.text == "Name three fruits."
