"""Drawn formulas in a reply: where they stand, what they look like, and what is copied and read aloud of them."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QAccessible, QColor, QGuiApplication, QImage, QTextCursor
from pytestqt.qtbot import QtBot

from app.text.formula_drawing import Drawer
from app.text.formulas import Formula
from app.text.highlight import Lexing
from app.text.markdown import ProseBlock, parse
from app.text.origin_marks import proposers
from app.theme import ThemeKeeper
from app.widgets.transcript.reply_view import ReplyView
from app.widgets.words.joined_text import copied
from app.widgets.words.prose import Prose

OBJECT = "\ufffc"
TEXT = r"So $x^2$ and \(\foo\), then" + "\n$$\n\\frac{a}{b}\n$$\nis."
Show = Callable[[str], Prose]


@pytest.fixture
def show(qtbot: QtBot, keeper: ThemeKeeper) -> Show:
    drawer, first = Drawer(), Formula("$x$")
    qtbot.waitUntil(lambda: first in drawer.drawn([first]))  # the library is there from now on

    def show(text: str) -> Prose:
        prose = Prose(keeper, None, drawer)
        qtbot.addWidget(prose)
        (block,) = parse(text)
        assert isinstance(block, ProseBlock)
        prose.set_html(block.html)
        prose.arrange(500)
        qtbot.waitUntil(lambda: not prose._are_awaited)
        prose.arrange(500)
        prose.show()
        return prose

    return show


def select(prose: Prose, begin: int, end: int) -> str:
    cursor = prose.textCursor()
    cursor.setPosition(begin)
    cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
    prose.setTextCursor(cursor)
    return copied([prose]).text()


def left_of(prose: Prose, place: int) -> int:
    cursor = prose.textCursor()
    cursor.setPosition(place)
    return prose.cursorRect(cursor).left()


def num_drawn(view: ReplyView) -> int:
    (prose,) = view.block_views
    assert isinstance(prose, Prose)
    return prose.toPlainText().count(OBJECT)


def ink(image: QImage, area: QRect, background: QColor) -> QRect:
    """What of an area is painted."""
    dark = [
        (x, y)
        for x in range(area.left(), area.right() + 1)
        for y in range(area.top(), area.bottom() + 1)
        if abs(image.pixelColor(x, y).lightness() - background.lightness()) > 90
    ]
    assert dark
    columns, rows = zip(*dark, strict=True)
    return QRect(QPoint(min(columns), min(rows)), QPoint(max(columns), max(rows)))


def test_formulas_are_drawn_and_copied_as_they_were_written(show: Show) -> None:
    prose = show(TEXT)
    text = prose.toPlainText()
    assert text == f"So {OBJECT}$x^2$ and \\(\\foo\\), then\n{OBJECT}$$ \\frac{{a}}{{b}} $$\nis."
    assert select(prose, 0, len(text)) == "So $x^2$ and \\(\\foo\\), then\n$$\n\\frac{a}{b}\n$$\nis."
    data = copied([prose])
    assert "\\frac{a}{b}" in data.html()
    assert "1px" not in data.html()
    assert select(prose, 0, 4) == "So $x^2$", "up to behind the drawing"
    assert select(prose, 4, 13) == " and", "from behind the drawing on"
    assert select(prose, 0, 3) == "So "
    twice = show("$x$$x$ $x$")
    assert twice.toPlainText() == "$x$$x$ " + OBJECT + "$x$"
    beside = show("**$x$**$x$")
    assert select(beside, 0, 8) == "$x$$x$"


def test_a_screen_reader_and_a_search_find_the_latex(show: Show) -> None:
    prose = show(TEXT)
    words = QAccessible.queryAccessibleInterface(prose).textInterface()
    assert words is not None
    assert "$x^2$" in words.text(0, words.characterCount())
    assert "\\frac{a}{b}" in words.text(0, words.characterCount())
    assert not prose.document().find("frac").isNull()


@pytest.mark.parametrize("text", ["x $x$ x", "## x $x$ x"])
def test_a_formula_stands_on_the_line_of_the_words_and_takes_its_room_only(
    show: Show, keeper: ThemeKeeper, text: str
) -> None:
    prose = show(text)
    image, begin, end = prose.grab().toImage(), left_of(prose, 2), left_of(prose, 6)
    assert end - begin < 16, "its source takes no room"
    letter = ink(image, QRect(0, 0, begin - 2, prose.height()), QColor(keeper.theme.window))
    drawn = ink(image, QRect(begin, 0, end - begin, prose.height()), QColor(keeper.theme.window))
    assert abs(letter.bottom() - drawn.bottom()) <= 1
    assert abs(letter.height() - drawn.height()) <= 2


@pytest.mark.parametrize("text", ["$x\\hspace{1em}$ x", "## $x\\hspace{1em}$ x"])
def test_nothing_is_seen_of_the_source_when_it_is_selected(show: Show, text: str) -> None:
    prose = show(text)
    end = left_of(prose, len(prose.toPlainText()) - 2)
    prose.selectAll()
    image = prose.grab().toImage()
    colours = {image.pixel(x, y) for x in range(end - 6, end + 2) for y in range(prose.height())}
    assert len(colours) <= 3, "the selection, and what is above and below it"


def test_lines_have_room_for_what_is_below_them(show: Show) -> None:
    deep = "$\\underbrace{x}_{\\frac{\\frac{1}{2}}{\\frac{3}{4}}}$"
    for text in (deep, f"{deep}, x", f"x {deep}", "| x |\n|--|\n| $\\frac{1}{2}$ |"):
        prose = show(text)
        image = prose.grab().toImage()
        area = ink(image, image.rect(), QColor(image.pixelColor(image.width() - 1, 0)))
        assert area.bottom() < image.height() - 1, text


def test_a_formula_is_as_wide_as_there_is_room(show: Show) -> None:
    prose = show("$$" + "a + b + c + d + " * 8 + "e$$")
    wide = prose.document().idealWidth()
    prose.arrange(200)
    assert prose.document().idealWidth() <= 201 < wide
    prose.arrange(800)
    assert prose.document().idealWidth() > 250


def test_formulas_take_the_colours_of_the_theme_and_of_words_around(show: Show, keeper: ThemeKeeper) -> None:
    prose = show("$\\rule{2em}{1em}$\n\n> $\\rule{2em}{1em}$")

    def colours() -> list[str]:
        image = prose.grab().toImage()
        blocks = [prose.document().firstBlock(), prose.document().lastBlock()]
        layout = prose.document().documentLayout()
        areas = [layout.blockBoundingRect(block).toRect() for block in blocks]
        return [image.pixelColor(area.left() + 30, area.top() + 12).name() for area in areas]

    assert colours() == [keeper.theme.text, keeper.theme.quiet]
    keeper.show_scheme(Qt.ColorScheme.Dark)
    assert colours() == [keeper.theme.text, keeper.theme.quiet]


def test_where_there_are_more_than_anybody_reads_they_stay_text(show: Show) -> None:
    assert show("$x_1$ " * 200).toPlainText().count(OBJECT) == 200
    assert show("$x_1$ " * 201).toPlainText().count("$x_1$") == 201


def test_the_menu_copies_the_formula_below_the_pointer(show: Show) -> None:
    prose = show("x $x^2$")
    place = QPoint(left_of(prose, 2) + 4, round(prose.document().firstBlock().layout().lineAt(0).ascent()) - 3)
    copy = prose.menu_at(place).actions()[0]
    assert copy.text() == "Copy formula"
    copy.trigger()
    assert QGuiApplication.clipboard().text() == "$x^2$"
    assert "Copy formula" not in [action.text() for action in prose.menu_at(QPoint(2, 8)).actions()]


def test_who_guessed_a_formula_colours_it(show: Show, keeper: ThemeKeeper) -> None:
    (block,) = parse("So $\\rule{2em}{1em}$ is", "ttt" + "d" * 10 + "t" * 11)
    assert isinstance(block, ProseBlock)
    prose = show("$x$")
    prose.set_html(block.html)
    shape = prose.document().find(OBJECT).charFormat()
    assert shape.background().color().name() == keeper.theme.tint(next(iter(proposers())))


def test_a_reply_grows_when_its_formulas_are_drawn(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    drawer, may_draw = Drawer(), threading.Event()
    drawer._thread.submit(may_draw.wait)
    view = ReplyView(keeper, Lexing(), drawer)
    qtbot.addWidget(view)
    view.set_blocks(parse(TEXT), finished=True)
    before = view.arrange(500)
    assert num_drawn(view) == 0
    with qtbot.waitSignal(view.height_changed):
        may_draw.set()
    assert view.arrange(500) != before
    assert num_drawn(view) == 2
    # While more is written, what is drawn stays drawn.
    for end in range(len(TEXT), len(TEXT) + 12):
        view.set_blocks(parse((TEXT + "\n\nAlso $x^2$.")[:end]), finished=False)
        assert num_drawn(view) >= 2
