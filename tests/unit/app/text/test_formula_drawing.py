from __future__ import annotations

import logging
import threading

import pytest
from pytestqt.qtbot import QtBot

from app.text import formula_drawing
from app.text.formula_drawing import DEEPEST, LARGEST_SVG, MOST_BINOMIALS, Drawer, Drawing, draw
from app.text.formulas import Formula

_SUM = r"$$\sum_{n=1}^\infty \frac{1}{n^2} = \frac{\pi^2}{6}$$"


@pytest.mark.parametrize(
    "source",
    [
        "$x$",
        _SUM,
        r"\(\alpha \le \hat\beta\)",
        "```math\n\\begin{aligned} a &= b \\\\ c &= d \\end{aligned}\n```",
        r"$$f(x) = \begin{cases} 1 & \text{if } x > 0 \\ 0 & \text{else} \end{cases}$$",
        r"$\mathbb{R}^n, \mathcal{L}, \mathbf{x}, \operatorname{rank} A$",
        r"$$\left( \begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix} \right)^{-1}$$",
        r"$\ce{2 H2 + O2 -> 2 H2O}$",
    ],
)
def test_formulas_are_drawn_in_the_colour_that_they_are_shown_in(source: str) -> None:
    drawing = draw(Formula(source))
    assert drawing is not None
    assert drawing.width > 0.3
    assert drawing.ascent > 0.3
    assert drawing.depth > -0.1
    assert "<path " in drawing.svg
    assert "currentColor" in drawing.svg
    assert "<text" not in drawing.svg


def test_a_fraction_is_larger_when_it_is_displayed() -> None:
    inline, displayed = draw(Formula(r"$\frac{a}{b}$")), draw(Formula(r"$$\frac{a}{b}$$"))
    assert inline is not None
    assert displayed is not None
    assert displayed.ascent > inline.ascent > 0.7
    assert displayed.depth > inline.depth > 0.3


@pytest.mark.parametrize(
    "latex",
    [
        r"\foo{x}",
        r"\frac{1}",
        r"x^{2",
        r"\left( x",
        r"\begin{matrix} a",
        "x^2^3",
        "日本",
        r"\href{file:///etc/passwd}{x}",
        r"\includegraphics{/etc/passwd}",
        r"\input{/etc/passwd}",
        "\ud800",
        "{" * (DEEPEST + 1) + "x" + "}" * (DEEPEST + 1),
        r"\left(" * (DEEPEST + 1) + "x" + r"\right)" * (DEEPEST + 1),
        r"\begin{matrix}" * (DEEPEST + 1) + "x" + r"\end{matrix}" * (DEEPEST + 1),
        "{" * 900 + "}" * 900,
        r"\binom12" * (MOST_BINOMIALS + 1),
        r"\def\a{\a\a}\a",
        r"\newcommand{\a}{xxxxxxxxxx}\newcommand{\b}{\a\a\a\a\a\a\a\a\a\a}\b\b\b\b\b\b\b\b\b\b",
        r"\chemfig{A" + "(-A" * 300 + ")" * 300 + "}",
        r"\hspace{1e308em}x",
        r"\hspace{-99em}x",
        r"\rule{1e309em}{1em}",
        r"\rule{1em}{99999em}",
        "x+" * 990,
        "x" * 5_000,
        r"\ ",
    ],
)
def test_what_is_wrong_unknown_or_hostile_stays_text(latex: str) -> None:
    assert draw(Formula(f"$${latex}$$")) is None
    assert draw(Formula(f"\\({latex}\\)")) is None


def test_the_largest_drawings_are_bounded() -> None:
    units = ["x", r"\frac12", r"\sqrt2", r"\hat a", r"\begin{matrix}a\\b\end{matrix}\\", r"\left(x\right)\\", r"W\\"]
    sources = [f"$${unit * (1_900 // len(unit) // part)}$$" for unit in units for part in (1, 8)]
    drawings = [draw(Formula(source)) for source in sources]
    drawn = [drawing for drawing in drawings if drawing]
    assert len(drawn) > 3
    assert all(len(drawing.svg) <= LARGEST_SVG for drawing in drawn)


def test_drawings_come_late_once_and_are_kept(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Formula] = []
    go_on = threading.Event()

    def noting(formula: Formula) -> Drawing | None:
        asked.append(formula)
        assert go_on.wait(10)
        return draw(formula)

    monkeypatch.setattr(formula_drawing, "draw", noting)
    monkeypatch.setattr(formula_drawing, "MOST_KNOWN", 3)
    drawer = Drawer()
    formulas = [Formula(_SUM), Formula(r"$\foo$")]
    with qtbot.waitSignal(drawer.done):
        known = drawer.drawn(formulas)
        go_on.set()
    assert known == {}, "nobody waits for the library"
    known = drawer.drawn(formulas * 2)
    assert isinstance(known[formulas[0]], Drawing)
    assert known[formulas[1]] is None
    assert asked == formulas
    others = [Formula(f"${number}$") for number in range(3)]
    qtbot.waitUntil(lambda: len(drawer.drawn(others)) == 3)
    assert len(asked) == 5
    with qtbot.assertNotEmitted(drawer.done, wait=0):
        drawer.drawn([Formula("$2$")])
    qtbot.waitUntil(lambda: formulas[0] in drawer.drawn(formulas[:1]))
    assert len(asked) == 6, "the oldest are forgotten"


def test_a_mistake_of_the_library_leaves_text_and_is_logged(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Panic(BaseException):
        """As Rust raises it."""

    def panic(formula: Formula) -> Drawing | None:
        if formula.latex == "y":
            raise Panic
        return draw(formula)

    monkeypatch.setattr(formula_drawing, "draw", panic)
    drawer = Drawer()
    x, y = Formula("$x$"), Formula("$y$")
    with caplog.at_level(logging.ERROR):
        qtbot.waitUntil(lambda: len(drawer.drawn([y, x])) == 2)
    assert drawer.drawn([y, x])[y] is None
    assert drawer.drawn([y, x])[x]
    assert [record.exc_info is not None for record in caplog.records] == [True]
