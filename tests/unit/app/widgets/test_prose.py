from __future__ import annotations

import pytest
from PySide6.QtCore import QByteArray, QEvent, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QHelpEvent, QTextDocument
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from app.text.markdown import ProseBlock, parse
from app.theme import ThemeKeeper
from app.widgets.prose import Prose


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


def test_plain_text_keeps_spaces_lines_and_signs(prose: Prose) -> None:
    text = "a  b\n  <i>&amp;\n\nc"
    prose.set_plain_text(text)
    assert prose.toPlainText() == text


def test_a_selection_survives_more_text(prose: Prose) -> None:
    prose.set_html("<p>one two</p>")
    prose._select(0, 3)
    prose.set_html("<p>one two three</p>")
    assert prose.textCursor().selectedText() == "one"
