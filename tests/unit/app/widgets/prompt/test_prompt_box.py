from __future__ import annotations

import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QInputMethodEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.theme import ThemeKeeper
from app.widgets.prompt.pictures import Pictures
from app.widgets.prompt.prompt_box import PromptBox
from app.widgets.prompt.prompt_editor import SHARE_OF_WINDOW


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
    window.resize(600, 500)
    with qtbot.waitExposed(window):
        window.show()
    box.set_ready(True)
    return box


def test_enter_sends_and_empties_the_box(qtbot: QtBot, box: PromptBox) -> None:
    QTest.keyClicks(box.editor, "  Hello")
    with qtbot.waitSignal(box.submitted) as submitted:
        QTest.keyClick(box.editor, Qt.Key.Key_Return)
    assert submitted.args == ["Hello"]
    assert box.text == ""


def test_shift_and_enter_break_the_line(qtbot: QtBot, box: PromptBox) -> None:
    with qtbot.assertNotEmitted(box.submitted):
        QTest.keyClicks(box.editor, "a")
        QTest.keyClick(box.editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
        QTest.keyClicks(box.editor, "b")
    assert box.text == "a\nb"


def test_nothing_is_sent_while_composing(qtbot: QtBot, box: PromptBox) -> None:
    QApplication.sendEvent(box.editor, QInputMethodEvent("にほ", []))
    with qtbot.assertNotEmitted(box.submitted):
        QTest.keyClick(box.editor, Qt.Key.Key_Return)
    done = QInputMethodEvent("", [])
    done.setCommitString("日本")
    QApplication.sendEvent(box.editor, done)
    with qtbot.waitSignal(box.submitted) as submitted:
        QTest.keyClick(box.editor, Qt.Key.Key_Return)
    assert submitted.args == ["日本"]


@pytest.mark.parametrize("text", ["", "   \n "])
def test_blank_text_is_not_sent(qtbot: QtBot, box: PromptBox, text: str) -> None:
    box.set_text(text)
    with qtbot.assertNotEmitted(box.submitted):
        QTest.keyClick(box.editor, Qt.Key.Key_Return)


def test_without_a_target_the_text_stays_and_a_hint_says_why(qtbot: QtBot, box: PromptBox) -> None:
    box.set_ready(False)
    QTest.keyClicks(box.editor, "Hello")
    assert not box.button.isEnabled()
    with qtbot.assertNotEmitted(box.submitted):
        QTest.keyClick(box.editor, Qt.Key.Key_Return)
    assert box.text == "Hello"
    assert box.hint.isVisible()
    assert box.hint.text() == "The model is still loading"
    with qtbot.assertNotEmitted(box.submitted):
        box.set_ready(True)
    assert not box.hint.isVisible()
    assert box.button.isEnabled()


def test_while_busy_the_button_and_escape_stop(qtbot: QtBot, box: PromptBox) -> None:
    box.set_busy(True)
    assert box.button.accessibleName().startswith("Stop")
    with qtbot.waitSignal(box.stop_requested):
        QTest.mouseClick(box.button, Qt.MouseButton.LeftButton)
    with qtbot.waitSignal(box.stop_requested):
        QTest.keyClick(box.editor, Qt.Key.Key_Escape)
    QTest.keyClicks(box.editor, "next")
    with qtbot.assertNotEmitted(box.submitted):
        QTest.keyClick(box.editor, Qt.Key.Key_Return)
    assert box.text == "next"
    box.set_busy(False)
    with qtbot.assertNotEmitted(box.stop_requested):
        QTest.keyClick(box.editor, Qt.Key.Key_Escape)


def test_the_box_grows_with_its_text_up_to_a_share_of_the_window(qtbot: QtBot, box: PromptBox) -> None:
    heights = []
    for num_lines in (1, 3, 5):
        box.set_text("\n".join(["line"] * num_lines))
        qtbot.waitUntil(lambda: box.editor.verticalScrollBar().maximum() == 0)
        heights.append(box.editor.height())
    line = (heights[1] - heights[0]) / 2
    assert heights[0] == pytest.approx(box.button.height(), abs=3)
    assert line > 10
    assert heights[2] - heights[1] == pytest.approx(2 * line, abs=2)
    box.set_text("line\n" * 200)
    assert box.editor.height() == int(500 * SHARE_OF_WINDOW)
    box.set_text("")
    assert box.editor.height() == heights[0]


def test_wrapped_lines_count_too(qtbot: QtBot, box: PromptBox) -> None:
    box.set_text("many words that take more than one line " * 10)
    qtbot.waitUntil(lambda: box.editor.height() > 3 * box.editor.fontMetrics().height())


def test_only_plain_text_is_pasted(box: PromptBox) -> None:
    rich = QMimeData()
    rich.setHtml("<b>bold</b>")
    rich.setText("bold")
    box.editor.insertFromMimeData(rich)
    assert box.text == "bold"
    files = QMimeData()
    files.setUrls([QUrl.fromLocalFile("/x.gguf")])
    action, button = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
    over = QDragEnterEvent(QPoint(), action, files, button, Qt.KeyboardModifier.NoModifier)
    box.editor.dragEnterEvent(over)
    assert not over.isAccepted(), "files are dropped on the window"


def test_pages_scroll_the_conversation(qtbot: QtBot, box: PromptBox) -> None:
    with qtbot.waitSignal(box.pages_requested) as pages:
        QTest.keyClick(box.editor, Qt.Key.Key_PageUp)
    assert pages.args == [-1]


def test_the_placeholder_names_the_target(box: PromptBox) -> None:
    box.set_target_name("SmolLM2")
    assert box.editor.placeholderText() == "Message SmolLM2…"


def test_a_hint_in_higher_letters_is_seen_whole(box: PromptBox) -> None:
    """As those of Chinese are, which come from another font; there may be none here, so two lines stand for it."""
    box.editor.set_hint("Write\na message")
    box.editor.fit(400)
    assert box.editor.viewport().height() >= box.editor.fontMetrics().size(0, "Write\na message").height()
