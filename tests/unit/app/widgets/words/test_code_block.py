from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.text.highlight import Lexing
from app.theme import ThemeKeeper
from app.widgets.words.code_block import CodeBlockView
from app.widgets.words.joined_text import copied


@pytest.fixture
def block(qtbot: QtBot, keeper: ThemeKeeper) -> CodeBlockView:
    lexing = Lexing(keeper)
    block = CodeBlockView(keeper, lexing)
    qtbot.addWidget(block)
    with qtbot.waitSignal(lexing.done):
        lexing.request("python", "")
    return block


def colours(block: CodeBlockView, line: int) -> list[str]:
    formats = block.body.document().findBlockByNumber(line).layout().formats()
    return [part.format.foreground().color().name() for part in formats]


def test_the_button_copies_the_code(qtbot: QtBot, block: CodeBlockView) -> None:
    block.set_code("python", "x = 1\ny = 2", finished=True)
    with qtbot.waitSignal(block.copied) as copied:
        QTest.mouseClick(block.copy_button, Qt.MouseButton.LeftButton)
    assert copied.args == ["x = 1\ny = 2"]
    assert QApplication.clipboard().text() == "x = 1\ny = 2"
    assert block.copy_button.text() == "Copied"


def test_short_code_is_coloured_at_once(keeper: ThemeKeeper, block: CodeBlockView) -> None:
    block.set_code("python", "return 1", finished=True)
    assert colours(block, 0) == [keeper.theme.code_keyword, keeper.theme.code_number]


def test_lines_with_many_parts_are_coloured_a_few_at_a_time(qtbot: QtBot, block: CodeBlockView) -> None:
    lines = 50
    with qtbot.waitSignal(block._lexing.done):
        block.set_code("python", "\n".join(["1 " * 990] * lines), finished=True)
    assert colours(block, 0)
    assert not colours(block, lines // 2)
    qtbot.waitUntil(lambda: bool(colours(block, lines - 1)))
    assert all(len(colours(block, line)) == 990 for line in range(lines))


def test_another_theme_colours_again(keeper: ThemeKeeper, block: CodeBlockView) -> None:
    block.set_code("python", "return 1", finished=True)
    keeper.show_scheme(Qt.ColorScheme.Dark)
    assert colours(block, 0)[0] == QColor(keeper.theme.code_keyword).name()


def test_growing_code_ends_with_the_colours_of_the_whole(qtbot: QtBot, block: CodeBlockView) -> None:
    code = '"""\n' + "text of a long string\n\n" * 60 + '"""\n' + "return 1\n" * 5
    for end in range(0, len(code), 97):
        block.set_code("python", code[:end], finished=False)
    block.set_code("python", code, finished=True)
    assert block.body.toPlainText() == code
    qtbot.waitUntil(lambda: len(colours(block, 3)) == 1 and len(colours(block, 122)) == 2)


def test_long_code_is_coloured_by_and_by(qtbot: QtBot, block: CodeBlockView) -> None:
    block.set_code("python", "return 1\n" * 1_000, finished=True)
    assert colours(block, 0) == []
    qtbot.waitUntil(lambda: len(colours(block, 999)) == 2)


def test_its_height_holds_all_lines(block: CodeBlockView) -> None:
    block.set_code("", "x\n" * 99 + "last", finished=True)
    block.arrange(500)
    block.show()
    assert block.body.verticalScrollBar().maximum() == 0
    lower = block.arrange(500)
    block.set_code("", "x\n" * 99 + "last " * 100, finished=True)
    assert block.arrange(500) > lower  # by the scroll bar for the long line


def test_signs_of_other_alphabets_fit_too(block: CodeBlockView) -> None:
    block.set_code("", "日本語 😀\n" * 50, finished=True)
    block.arrange(500)
    block.show()
    assert block.body.verticalScrollBar().maximum() == 0


def test_code_without_a_language_stays_plain(block: CodeBlockView) -> None:
    block.set_code("", "return 1", finished=True)
    assert colours(block, 0) == []


HIDDEN = "pay\u202elap\u2066\u2069 \U000e0041 \x1b[0m"


def test_signs_in_code_keep_their_places_and_are_copied_as_they_are(block: CodeBlockView) -> None:
    for end in range(len(HIDDEN) + 1):
        block.set_code("python", HIDDEN[:end], finished=False)
    body = block.body
    assert body.toPlainText() == "pay\ufffdlap\ufffd\ufffd \ufffd\ufffd \ufffd[0m"
    assert [body._sign_at(place) for place in (3, 10, 11)] == ["\u202e", "\U000e0041", "\U000e0041"]
    body.selectAll()
    assert copied([body]).text() == HIDDEN


def test_a_diagram_is_folded_and_can_be_unfolded_and_copied(qtbot: QtBot, block: CodeBlockView) -> None:
    block.set_code("mermaid", "graph TD\nA-->B", finished=True)
    block.show()
    folded = block.arrange(400)
    assert block.body.isHidden()
    with qtbot.waitSignal(block.height_changed):
        QTest.mouseClick(block.fold_button, Qt.MouseButton.LeftButton)
    assert block.arrange(400) > folded
    assert not block.body.isHidden()
    QTest.mouseClick(block.copy_button, Qt.MouseButton.LeftButton)
    assert QApplication.clipboard().text() == "graph TD\nA-->B"
    block.set_code("python", "x = 1", finished=True)
    assert not block.body.isHidden()
    assert block.fold_button.isHidden()
