"""Selecting over the texts of a reply in the real window, and what is copied."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPlainTextEdit, QTextEdit
from pytestqt.qtbot import QtBot

from app.main_window import MainWindow
from app.theme import ThemeKeeper
from app.widgets.transcript.prompt_view import PromptView
from app.widgets.transcript.reply_view import ReplyView
from app.widgets.words.joined_text import JoinedText
from tests.unit.app.widgets.messages import prompt, reply

REPLY = """\
Here is a **function** for names:

```python
def sort(names):
    return sorted(names)
```

And a table of `color: red;` in “ä”:

| Name | Size |
|---|--:|
| one | 1 |
| *two* | 22 |

That was it.

```sh
echo "done"
```

The end.
"""
LEFT, NONE = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier


class Reader:
    """A person with a mouse in front of the window."""

    def __init__(self, qtbot: QtBot, keeper: ThemeKeeper, text: str) -> None:
        self.window = MainWindow(keeper)
        qtbot.addWidget(self.window)
        self.window.resize(900, 640)
        with qtbot.waitExposed(self.window):
            self.window.show()
        self.window.transcript.show_messages((prompt(1), reply(2, text)))
        view = self.window.transcript.findChild(ReplyView)
        assert isinstance(view, ReplyView)
        qtbot.waitUntil(lambda: view.is_whole)
        self.bar = self.window.transcript.column.verticalScrollBar()

    @property
    def texts(self) -> list[JoinedText]:
        view = self.window.transcript.findChild(ReplyView)
        assert isinstance(view, ReplyView)
        return list(view._texts())

    def place(self, word: str) -> tuple[JoinedText, QPoint]:
        """Where a word begins."""
        for text in self.texts:
            start = text.document().toPlainText().find(word)
            if start >= 0:
                assert isinstance(text, QTextEdit | QPlainTextEdit)
                cursor = text.textCursor()
                cursor.setPosition(start)
                return text, text.cursorRect(cursor).center()
        raise AssertionError(word)

    def drag(self, first: str, last: str) -> JoinedText:
        """From where one word begins to where another one does."""
        begun, start = self.place(first)
        reached, end = self.place(last)
        self.press(begun, start)
        there = begun.viewport().mapFromGlobal(reached.viewport().mapToGlobal(end))
        for step in (0.5, 1.0):
            self.move(begun, start + (there - start) * step)
        QTest.mouseRelease(begun.viewport(), LEFT, NONE, there)
        return begun

    def press(self, text: JoinedText, place: QPoint) -> None:
        QTest.mousePress(text.viewport(), LEFT, NONE, place)

    def move(self, text: JoinedText, place: QPoint) -> None:
        there = text.viewport().mapToGlobal(QPointF(place))
        moved = QMouseEvent(QEvent.Type.MouseMove, QPointF(place), there, Qt.MouseButton.NoButton, LEFT, NONE)
        QApplication.sendEvent(text.viewport(), moved)

    @property
    def selected(self) -> list[str]:
        return [text.textCursor().selectedText() for text in self.texts]

    def copied(self, text: JoinedText) -> tuple[str, str]:
        """As plain text and as HTML."""
        QTest.keySequence(text, "Ctrl+C")
        data = QGuiApplication.clipboard().mimeData()
        return data.text(), data.html()


@pytest.fixture
def reader(qtbot: QtBot, keeper: ThemeKeeper) -> Reader:
    return Reader(qtbot, keeper, REPLY)


def test_a_selection_goes_on_over_code_and_is_copied_in_order(reader: Reader) -> None:
    words = (
        "function for names:\n\ndef sort(names):\n    return sorted(names)\n\nAnd a table of color: red; in “ä”:\n\n"
    )
    table = "Name\tSize\none\t1\ntwo\t22\n"
    begun = reader.drag("function", "That was")
    text, html = reader.copied(begun)
    assert text == (words + table).rstrip("\n")
    assert html.count("<td") == 6
    assert "color: red;" in html
    assert "<pre>def sort(names):" in html
    assert "background-color" not in html  # of the theme: it would be pasted into a page of another one
    assert 'charset="utf-8"' in html

    # upwards, from one code block to another, and then no farther than where the drag began
    begun = reader.drag("done", "return")
    assert reader.copied(begun)[0].startswith("return sorted(names)\n\nAnd a table")
    assert reader.copied(begun)[0].endswith('That was it.\n\necho "')
    reader.drag("function", "names:")
    assert reader.selected == ["function for ", "", "", "", "", "", ""]  # the table is a text of its own

    # all of it, and a click lets it go
    begun.setFocus()
    QTest.keySequence(begun, "Ctrl+A")
    assert reader.copied(begun)[0].endswith('That was it.\n\necho "done"\n\nThe end.')
    other, place = reader.place("And")
    QTest.mouseClick(other.viewport(), LEFT, NONE, place + QPoint(200, 400))
    assert not any(reader.selected)

    # from the end of a text, in which nothing is selected then
    held, place = reader.place("names:")
    code, there = reader.place("return")
    reader.press(held, place + QPoint(300, 0))
    reader.move(held, held.viewport().mapFromGlobal(code.viewport().mapToGlobal(there)))
    QTest.mouseRelease(held.viewport(), LEFT, NONE, place)
    focused = QApplication.focusWidget()
    assert isinstance(focused, JoinedText)
    assert reader.copied(focused)[0] == "def sort(names):\n    "

    # only one message has a selection
    reader.drag("function", "That was")
    view = reader.window.transcript.findChild(PromptView)
    assert isinstance(view, PromptView)
    QTest.mouseDClick(view.prose.viewport(), LEFT, NONE, QPoint(5, 8))
    view.prose.setFocus()
    assert reader.copied(view.prose)[0] == "Prompt"
    assert not any(reader.selected)


def test_cells_of_a_table_are_copied_as_a_table(reader: Reader) -> None:
    begun = reader.drag("one", "22")
    text, html = reader.copied(begun)
    assert text == "one\t1\ntwo\t22"
    assert html.count("<td") == 4
    begun = reader.drag("return", "sorted")
    assert reader.copied(begun) == ("return ", "")  # code is text and nothing else


def test_a_drag_scrolls_on_beyond_what_is_visible(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    reader = Reader(qtbot, keeper, "Begin.\n\n```\n" + "line\n" * 120 + "```\n\nThe end.")
    reader.bar.setValue(0)
    text, place = reader.place("Begin")
    reader.press(text, place)
    reader.move(text, place + QPoint(60, reader.window.height()))
    qtbot.waitUntil(lambda: bool(reader.selected[-1]), timeout=20_000)
    assert reader.bar.value() > 1000
    QTest.mouseRelease(text.viewport(), LEFT, NONE, place)
    assert len(reader.selected[1]) == 599
