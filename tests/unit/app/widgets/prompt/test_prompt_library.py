"""`/` in the message box: when prompts are listed, what is found, and how variables are filled in."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QGuiApplication, QInputMethodEvent, QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.theme import ThemeKeeper
from app.widgets.prompt.pictures import Pictures
from app.widgets.prompt.prompt_box import PromptBox
from app.widgets.prompt.prompt_menu import MANAGE, PromptMenu, matching
from engine.values.order import LibraryPrompt

PROMPTS = (
    LibraryPrompt(1, "Summarize", "Sum up: {text}"),
    LibraryPrompt(2, "Write an e-mail", "Write a {tone:friendly} e-mail to {name}. Sign as {name}."),
    LibraryPrompt(3, "Plain", "Nothing to fill in"),
    LibraryPrompt(4, "E-mail back", "Answer {clipboard}"),
)
KEY = Qt.Key


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    window = QWidget()
    qtbot.addWidget(window)
    return window


@pytest.fixture
def box(qtbot: QtBot, keeper: ThemeKeeper, window: QWidget) -> PromptBox:
    box = PromptBox(keeper, Pictures(), window)
    column = QVBoxLayout(window)
    column.addStretch()
    column.addWidget(box)
    window.resize(640, 480)
    with qtbot.waitActive(window):
        window.show()
        window.activateWindow()
    box.set_ready(True)
    box.setFocus()
    box.library.set_prompts(PROMPTS)
    return box


def write(box: PromptBox, text: str) -> None:
    QTest.keyClicks(box.editor, text)


def press(box: PromptBox, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    QTest.keyClick(box.editor, key, modifiers)


def menu(box: PromptBox) -> PromptMenu:
    return box.library.menu


def listed(box: PromptBox) -> list[str]:
    return [row.title for row in menu(box).view.rows.rows] if menu(box).isVisible() else []


def selected(box: PromptBox) -> str:
    return box.editor.textCursor().selectedText()


@pytest.mark.parametrize(
    ("sought", "found"),
    [
        ("", ["Summarize", "Write an e-mail", "Plain", "E-mail back"]),
        ("s", ["Summarize"]),
        ("E-M", ["E-mail back", "Write an e-mail"]),
        ("mail", ["Write an e-mail", "E-mail back"]),
        ("back e", ["E-mail back"]),
        ("ummarize", []),
        (" s", []),
        ("s/", []),
        ("-", []),
        ("s?", []),
    ],
)
def test_words_of_names_are_found_by_how_they_begin(sought: str, found: list[str]) -> None:
    assert [each.name for each in matching(PROMPTS, sought)] == found


def test_a_slash_at_the_beginning_of_a_line_lists_them(box: PromptBox) -> None:
    write(box, "/")
    assert listed(box) == ["Summarize", "Write an e-mail", "Plain", "E-mail back", "Manage prompts…"]
    window = box.window()
    assert window.rect().contains(menu(box).geometry())
    frame = QRect(box.frame.mapTo(window, box.frame.rect().topLeft()), box.frame.size())
    assert menu(box).geometry().bottom() < frame.top()
    assert box.editor.hasFocus(), "the keyboard stays in the box"
    write(box, "wr")
    assert listed(box) == ["Write an e-mail"]
    write(box, "x")
    assert listed(box) == []
    press(box, KEY.Key_Backspace)
    assert listed(box) == ["Write an e-mail"]
    for _ in range(3):
        press(box, KEY.Key_Backspace)
    assert (listed(box), box.text) == ([], "")
    write(box, "one")
    press(box, KEY.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    write(box, "/pl")
    assert listed(box) == ["Plain"]
    press(box, KEY.Key_Tab)
    assert box.text == "one\nNothing to fill in"


@pytest.mark.parametrize("typed", ["and/or", " /", "1/2"])
def test_a_slash_elsewhere_does_not(box: PromptBox, typed: str) -> None:
    write(box, typed)
    assert listed(box) == []


def test_text_that_was_not_typed_does_not(box: PromptBox) -> None:
    box.set_text("/s")
    assert listed(box) == []
    box.set_text("")
    QGuiApplication.clipboard().setText("/s")
    box.editor.paste()
    assert (box.text, listed(box)) == ("/s", [])


def test_a_slash_of_an_input_method_counts(box: PromptBox) -> None:
    event = QInputMethodEvent("", [])
    event.setCommitString("/")
    QApplication.sendEvent(box.editor, event)
    assert len(listed(box)) == 5


def test_arrows_go_round_and_leaving_closes_it(box: PromptBox) -> None:
    write(box, "/")
    press(box, KEY.Key_Up)
    assert menu(box).view.current_key == MANAGE
    press(box, KEY.Key_Down)
    press(box, KEY.Key_Down)
    assert menu(box).view.current_key == 2
    press(box, KEY.Key_Escape)
    assert (listed(box), box.text) == ([], "/")
    write(box, "s")
    assert listed(box) == [], "it was sent away"
    box.set_text("")
    write(box, "/")
    box.button.setFocus()
    assert listed(box) == []


def test_the_library_is_reached_without_a_trace(qtbot: QtBot, box: PromptBox) -> None:
    box.library.set_prompts(())
    write(box, "/")
    assert listed(box) == ["Manage prompts…"]
    with qtbot.waitSignal(box.library.manage_requested):
        press(box, KEY.Key_Return)
    assert box.text == ""
    write(box, "/x")
    assert listed(box) == []


def test_a_click_uses_one(box: PromptBox) -> None:
    write(box, "/pl")
    view = menu(box).view
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=view.visualRect(view.rows.index(0)).center())
    assert box.text == "Nothing to fill in"
    assert box.editor.hasFocus()


def test_ctrl_and_enter_send_what_stands_there(qtbot: QtBot, box: PromptBox) -> None:
    write(box, "/s")
    with qtbot.waitSignal(box.submitted) as submitted:
        press(box, KEY.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert submitted.args == ["/s"]
    assert listed(box) == []


def test_enter_sends_only_what_is_filled_in(qtbot: QtBot, box: PromptBox) -> None:
    write(box, "/wri")
    press(box, KEY.Key_Return)
    assert selected(box) == "{name}", "the first that has no value"
    with qtbot.assertNotEmitted(box.submitted):
        press(box, KEY.Key_Return)
    press(box, KEY.Key_Backtab)
    assert selected(box) == "friendly"
    press(box, KEY.Key_Tab)
    write(box, "Ada")
    press(box, KEY.Key_Tab)
    assert (selected(box), box.text) == ("Ada", "Write a friendly e-mail to Ada. Sign as Ada.")
    write(box, "Bo")
    press(box, KEY.Key_Tab)
    assert not box.library.filling.is_under_way
    assert box.editor.textCursor().atEnd()
    assert not box.editor.extraSelections()
    assert box.hint.isHidden()
    with qtbot.waitSignal(box.submitted) as submitted:
        press(box, KEY.Key_Return)
    assert submitted.args == ["Write a friendly e-mail to Ada. Sign as Bo."]


def test_esc_leaves_the_rest_as_it_is(qtbot: QtBot, box: PromptBox) -> None:
    write(box, "/sum")
    press(box, KEY.Key_Return)
    assert box.hint.text() == "Type “text” · Tab: next · Esc: leave the rest"
    with qtbot.assertNotEmitted(box.stop_requested):
        box.set_busy(True)
        press(box, KEY.Key_Escape)
        box.set_busy(False)
    assert box.hint.isHidden()
    with qtbot.waitSignal(box.submitted) as submitted:
        press(box, KEY.Key_Return)
    assert submitted.args == ["Sum up: {text}"]


def test_it_is_one_step_to_undo(box: PromptBox) -> None:
    write(box, "/sum")
    press(box, KEY.Key_Return)
    box.editor.undo()
    assert box.text == "/sum"
    assert not box.library.filling.is_under_way
    press(box, KEY.Key_Tab)
    assert not box.editor.hasFocus(), "Tab leads on as ever"


def test_another_text_ends_filling_in(box: PromptBox) -> None:
    write(box, "/sum")
    press(box, KEY.Key_Return)
    box.set_text("Something else")
    assert not box.library.filling.is_under_way
    assert not box.editor.extraSelections()


def test_what_stands_around_it_stays(box: PromptBox) -> None:
    box.set_text("Before\n\nAfter")
    cursor = box.editor.textCursor()
    cursor.setPosition(7)
    box.editor.setTextCursor(cursor)
    write(box, "/sum")
    press(box, KEY.Key_Return)
    write(box, "this")
    assert box.text == "Before\nSum up: this\nAfter"
    box.editor.moveCursor(QTextCursor.MoveOperation.Start)
    write(box, "Well. ")
    press(box, KEY.Key_Tab)
    assert selected(box) == "this", "it has moved along"


def test_what_was_copied_is_put_in_or_asked_for(box: PromptBox) -> None:
    for copied, text in (
        ("him\nso", "Answer him\nso"),
        ("", "Answer {clipboard}"),
        ("x" * 30_000, "Answer {clipboard}"),
    ):
        QGuiApplication.clipboard().setText(copied)
        box.set_text("")
        write(box, "/back")
        press(box, KEY.Key_Return)
        assert box.text == text


def test_a_prompt_that_is_too_long_is_attached(qtbot: QtBot, box: PromptBox) -> None:
    box.library.set_prompts((LibraryPrompt(1, "Long", "x" * 30_000),))
    write(box, "/long")
    with qtbot.waitSignal(box.long_pasted) as pasted:
        press(box, KEY.Key_Return)
    assert pasted.args == ["x" * 30_000]
    assert box.editor.toPlainText() == ""
