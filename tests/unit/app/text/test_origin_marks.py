"""Who guessed what is shown: whatever Markdown makes of a text, a letter keeps the mark that it had in the source."""

from __future__ import annotations

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text.markdown import LONGEST_BLOCK, CodeBlock, MarkdownStream, ProseBlock, parse
from app.text.origin_marks import MarkedSpan, marks_of, proposers, shares_of, spans_of
from engine.values.replies import OriginRun
from tests.unit.app.text.test_markdown import TEXTS


def shown_with_marks(text: str, marks: str) -> list[tuple[str, str]]:
    """The characters that are shown, each with its mark."""
    signs: list[tuple[str, str]] = []
    for block in parse(text, marks):
        if isinstance(block, CodeBlock):
            assert len(block.marks) == len(block.code)
            signs += zip(block.code, block.marks, strict=True)
            continue
        for part in re.finditer(r'<span class="(\w)\w+">(.*?)</span>|<[^>]+>|([^<]+)', block.html, re.DOTALL):
            mark, marked, plain = part.groups()
            signs += [(sign, mark or "t") for sign in unescape(marked or plain or "")]
    return signs


def by_case(text: str) -> str:
    """Small letters were guessed by the drafter, large ones by recall, what is neither by nobody."""
    return "".join("d" if sign.islower() else "r" if sign.isupper() else "t" for sign in text)


@pytest.mark.parametrize(
    "text",
    [
        "one TWO **three FOUR** *five* __SIX__ ~~seven~~ end",
        "# HEADING of it #\n\nand TEXT\nover TWO lines  \nand more\\\nLAST",
        "Setext HEADING\n===\nbelow",
        "a `code SPAN` and ``two `TICKS` there`` end",
        'see [the BOOK](https://example.org/the/book "the title") now',
        "see [**the** _BOOK_](<https://example.org/a b>) now, [x](http://e.org/a_(b)) y",
        'x [book](http://x.example/book)book y, and ![an IMAGE](http://i.org/image.png "T") z',
        "an <https://Example.org/address> of MINE",
        "escaped \\*stars\\* AND &amp; entities &lt;b&gt; END",
        "- one\n- TWO with **bold**\n  and more\n    - deeper ITEM\n\n      with a paragraph\n- `three`\n",
        "9. nine\n10. TEN\n\n    in the ITEM\n11. eleven\n\n    ```py\n    code IN list\n    ```\n",
        "> quoted TEXT\n> over **two** LINES\n>> deeper\n",
        "| Way | SPEED |\n|:--|--:|\n| `one` | slow |\n| **two** | FAST [x](http://e.org) |\n| | last |\n",
        "text\n\n```python\ndef f(X):\n    return X\n\n```\n\nMORE text\n\n    indented CODE\n    two\n",
        "<div>raw HTML</div>\n\n***\n\nend",
        "ref [LINK][name] and [name] end\n\n[name]: http://example.org/WRONG 'title'\n",
        "emphasis*in*the MIDDLE, snake_case_NAME, 2 * 3 * x, **not closed",
        "line ENDS\r\nof others\rTOO\r\n\r\n- list\r\n",
    ],
)
def test_every_letter_that_is_shown_keeps_its_mark(text: str) -> None:
    shown = shown_with_marks(text, by_case(text))
    letters = [(sign, mark) for sign, mark in shown if sign.isalpha()]
    assert letters
    wrong = [(place, sign, mark) for place, (sign, mark) in enumerate(letters) if mark != by_case(sign)]
    assert wrong == [], "".join(sign for sign, _ in letters)


def test_overlong_blocks_are_coloured_too() -> None:
    text = "word WORD & " * (LONGEST_BLOCK // 10)
    assert all(mark == by_case(sign) for sign, mark in shown_with_marks(text, by_case(text)) if sign.isalpha())


@given(TEXTS, st.data())
def test_marks_change_nothing_but_colours(text: str, data: st.DataObject) -> None:
    marks = "".join(data.draw(st.lists(st.sampled_from("tdr"), min_size=len(text), max_size=len(text))))
    plain, marked = "", ""
    for block in parse(text):
        plain += block.html if isinstance(block, ProseBlock) else block.code
    for block in parse(text, marks):
        marked += block.html if isinstance(block, ProseBlock) else block.code
    assert re.sub(r'<span class="\w+">|</span>', "", marked) == plain


@given(TEXTS, st.lists(st.integers(1, 12), max_size=20))
def test_a_text_in_pieces_gets_the_colours_of_the_whole(text: str, sizes: list[int]) -> None:
    marks = by_case(text)
    stream, begin = MarkdownStream(), 0
    for size in [*sizes, len(text)]:
        stream.feed(text[begin : begin + size], marks[begin : begin + size])
        begin += size
    assert stream.finish() == parse(text, marks)


def test_a_letter_that_is_a_word_elsewhere_is_rather_not_coloured() -> None:
    """An escaped bar in a table is not in the source as it is shown; what follows is found again."""
    text = "| a \\| b | the other CELL |\n|---|---|\n"
    shown = "".join(mark for sign, mark in shown_with_marks(text, by_case(text)))
    assert shown.endswith(by_case("the other CELL"))


def test_marks_are_as_many_as_characters() -> None:
    runs = [OriginRun(2, "drafter"), OriginRun(3, "recall")]
    assert marks_of("abcde", runs) == "ddrrr"
    assert marks_of("abcdefg", runs) == "ddrrrtt"
    assert marks_of("abc", runs) == "ddr"
    assert marks_of("", runs) == ""


def test_shares() -> None:
    runs = [OriginRun(1, "drafter"), OriginRun(2, "target"), OriginRun(1, "drafter")]
    assert shares_of(runs) == {"target": 0.5, "drafter": 0.5}
    assert shares_of([]) == {}


@pytest.mark.usefixtures("drafter_and_recall")
def test_spans_of_a_line() -> None:
    drafter, recall = proposers()
    assert spans_of("ttddr") == (MarkedSpan(2, 2, drafter), MarkedSpan(4, 1, recall))
    assert spans_of("") == ()
