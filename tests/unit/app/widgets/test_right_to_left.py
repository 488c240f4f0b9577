"""Texts that are written from right to left: each paragraph follows its first letter, and code stays as it is."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QTextBlock
from pytestqt.qtbot import QtBot

from app.text.highlight import Lexing
from app.text.markdown import CodeBlock, ProseBlock, parse
from app.text.unseen import APART, APART_END
from app.theme import ThemeKeeper
from app.widgets.words.code_block import CodeBlockView
from app.widgets.words.joined_text import copied
from app.widgets.words.prose import Prose, _quote_level

HEBREW = "שלום עולם"
ARABIC = "مرحبا بالعالم"
LEFT, RIGHT = Qt.LayoutDirection.LeftToRight, Qt.LayoutDirection.RightToLeft


@pytest.fixture
def prose(qtbot: QtBot, keeper: ThemeKeeper) -> Prose:
    made = Prose(keeper)
    qtbot.addWidget(made)
    return made


def show(prose: Prose, markdown: str) -> list[QTextBlock]:
    (block,) = parse(markdown)
    assert isinstance(block, ProseBlock)
    prose.set_html(block.html)
    prose.arrange(500)
    blocks, each = [], prose.document().begin()
    while each.isValid():
        blocks.append(each)
        each = each.next()
    return [each for each in blocks if each.text()]


@pytest.mark.parametrize(
    ("markdown", "directions"),
    [
        (f"{HEBREW}\n\nEnglish with {HEBREW}", [RIGHT, LEFT]),
        (f"- {ARABIC} and English\n- item", [RIGHT, LEFT]),
        (f"1. 12 {ARABIC}\n2. (two)", [RIGHT, LEFT]),
        (f"## {HEBREW}\n\n`code` first, then {HEBREW}", [RIGHT, LEFT]),
        (f"> {HEBREW}\n\n12 + 3", [RIGHT, LEFT]),
        (f"| {HEBREW} | b |\n|---|---|\n| a | {ARABIC} |", [RIGHT, LEFT, LEFT, RIGHT]),
    ],
)
def test_each_paragraph_follows_its_first_letter(
    prose: Prose, markdown: str, directions: list[Qt.LayoutDirection]
) -> None:
    assert [each.textDirection() for each in show(prose, markdown)] == directions


def test_each_line_of_a_prompt_follows_its_first_letter(prose: Prose) -> None:
    prose.set_plain_text(f"{HEBREW} abc\nabc {HEBREW}")
    first = prose.document().begin()
    assert (first.textDirection(), first.next().textDirection()) == (RIGHT, LEFT)


def test_code_keeps_its_signs_in_place_and_is_copied_as_it_is(prose: Prose) -> None:
    (block,) = show(prose, f"{HEBREW} `foo(a)` {HEBREW}")
    assert f"{APART}foo(a){APART_END}" in block.text()
    prose.selectAll()
    data: QMimeData = copied([prose])
    assert data.text() == f"{HEBREW} foo(a) {HEBREW}"
    assert APART not in data.html()
    (block,) = show(prose, "English `foo(a)`")
    assert APART not in block.text(), "where all reads from left to right, nothing is needed"


def test_signs_of_the_text_itself_are_copied_though_they_are_the_same(prose: Prose) -> None:
    show(prose, f"{HEBREW} `foo(a)` x{APART}y{APART_END}")
    prose.selectAll()
    assert copied([prose]).text() == f"{HEBREW} foo(a) x{APART}y{APART_END}"


def test_code_in_a_list_reads_from_left_to_right(prose: Prose) -> None:
    blocks = show(prose, f"- {HEBREW}\n\n  ```\n  # {HEBREW}\n  ```\n")
    assert [each.textDirection() for each in blocks] == [RIGHT, LEFT]


def test_a_block_of_code_reads_from_left_to_right(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    (block,) = parse(f"```python\n# {HEBREW}\nx = 1\n```")
    assert isinstance(block, CodeBlock)
    view = CodeBlockView(keeper, Lexing())
    qtbot.addWidget(view)
    view.set_code(block.language, block.code, finished=True)
    assert view.body.document().begin().textDirection() == LEFT


def test_a_quote_is_indented_where_its_lines_begin(prose: Prose) -> None:
    first, second, third = show(prose, f"> {HEBREW}\n>\n> English\n>\n> {ARABIC}")
    assert first.blockFormat().rightMargin() > first.blockFormat().leftMargin() == 0
    assert second.blockFormat().leftMargin() > second.blockFormat().rightMargin()
    assert third.blockFormat().rightMargin() == first.blockFormat().rightMargin()
    assert _quote_level(first) == 1
