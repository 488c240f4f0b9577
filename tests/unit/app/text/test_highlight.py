from __future__ import annotations

import subprocess
import sys

import pytest
from pytestqt.qtbot import QtBot

from app.text.highlight import SHORT_CODE, ColouredSpan, Lexing, formats, lex
from app.theme import load_theme


def test_spans_name_colours_of_the_theme() -> None:
    (line,) = lex("python", "return 1  # why")
    assert line == (
        ColouredSpan(0, 6, "code_keyword"),
        ColouredSpan(7, 1, "code_number"),
        ColouredSpan(10, 5, "code_comment"),
    )


def test_positions_count_as_qt_counts() -> None:
    (line,) = lex("python", 'x = "😀" + 1')
    assert line[-1] == ColouredSpan(11, 1, "code_number")


def test_strings_over_several_lines_colour_each_line() -> None:
    lines = lex("python", '"""a\nb"""\nx')
    assert [len(line) for line in lines] == [1, 1, 0]


@pytest.mark.parametrize("language", ["", "no-such-language"])
def test_unknown_languages_stay_plain(language: str) -> None:
    assert lex(language, "return 1") == ()


def test_each_line_of_the_code_has_its_spans() -> None:
    code = "def f():\n    return 1\n\n\nf()\n"
    assert len(lex("python", code)) == code.count("\n") + 1


def test_the_rest_of_a_line_with_thousands_of_parts_stays_plain() -> None:
    """Qt takes all parts of a line at once."""
    first, second = lex("python", "1 " * 5_000 + "\n2")
    assert 1_000 <= len(first) <= 2_000
    assert first[0] == ColouredSpan(0, 1, "code_number")
    assert second == (ColouredSpan(0, 1, "code_number"),)


def test_long_code_leaves_time_to_others() -> None:
    rests: list[None] = []
    assert lex("python", "1 " * 5_000, lambda: rests.append(None)) == lex("python", "1 " * 5_000)
    assert len(rests) >= 10


@pytest.mark.parametrize("name", ["light", "dark"])
def test_every_theme_has_a_format_for_every_kind(name: str) -> None:
    assert "code_keyword" in formats(load_theme(name))


def test_code_of_a_language_not_met_before_is_lexed_elsewhere(qtbot: QtBot) -> None:
    lexing = Lexing()
    assert lexing.lex_now("python", "x = 1") is None
    with qtbot.waitSignal(lexing.done) as done:
        number = lexing.request("python", "x = 1")
    assert done.args == [number, lex("python", "x = 1")]
    assert lexing.lex_now("python", "x = 1") == lex("python", "x = 1")
    assert lexing.lex_now("python", "x" * (SHORT_CODE + 1)) is None


def test_the_window_starts_without_the_slow_libraries() -> None:
    code = (
        "import sys, app.main_window\n"
        "slow = {'markdown_it', 'pygments', 'torch', 'llama_cpp', 'sqlalchemy'} & set(sys.modules)\n"
        "assert not slow, slow"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
