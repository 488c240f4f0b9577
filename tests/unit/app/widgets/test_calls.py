"""Calls in the transcript: asked for, running, with their results."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.text.tool_calls import CallPhase, redefined_words
from app.theme import ThemeKeeper
from app.widgets.prompt.pictures import Pictures
from app.widgets.transcript.reply_view import ReplyView
from app.widgets.transcript.transcript import Transcript
from app.widgets.words.prose import Prose
from engine.values.events import ToolAsked
from engine.values.replies import Thought, ThoughtPiece
from engine.values.tools import Change, Outcome, Permission, Redefined, Tool
from tests.unit.app.widgets.calls import FORECAST, call, calling, conversation, last, result
from tests.unit.app.widgets.messages import prompt


@pytest.fixture
def transcript(qtbot: QtBot, keeper: ThemeKeeper) -> Transcript:
    transcript = Transcript(keeper, Pictures())
    qtbot.addWidget(transcript)
    transcript.resize(800, 700)
    with qtbot.waitExposed(transcript):
        transcript.show()
    return transcript


def answer(transcript: Transcript) -> ReplyView:
    view = transcript.column.built_rows()[-1][1]
    assert isinstance(view, ReplyView)
    return view


def prose_of(view: ReplyView) -> list[str]:
    return [part.toPlainText() for part in view.block_views if isinstance(part, Prose)]


def spoken(widget: QWidget) -> str:
    return str(QAccessible.queryAccessibleInterface(widget).text(QAccessible.Text.Name))


def lines(transcript: Transcript) -> list[str]:
    return [spoken(view.button) for view in answer(transcript).call_views]


def ids(transcript: Transcript) -> list[int]:
    return [message.id for message in transcript.messages]


def ask(
    transcript: Transcript,
    arguments: str = '{"city": "Paris"}',
    tool: Tool = FORECAST,
    redefined: Redefined | None = None,
) -> None:
    transcript.show_messages((prompt(1),))
    transcript.begin_reply()
    transcript.finish_reply(calling(2, 1, call(1, arguments)))
    transcript.calls.set_phase(call(1).id, CallPhase.ASKED, ToolAsked(1, 2, call(1), tool, redefined))


def test_replies_and_results_read_as_one_answer(qtbot: QtBot, transcript: Transcript) -> None:
    transcript.show_messages(conversation())
    qtbot.waitUntil(lambda: answer(transcript).is_whole)
    assert ids(transcript) == [1, 2, 3, 4, 5]
    assert len(transcript.column.built_rows()) == 2
    view = answer(transcript)
    assert prose_of(view) == ["Let me look.", "Take an umbrella."]
    assert lines(transcript) == ["Called weather: forecast · 0.8 s", "You declined weather: forecast"]
    assert view.footer is not None
    view.footer.copy_button.click()
    assert QGuiApplication.clipboard().text() == "Let me look.\n\nTake an umbrella."


def test_an_answer_grows_through_its_calls(transcript: Transcript) -> None:
    asked, other = call(1), call(2)
    transcript.show_messages((prompt(1),))
    transcript.begin_reply()
    transcript.append_thought(ThoughtPiece("Hm.", seconds=1, is_last=True))
    transcript.append_reply_text("Let me look.")
    transcript.show_calling()
    waiting = answer(transcript).waiting
    assert waiting is not None
    assert waiting.words == "Writing a tool call…"
    thought = Thought(0, "Hm.", 1.0, 1, True)
    transcript.finish_reply(replace(calling(2, 1, asked, other), thoughts=(thought,)))
    for each in (asked, other):
        transcript.calls.set_phase(each.id, CallPhase.NEXT)
    assert lines(transcript) == ["Next: weather: forecast"] * 2
    assert answer(transcript).footer is None
    transcript.calls.set_phase(asked.id, CallPhase.RUNNING)
    assert lines(transcript)[0] == "Calling weather: forecast…"
    transcript.add_result(result(3, 2, asked))
    transcript.add_result(result(4, 3, other, "It broke.", Outcome.FAILED))
    transcript.begin_reply()
    assert answer(transcript).waiting is not None
    transcript.append_thought(ThoughtPiece("So it rains.", seconds=1, is_last=True))
    transcript.append_reply_text("Take an umbrella.")
    transcript.show_pending()
    assert len(answer(transcript).thought_views) == 2
    answer(transcript).thought_views[1].button.click()
    assert not answer(transcript).thought_views[0].texts
    assert answer(transcript).thought_views[1].texts[0].toPlainText() == "So it rains."
    transcript.finish_reply(last(5, 4))
    assert len(transcript.column.built_rows()) == 2
    assert lines(transcript) == ["Called weather: forecast · 0.8 s", "Failed: weather: forecast · 0.8 s"]
    assert answer(transcript).footer is not None
    assert ids(transcript) == [1, 2, 3, 4, 5]


def test_nothing_follows_any_more(transcript: Transcript) -> None:
    """As after Stop, or after too many calls in a row."""
    ask(transcript)
    transcript.calls.clear()
    transcript.add_result(result(3, 2, call(1), "Stopped.", Outcome.STOPPED))
    transcript.begin_reply()
    transcript.end_answer()
    assert lines(transcript) == ["Stopped: weather: forecast"]
    view = answer(transcript)
    assert view.waiting is None
    assert view.footer is not None
    assert "stopped" in view.footer.facts.accessibleName()
    assert transcript.can_continue()
    assert not view.footer.continue_button.isHidden()


def test_a_question_has_everything_that_would_be_sent(transcript: Transcript) -> None:
    long = {"text": "word " * 400, "list": [*range(50)]}
    ask(transcript, json.dumps(long), Tool("weather", "forecast", "<b>The</b>\nweather."))
    question = transcript.question
    assert question is not None
    assert spoken(question) == "May the model use “forecast” of weather?"
    assert question.about.text() == "The server describes it as: <b>The</b> weather."
    assert question.about.textFormat() is Qt.TextFormat.PlainText
    assert "49" not in "".join(text.document().toPlainText() for text in question.texts)
    question.arguments.all_button.click()
    shown = "".join(text.document().toPlainText() for text in question.texts)
    assert shown.replace("\n", "").count("word") == 400
    assert "49" in shown
    assert [each.text() for each in question.buttons] == ["Once", "Allow in this chat", "Always", "Don't allow"]
    assert [each.isDefault() or each.autoDefault() for each in question.buttons] == [False] * 4
    assert all(each.accessibleDescription() for each in question.buttons)


def test_a_question_says_what_has_changed_since_it_was_allowed(transcript: Transcript) -> None:
    changed = Redefined((Change.DESCRIPTION, Change.ARGUMENTS), "The weather\nof a city.", ("file\u202e", "days"))
    ask(transcript, redefined=changed)
    question = transcript.question
    assert question is not None
    words = question.redefined.text()
    assert not question.redefined.isHidden()
    assert "allowed this tool earlier" in words
    assert "Its description was “The weather of a city.”" in words
    assert "new arguments: file" in words
    assert "\u202e" not in words
    assert "program" not in words
    assert redefined_words(Redefined((Change.PROGRAM,), "", ())).endswith("another address.")


@pytest.mark.parametrize(("place", "permission"), [*enumerate(Permission)])
def test_each_button_gives_its_answer_once(
    qtbot: QtBot, transcript: Transcript, place: int, permission: Permission
) -> None:
    ask(transcript)
    question = transcript.question
    assert question is not None
    question.setFocus()
    QTest.keyClick(question, Qt.Key.Key_Return)
    QTest.keyClick(question, Qt.Key.Key_Space)
    with qtbot.waitSignal(transcript.calls.answered) as answered:
        question.buttons[place].click()
    assert answered.args == [call(1).id, permission]
    assert not any(each.isEnabled() for each in question.buttons)


def test_results_are_text_and_never_read_as_anything_else(transcript: Transcript) -> None:
    text = "<img src='http://x/y.png'> [link](http://x) **bold**\n" + "line\n" * 40
    transcript.show_messages((prompt(1), calling(2, 1, call(1)), result(3, 2, call(1), text), last(4, 3)))
    view = answer(transcript).call_views[0]
    view.button.click()
    view = answer(transcript).call_views[0]
    assert [part.heading.text() for part in view.parts] == ["What the model wrote:", "The tool answered:"]
    shown = view.parts[1].texts[0].document()
    assert shown.toPlainText().startswith("<img src='http://x/y.png'> [link](http://x) **bold**")
    assert "href" not in shown.toHtml()
    assert "<img" not in shown.toHtml()
    assert not view.parts[1].all_button.isHidden()
    height = view.height()
    view.parts[1].all_button.click()
    assert view.height() > height
    assert sum(each.document().toPlainText().count("line") for each in view.parts[1].texts) == 40
    view.button.click()
    assert answer(transcript).call_views[0].parts == []


def test_json_is_formatted(transcript: Transcript) -> None:
    transcript.show_messages(
        (prompt(1), calling(2, 1, call(1)), result(3, 2, call(1), '{"rain":[1,2.50]}'), last(4, 3))
    )
    answer(transcript).call_views[0].button.click()
    (body,) = answer(transcript).call_views[0].parts[1].texts
    assert body.document().toPlainText() == '{\n  "rain": [\n    1,\n    2.50\n  ]\n}'


def test_a_chat_is_cut_in_the_middle_of_an_answer(transcript: Transcript) -> None:
    transcript.show_messages(conversation())
    assert transcript.cut_after(4)
    assert ids(transcript) == [1, 2, 3, 4]
    transcript.resume_answer()
    transcript.begin_reply()
    transcript.append_reply_text("No umbrella.")
    transcript.finish_reply(last(9, 4, "No umbrella."), (5, 9))
    assert prose_of(answer(transcript)) == ["Let me look.", "No umbrella."]
    flipper = answer(transcript).flipper
    assert flipper is not None
    assert flipper.words.text() == "2 / 2"
    assert transcript.cut_after(1)
    assert ids(transcript) == [1]


def test_calls_that_nobody_carried_out_say_so(transcript: Transcript) -> None:
    transcript.show_messages(conversation()[:3])
    assert lines(transcript) == ["Called weather: forecast · 0.8 s", "Not run: weather: forecast"]
    assert transcript.can_continue()


def test_the_result_that_was_searched_for_is_unfolded(transcript: Transcript) -> None:
    transcript.show_messages(conversation())
    assert transcript.reveal(4)
    first, second = answer(transcript).call_views
    assert not first.parts
    assert second.parts[1].texts[0].document().toPlainText() == "You refused."
    assert not transcript.reveal(77)


def test_what_is_shown_stays_when_the_chat_is_read_again(transcript: Transcript) -> None:
    messages = conversation()
    transcript.show_messages(messages)
    view = answer(transcript)
    view.call_views[0].button.click()
    transcript.change_messages(messages)
    assert answer(transcript) is view
    assert view.call_views[0].parts
