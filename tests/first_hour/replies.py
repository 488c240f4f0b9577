"""Messages and replies: sent, stopped, tried again, edited, continued; and what is said of their speed."""

from __future__ import annotations

import re

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtGui import Qt as TextQt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit

from app.features.settings.settings_dialog import SettingsDialog
from app.widgets.meter.speed_meter import SpeedDetails
from app.widgets.switch import Switch
from app.widgets.transcript.footers import ReplyFooter
from app.widgets.transcript.prompt_view import PromptView
from app.widgets.transcript.reply_view import ReplyView
from engine.values.replies import StopReason
from tests.first_hour.person import Person, few_clicks

COLOURS = "Name three colours."
FRUITS = "Name three fruits."
ANIMALS = "Name three animals."
LENGTH = 24  # tokens of each reply, once that is set
_REPEATED = "Repeat: one two three, one two three, one two three, one two three."


def an_example_fills_the_message_box(person: Person) -> None:
    person.click(person.window.transcript.welcome.example_buttons[0])
    assert person.window.prompt_box.text
    person.type_into(person.window.prompt_box.editor, " ")
    QTest.keyClick(person.window.prompt_box.editor, Qt.Key.Key_Backspace)
    assert not person.window.prompt_box.text


def a_message_stopped_before_the_first_word_is_not_lost(person: Person) -> None:
    """It is in the chat, or, where nobody had begun with it, in the box again."""
    person.new_chat()
    person.send(FRUITS)
    QTest.keyClick(person.window.prompt_box.editor, Qt.Key.Key_Escape)
    box = person.window.prompt_box
    person.until(lambda: not person.window.is_busy and (person.messages or box.text), "the message is there")
    if box.text:
        assert box.text == FRUITS
        QTest.keyClick(box.editor, Qt.Key.Key_Return)
        person.reply_to(FRUITS)
    elif len(person.messages) == 1:
        person.see("No reply yet")
        person.press("Try again")
        person.reply_to(FRUITS)
    assert person.messages[0].text == FRUITS


def a_long_reply_is_stopped_by_esc(person: Person) -> None:
    person.new_chat()
    person.send("Count from one to five hundred in words.")
    person.wait_for_text()
    QTest.keyClick(person.window.prompt_box.editor, Qt.Key.Key_Escape)
    person.until(lambda: not person.window.is_busy and len(person.messages) == 2, "the reply has stopped")
    assert person.statistics.stop_reason is StopReason.STOPPED
    assert person.reads("stopped")


def the_settings_are_searched_and_replies_get_shorter(person: Person) -> None:
    person.choose("Settings…")
    dialog = person.dialog("Settings")
    assert isinstance(dialog, SettingsDialog)
    person.type_into(dialog.search, "longest reply")
    assert dialog.num_found.text().startswith("1 ")
    person.type_into(person.see("Longest reply", QLineEdit), str(LENGTH))
    person.press("Close")
    assert person.app.keeper.settings.reply_length == LENGTH


def a_stopped_reply_goes_on(person: Person) -> None:
    before = person.messages[-1].text
    person.click(footer(person).continue_button)
    person.until(lambda: not person.window.is_busy and len(person.messages[-1].text) > len(before), "it is longer")
    assert person.messages[-1].text.startswith(before)


def footer(person: Person) -> ReplyFooter:
    person.until(lambda: not person.window.is_busy and person.last_view(ReplyView).footer, "the reply has a line below")
    found = person.last_view(ReplyView).footer
    assert found is not None
    return found


def a_message_is_answered(person: Person) -> None:
    person.new_chat()
    reply = person.ask(COLOURS)
    assert reply.text
    assert COLOURS in person.titles
    assert reply.target_name
    assert reply.target_name in footer(person).facts.words


def the_line_of_speed_says_how_fast_it_was(person: Person) -> None:
    person.until(lambda: person.window.meter.headline.property("live") is False, "the speed is that of the whole reply")
    meter = person.window.meter
    assert meter.headline.text()
    assert speed_of(meter.headline.toolTip()) or speed_of(meter.headline.text()), meter.headline.toolTip()
    for told in (meter.headline, footer(person).facts):
        assert not TextQt.mightBeRichText(told.toolTip())
        assert not re.search(r"<[a-z/]", told.toolTip())


def speed_of(text: str) -> float:
    found = re.search(r"([\d.,]+) (?:tokens a second|tok/s)", text)
    return float(found.group(1).replace(",", "")) if found else 0.0


def one_click_shows_the_details_of_speed_and_they_agree(person: Person) -> None:
    with few_clicks(person, 1):
        person.click(person.window.meter.headline)
    details = person.window.meter.details
    assert isinstance(details, SpeedDetails)
    told = " ".join(value.text() for row in details.rows for value in row if value.isVisible())
    told = f"{details.title.text()} {told}"
    assert details.isVisible()
    assert "<" not in told
    expected = person.statistics.tokens_per_s
    assert abs(speed_of(told) - expected) <= 0.06 + 0.01 * expected, f"{told} / {expected}"


def speed_up_is_switched_off_and_on(person: Person) -> None:
    switch = person.see("Speed-up", Switch)
    person.click(switch)
    assert not person.app.keeper.settings.speed_up
    assert "off" in person.window.meter.headline.toolTip().lower() or person.messages
    person.click(switch)
    assert person.app.keeper.settings.speed_up


def a_reply_is_regenerated(person: Person) -> None:
    person.click(footer(person).regenerate_button)
    person.until(lambda: person.window.is_busy, "it is written again")
    person.until(lambda: not person.window.is_busy, "it is written")
    assert footer(person).flipper.words.text() == "2 / 2"


def the_earlier_version_comes_back(person: Person) -> None:
    before = person.messages[-1].id
    person.click(footer(person).flipper.earlier_button)
    person.until(lambda: person.messages[-1].id != before, "the other version is shown")
    assert footer(person).flipper.words.text() == "1 / 2"


def a_message_is_edited_and_answered_anew(person: Person) -> None:
    QTest.keyClick(person.window.prompt_box.editor, Qt.Key.Key_Up)
    view = person.last_view(PromptView)
    person.until(lambda: view.revision is not None, "the message is edited")
    assert view.revision is not None
    view.revision.editor.selectAll()
    QTest.keyClicks(view.revision.editor, ANIMALS)
    QTest.keyClick(view.revision.editor, Qt.Key.Key_Return)
    assert person.reply_to(ANIMALS).text


def a_reply_is_copied(person: Person) -> None:
    person.click(footer(person).copy_button)
    assert QGuiApplication.clipboard().text().strip() == person.messages[-1].text.strip()


def guessed_text_is_highlighted(person: Person) -> None:
    person.new_chat()
    person.ask(_REPEATED)
    QTest.keyClick(person.window, Qt.Key.Key_O, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    person.until(lambda: person.last_view(ReplyView).legend is not None, "the colours are explained")
    QTest.keyClick(person.window, Qt.Key.Key_O, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    person.until(lambda: person.last_view(ReplyView).legend is None, "the colours are gone")
