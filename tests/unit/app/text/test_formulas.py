from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.text.formulas import LONGEST_SOURCE, Formula, of_html, with_drawings
from app.text.markdown import CodeBlock, ProseBlock, parse


def html_of(text: str) -> str:
    return "".join(block.html for block in parse(text) if isinstance(block, ProseBlock))


def found(text: str) -> list[str]:
    return [formula.source for formula in of_html(html_of(text))]


@pytest.mark.parametrize(
    ("text", "formulas"),
    [
        ("so $x_1*y*z_2$ is", ["$x_1*y*z_2$"]),
        (r"so \(a_b\) and *\(c\)*", [r"\(a_b\)", r"\(c\)"]),
        ("so $$x$$, too", ["$$x$$"]),
        ("so\n$$\n- a\n= b\n$$\nis", ["$$\n- a\n= b\n$$"]),
        ("\\[\n# a\n\\]", ["\\[\n# a\n\\]"]),
        ("1. so\n   $$\n   + a\n   $$\n2. $b$", ["$$\n+ a\n$$", "$b$"]),
        ("> $$\n> > a\n> $$", ["$$\n> a\n$$"]),
        ("| $a$ | b |\n|--|--|\n| $$c$$ | \\(d\\) |", ["$a$", "$$c$$", r"\(d\)"]),
        ("# About $x$", ["$x$"]),
        ("[see $x$](http://example.org)", ["$x$"]),
        ("```math\na\n```\n", ["```math\na\n```"]),
        ("- so\n  ~~~ math\n  a\n  b\n  ~~~", ["~~~math\na\nb\n~~~"]),
        (r"cost: $\$5 + x$.", [r"$\$5 + x$"]),
        (r"$\text{a} < b & c$", [r"$\text{a} < b & c$"]),
        ("for $3 + 4$ or $2 \\text{ if } x$", ["$3 + 4$", "$2 \\text{ if } x$"]),
    ],
)
def test_formulas_are_found(text: str, formulas: list[str]) -> None:
    assert found(text) == formulas


@pytest.mark.parametrize(
    "text",
    [
        "It costs $5 and $10.",
        "It costs $5–$10, or ($5 or 10$).",
        "From $1,000 to $2,000 (about 1$2).",
        r"It costs \$5 or 5\$ there, \\(a\\) and \\[b\\].",
        "`$x$`, ``\\(y\\)`` and `$$z$$`",
        "$a `b$` c",
        "    $x$",
        "```\n$x$\n```",
        "```latex\nx\n```",
        "```math\nx",
        "```math\n\n```",
        "an open $x and\n\nanother y$",
        "$ x$ $x $ $$ $$ $$$$ \\(\\) \\[ \\]",
        "$$\nopen\n\n$$",
        "$" + "x" * LONGEST_SOURCE + "$",
    ],
)
def test_everything_else_stays_as_it_was_written(text: str) -> None:
    assert found(text) == []


_UNITS = st.sampled_from(["", "k", ".50", " million", "/month", "–"])


@given(st.lists(st.tuples(st.integers(0, 99_999), _UNITS), min_size=2))
def test_amounts_of_money_are_no_formulas(amounts: list[tuple[int, str]]) -> None:
    assert found("It is " + " or ".join(f"${amount}{unit}" for amount, unit in amounts) + ".") == []


@settings(max_examples=150)
@given(st.text(alphabet="ab1 $\\()[]`\n*", max_size=60))
def test_what_is_found_is_in_the_text_and_is_shown_as_it_was_written(text: str) -> None:
    for source in found(text):
        assert Formula(source).latex.strip()
        assert "".join(source.split()) in "".join(text.split())
    assert of_html(with_drawings(html_of(text), ())) == ()


@pytest.mark.parametrize("text", ["so $x^2$", r"so \(x\)", "$$\nx\n$$", "\\[\nx\n\\]", "```math\nx\n```"])
def test_a_formula_is_text_until_it_is_closed(text: str) -> None:
    assert [end for end in range(len(text) + 1) if found(text[:end])] == [len(text)]


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("so\n$$\nx\n$$\nis", "<p>so</p><p>$$<br>x<br>$$</p><p>is</p>"),
        (r"so \[x\], and", r"<p>so </p><p>\[x\],</p><p> and</p>"),
        ("- so\n  $$\n  x\n  $$\n  is", "<ul><li>so<p>$$<br>x<br>$$</p><p>is</p></li></ul>"),
        ("**so $$x$$**", "<p><strong>so $$x$$</strong></p>"),
        ("# So $$x$$", "<h1>So $$x$$</h1>"),
        ("so $a$ b", "<p>so $a$ b</p>"),
    ],
)
def test_displayed_formulas_stand_alone_where_there_is_room(text: str, html: str) -> None:
    assert with_drawings(html_of(text), ()).replace('<ul start="1">', "<ul>") == html


def test_formulas_that_nobody_closes_take_no_more_than_their_paragraph() -> None:
    html = html_of("$$\n- a\n\n- b\n\n\\[\n# c\n\n# d")
    assert [tag in html for tag in ("<li>b</li>", "<h1>d</h1>", "<li>a", "<h1>c")] == [True, True, False, False]


def test_a_list_full_of_formulas_is_still_a_list() -> None:
    text = "".join(f"- $a_{n} \\cdot b_{n} \\cdot c_{n} = \\sum_{n} \\frac{{1}}{{2}} \\alpha$\n" for n in range(200))
    assert len(found(text)) == 200


def test_signs_that_hold_places_are_nobodys() -> None:
    assert found("a \ufded$x\ufdee$ b \ufded") == ["$x\ufffd$"]
    assert parse("```\n\ufded\n```") == (CodeBlock("", "\ufffd"),)
