"""Which signs get a mark, and which ones writing needs."""

from __future__ import annotations

import pytest

from app.text.unseen import ending, in_tip, one_line, shown, wrapped

FLAG = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("photo\u202egpj.exe", "photo‹U+202E›gpj.exe"),
        ("\u2066a\u2069", "‹U+2066›a‹U+2069›"),
        ("pay\u200bpal", "pay‹U+200B›pal"),
        ("a\u200db", "a‹U+200D›b"),
        ("\u200b" * 1000, "‹U+200B ×1000›"),
        ("\x1b[31mred\x07", "‹U+001B›[31mred‹U+0007›"),
        ("\x9b31m", "‹U+009B›31m"),
        ("a\U000e0041\U000e0042\U000e0043\U000e0044", "a‹U+E0041 U+E0042 U+E0043 … ×4›"),
        ("e\ufe0f\U000e0101\U000e0102", "e\ufe0f‹U+E0101 U+E0102 ×2›"),
        ("شكرا \u202eabc", "شكرا ‹U+202E›abc"),
        ("a\u200fb", "a‹U+200F›b"),
        ("\ufeffa", "‹U+FEFF›a"),
    ],
)
def test_what_turns_or_hides_is_marked(text: str, seen: str) -> None:
    assert shown(text) == seen


@pytest.mark.parametrize(
    "text",
    [
        "plain words,\n\tin lines\r\n",
        "می\u200cخواهم",
        "शक्\u200dति",
        "สวัสดี\u200bชาวโลก",
        "שלום!\u200f",
        "👩\u200d💻 👨🏽\u200d🚀 ❤\ufe0f 🏳\ufe0f\u200d🌈",
        FLAG,
        "葛\U000e0100飾",
        "soft\u00adhyphen",
        "a\u00a0b",
        "\ud800",
    ],
)
def test_what_writing_needs_is_left_alone(text: str) -> None:
    assert shown(text) == text


@pytest.mark.parametrize(
    "html",
    [
        'می<span class="drafter">\u200cخواهم</span>',
        '<span class="recall">می</span><span class="drafter">\u200cخواهم</span>',
        '<p><span class="recall">👩</span><span class="drafter">\u200d💻</span></p>',
        "<p><strong>کتاب</strong>\u200cها را خواندم و آن را به دوستم دادم</p>",
        "<p>" + "x " * 50 + "<a href='x'><em>کتاب</em></a>\u200cها</p>",
    ],
)
def test_joiners_are_needed_across_tags(html: str) -> None:
    assert shown(html) == html


def test_tags_alone_need_no_joiner() -> None:
    assert shown("<p><em>\u200c</em></p>") == "<p><em>‹U+200C›</em></p>"
    assert shown("a>\u200c>>") == "a>‹U+200C›>>"


def test_what_comes_in_pieces_is_shown_as_if_it_came_at_once() -> None:
    for text in ("می\u200cخواهم", "👩\u200d💻", "a\u200db", "שלום!\u200f", "a\u200f"):
        pieces, before = [], ""
        for letter in text:
            pieces.append(shown(letter, before))
            before = ending(before + letter)
        assert "".join(pieces) == shown(text)


def test_names_are_told_in_tooltips() -> None:
    assert in_tip("a\u202eb") == "a‹U+202E right-to-left override›b"
    assert in_tip("\x1b") == "‹U+001B escape›"
    assert len(in_tip("x" * 10**6)) < 5_000


def test_a_line_is_one_line_and_short() -> None:
    assert one_line("a\nb\u2028c\r\nd") == "a b c d"
    assert len(one_line("\u202e\u2066" * 10**6)) < 1_000


def test_tooltips_are_wrapped() -> None:
    lines = wrapped("word " * 100, "", "end").split("\n")
    assert max(map(len, lines)) <= 90
    assert lines[-2:] == ["", "end"]
