from __future__ import annotations

import pytest
from PySide6.QtCore import QByteArray, QEvent, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QHelpEvent, QTextDocument, QTextOption
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from app.text.markdown import ProseBlock, parse
from app.theme import ThemeKeeper
from app.widgets.words.joined_text import copied
from app.widgets.words.prose import Prose


@pytest.fixture
def prose(qtbot: QtBot, keeper: ThemeKeeper) -> Prose:
    prose = Prose(keeper)
    qtbot.addWidget(prose)
    return prose


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    opened: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda address: opened.append(address.toString()))
    return opened


@pytest.mark.parametrize("address", ["https://example.org/", "http://example.org/", "mailto:a@example.org"])
def test_links_open_outside(prose: Prose, opened: list[str], address: str) -> None:
    prose.set_html(f'<a href="{address}">x</a>')
    prose.anchorClicked.emit(QUrl(address))
    assert opened == [address]
    assert prose.toPlainText() == "x"


@pytest.mark.parametrize("address", ["file:///etc/passwd", "javascript:x", "data:text/html,x", "qrc:/x", "x.md"])
def test_other_links_open_nothing(prose: Prose, opened: list[str], address: str) -> None:
    prose.set_html("<p>stays</p>")
    prose.anchorClicked.emit(QUrl(address))
    assert opened == []
    assert prose.toPlainText() == "stays"


def test_a_link_shows_its_address_under_the_pointer_and_to_the_keyboard(prose: Prose, qtbot: QtBot) -> None:
    (block,) = parse("See [this](https://a.example/x) and [that](https://b.example).")
    assert isinstance(block, ProseBlock)
    prose.set_html(block.html)
    prose.arrange(400)
    with qtbot.waitExposed(prose):
        prose.show()
    prose.setFocus()
    qtbot.waitUntil(prose.hasFocus)
    place = prose.cursorRect(prose.document().find("that")).center()
    rest = QHelpEvent(QEvent.Type.ToolTip, place, prose.viewport().mapToGlobal(place))
    QApplication.sendEvent(prose.viewport(), rest)
    assert QToolTip.text() == "https://b.example"
    for address in ("https://a.example/x", "https://b.example"):
        QTest.keyClick(prose, Qt.Key.Key_Tab)
        assert QToolTip.text() == prose.accessibleDescription() == address
    QToolTip.hideText()


def test_nothing_is_loaded(prose: Prose) -> None:
    kind = QTextDocument.ResourceType.ImageResource
    assert prose.document().resource(kind.value, QUrl("file:///etc/passwd")) == QByteArray()


def test_its_height_follows_its_width(prose: Prose) -> None:
    prose.set_html("<p>" + "several words " * 40 + "</p>")
    assert prose.arrange(300) > 1.7 * prose.arrange(600)
    prose.show()
    assert prose.verticalScrollBar().maximum() == 0


def test_lines_are_not_broken_behind_every_letter_before_the_width_is_known(prose: Prose) -> None:
    prose.set_html("<p>" + "<code>ab</code>cd" * 200 + "</p>")
    assert prose.document().firstBlock().layout().lineCount() < 100


def test_plain_text_keeps_spaces_lines_and_signs(prose: Prose) -> None:
    text = "a  b\n  <i>&amp;\n\nc"
    prose.set_plain_text(text)
    assert prose.toPlainText() == text


def test_a_selection_survives_more_text(prose: Prose) -> None:
    prose.set_html("<p>one two</p>")
    prose._select(0, 3)
    prose.set_html("<p>one two three</p>")
    assert prose.textCursor().selectedText() == "one"


HIDDEN = "pay\u202elap\u2066\u2069 \U000e0041 \x1b[0m"


def test_signs_that_nobody_sees_are_marked_named_and_copied_as_they_are(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    prose = Prose(keeper)
    qtbot.addWidget(prose)
    prose.set_plain_text(f"{HIDDEN} and ‹U+202E› as it was written")
    shown = prose.toPlainText()
    assert shown.startswith("pay‹U+202E›lap‹U+2066 U+2069 ×2› ‹U+E0041› ‹U+001B›[0m and ‹U+202E›")
    cursor = prose.document().find("‹U+202E›")
    assert cursor.charFormat().toolTip() == "U+202E right-to-left override"
    prose.selectAll()
    assert copied([prose]).text() == f"{HIDDEN} and ‹U+202E› as it was written"
    assert "‹U+202E›lap" not in copied([prose]).html()
    prose.set_html('<table><tr><td>a\u202eb</td><td><a href="http://x.org">c\u202ed</a></td></tr></table>')
    prose.selectAll()
    assert copied([prose]).text() == "a\u202eb\tc\u202ed"


def test_lines_are_broken_between_words_where_there_are_any(prose: Prose) -> None:
    between, anywhere = QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere, QTextOption.WrapMode.WrapAnywhere
    for text in ("東京タワーは Python で" * 200, "สวัสดีชาวโลก" * 200, "word " * 1000):
        prose.set_plain_text(text)
        assert prose.wordWrapMode() is between
    prose.set_html(f"<p>{'a' * 600}</p><p>{'a' * 600}</p>")
    assert prose.wordWrapMode() is between
    for text in ("a" * 1000, "。" * 1000, "a\u00a0" * 500):
        prose.set_plain_text(text)
        assert prose.wordWrapMode() is anywhere
    prose.set_html(f"<p>{'a<em>a</em>' * 500}</p>")
    assert prose.wordWrapMode() is anywhere
