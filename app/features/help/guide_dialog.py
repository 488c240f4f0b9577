"""The user guide, offline: its contents at the side, and words that can be searched for."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, QUrl, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QDesktopServices,
    QImage,
    QKeyEvent,
    QKeySequence,
    QResizeEvent,
    QShortcut,
    QShowEvent,
    QTextCursor,
    QTextDocument,
)
from PySide6.QtWidgets import QFrame, QListWidget, QTextBrowser, QTextEdit, QWidget

from app.text.translation import QT_TRANSLATE_NOOP
from app.theme import ThemeKeeper
from app.widgets.appearance import KeyboardFrame, reading_font
from app.widgets.dialog_parts import Dialog, fill_dialog
from app.widgets.layouts import Part, Placed, Stretch, in_column, in_row
from app.widgets.parts import ENTER_KEYS, announce, button, search_line, set_up, words
from app.widgets.words.prose import style_sheet

FOLDER = Path(str(files("resources"))).parent / "docs"
FILE = FOLDER / "guide.md"


@dataclass(frozen=True, slots=True)
class Guide:
    html: str  # links lead to its own headings (`#…`) or to the network
    sections: tuple[tuple[str, str], ...]  # titles and the names that links use, in order


def read_guide(path: Path = FILE) -> Guide:
    """Reads the guide without its list of contents, which the window shows next to it. Raises OSError."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(path.read_text(encoding="utf-8"))
    kinds = [token.type for token in tokens]
    del tokens[kinds.index("bullet_list_open") : kinds.index("bullet_list_close") + 1]
    sections = []
    for token, inner in pairwise(tokens):
        if token.type == "heading_open":
            name = _name(inner.content)
            token.attrSet("id", name)
            if token.tag == "h2":
                sections.append((inner.content, name))
        elif token.type == "table_open":
            token.attrs |= {"cellspacing": "0", "cellpadding": "7"}
        elif inner.children and inner.children[0].type == "image":
            token.attrSet("style", "line-height: 100%")
        for child in inner.children or ():
            address = str(child.attrs.get("href", ""))
            if child.type == "link_open" and not address.startswith(("#", "http")):
                del child.attrs["href"]  # a file that is only in the source
    return Guide(parser.renderer.render(tokens, parser.options, {}), tuple(sections))


def _name(heading: str) -> str:
    """GitHub's name of the heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


_LANGUAGE = QT_TRANSLATE_NOOP("GuideDialog", "The guide is in English.")  # shown in other languages
_SIZE_PX = (980, 700)
_CONTENTS_PX = 250
_MARGIN_PX = 14
_SECTION = 2  # the level of its headings
_PICTURE = re.compile(r'<img src="([^"]+)"')


class GuideDialog(Dialog):
    """Shows one guide. Links within it scroll, and others open in the system's browser."""

    tour_requested = Signal()  # show the tour; it is closed

    def __init__(self, keeper: ThemeKeeper, guide: Guide, parent: QWidget | None = None) -> None:
        super().__init__(_SIZE_PX, parent)
        self.setWindowTitle(self.tr("User guide"))
        self._keeper = keeper
        self._guide = guide
        self.search = search_line(self.tr("Search the guide"), self, self._find_first)
        self.search.installEventFilter(self)
        self.found = words("", self, kind="quiet")
        self.language = words(self.tr(_LANGUAGE), self, kind="quiet")
        self.language.setVisible(self.tr(_LANGUAGE) != _LANGUAGE)
        self.contents = set_up(QListWidget(self), kind="pages", name=self.tr("Contents"))
        self.contents.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.contents.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # the numbers at the end are seen
        self.contents.addItems([title for title, _ in guide.sections])
        self.contents.setCurrentRow(0)
        self.contents.currentRowChanged.connect(self._show_section)
        self.contents.itemClicked.connect(lambda: self._show_section(self.contents.currentRow()))
        self.page = set_up(_Page(keeper, guide.html, self), kind="column", name=self.windowTitle())
        self.page.anchorClicked.connect(self._follow)
        left = in_column([self.search, self.found, Placed(self.contents, 1), self.language], spacing=8)
        self.tour_button = button(self.tr("Show the tour"), "outlined", self, self.close)
        self.tour_button.clicked.connect(self.tour_requested)
        self.close_button = button(self.tr("Close"), "outlined", self, self.close)
        buttons: list[Part] = [self.tour_button, Stretch(), self.close_button]
        sides = Placed(in_row([left, Placed(self.page, 1)], spacing=14), 1)
        fill_dialog(self, [], buttons, spacing=12, below=[sides])
        for keys in (QKeySequence.StandardKey.Find, QKeySequence("Ctrl+K")):
            QShortcut(keys, self, self._begin_search)
        keeper.changed.connect(self._fit)
        self._fit()
        self._mark()
        self.page.setFocus()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Enter in the field finds the next place, Shift+Enter the previous one."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() in ENTER_KEYS:
                self._find_next(backwards=bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
                return True
            if event.key() == Qt.Key.Key_Escape and self.search.text():
                self.search.clear()
                return True
        return super().eventFilter(watched, event)

    @Slot()
    def _fit(self) -> None:
        width = min(self._keeper.px(_CONTENTS_PX), self.screen().availableSize().width() // 3)
        self.search.setFixedWidth(width)
        self.found.setFixedWidth(width)
        self.contents.setFixedWidth(width)

    @Slot(int)
    def _show_section(self, row: int) -> None:
        self.page.scrollToAnchor(self._guide.sections[row][1])

    @Slot(QUrl)
    def _follow(self, address: QUrl) -> None:
        if address.scheme():
            QDesktopServices.openUrl(address)
        else:
            self.page.scrollToAnchor(address.fragment())

    @Slot()
    def _begin_search(self) -> None:
        self.search.setFocus()
        self.search.selectAll()

    @Slot()
    def _find_first(self) -> None:
        self.page.moveCursor(QTextCursor.MoveOperation.Start)
        self._find_next()

    def _find_next(self, backwards: bool = False) -> None:
        """Finds the next place, wrapping around."""
        typed = self.search.text()
        way = QTextDocument.FindFlag.FindBackward if backwards else QTextDocument.FindFlag(0)
        if typed and not self.page.find(typed, way):
            end = QTextCursor.MoveOperation.End if backwards else QTextCursor.MoveOperation.Start
            self.page.moveCursor(end)
            self.page.find(typed, way)
        self._mark()

    def _mark(self) -> None:
        """Marks every match, and shows their number, the current one, and their sections."""
        places, shown = self.page.mark(self.search.text())
        counted = self.tr("{place} of {number}").format(place=shown + 1, number=len(places))
        self.found.setText(counted if places else self.tr("Not found"))
        self.found.setVisible(bool(self.search.text()))
        if self.search.text():
            announce(self.found, self.found.text())
        numbers = self.page.numbers_in_sections(places)
        for row, (title, _) in enumerate(self._guide.sections):
            number = numbers[row] if row < len(numbers) else 0
            in_list = self.tr("{section} ({number})").format(section=title, number=number) if number else title
            item = self.contents.item(row)
            item.setText(in_list)
            item.setToolTip(in_list)  # in a narrow window it is shortened
            font = item.font()
            font.setBold(bool(number))
            item.setFont(font)


class _Page(KeyboardFrame, QTextBrowser):
    """Pictures are as wide as there is room, and those of the theme."""

    def __init__(self, keeper: ThemeKeeper, html: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self._html = html
        self._marked = ""
        self._width = 0  # px, of the room for pictures when they were laid out
        self._fitting = QTimer(self, singleShot=True)
        self._fitting.timeout.connect(self._fit)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setOpenLinks(False)
        self.document().setDocumentMargin(_MARGIN_PX)
        keeper.changed.connect(self._on_look_changed)

    def mark(self, typed: str) -> tuple[list[int], int]:
        """Marks every match and returns their places and the number of the selected one, which stands out."""
        self._marked = typed
        marks: list[QTextEdit.ExtraSelection] = []
        selected = self.textCursor().selectionStart()
        number = 0
        cursor = self.document().find(typed) if typed else QTextCursor()
        while not cursor.isNull():
            mark = QTextEdit.ExtraSelection()
            mark.cursor = cursor
            mark.format.setBackground(QColor(self._keeper.theme.selected))
            if cursor.selectionStart() == selected:
                number = len(marks)
                mark.format.setBackground(QColor(self._keeper.theme.accent))
                mark.format.setForeground(QColor(self._keeper.theme.on_accent))
            marks.append(mark)
            cursor = self.document().find(typed, cursor)
        self.setExtraSelections(marks)
        return [mark.cursor.selectionStart() for mark in marks], number

    def numbers_in_sections(self, places: list[int]) -> list[int]:
        """The number of these places in each section."""
        starts, block = [], self.document().begin()
        while block.isValid():
            if block.blockFormat().headingLevel() == _SECTION:
                starts.append(block.position())
            block = block.next()
        sections = [bisect_right(starts, place) - 1 for place in places]
        return [sections.count(number) for number in range(len(starts))]

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fitting.start()  # not while the text is being laid out, which also leads here

    def focusNextPrevChild(self, next: bool) -> bool:
        return QWidget.focusNextPrevChild(self, next)  # not from link to link; the contents lead to all their places

    @Slot()
    def _on_look_changed(self) -> None:
        self._width = 0
        self._fit()

    @Slot()
    def _fit(self) -> None:
        if self.isVisible() and self._room() != self._width:
            self._draw()

    def _draw(self) -> None:
        bar = self.verticalScrollBar()
        share = bar.value() / max(1, bar.maximum())
        self._width = self._room()
        self.setFont(reading_font())
        self.setExtraSelections([])  # they point into what goes
        self.document().setDefaultStyleSheet(style_sheet(self._keeper.theme))
        for name in _PICTURE.findall(self._html):
            self.document().addResource(QTextDocument.ResourceType.ImageResource.value, QUrl(name), self._picture(name))
        self.setHtml(self._html)
        bar.setValue(round(share * bar.maximum()))
        self.mark(self._marked)

    def _picture(self, name: str) -> QImage:
        shown = name.replace("-light.", "-dark.") if self._keeper.theme.dark else name
        picture = QImage(str(FOLDER / shown))
        if picture.width() <= self._width:
            return picture
        ratio = self.devicePixelRatioF()
        picture = picture.scaledToWidth(round(self._width * ratio), Qt.TransformationMode.SmoothTransformation)
        picture.setDevicePixelRatio(ratio)
        return picture

    def _room(self) -> int:
        return self.viewport().width() - 2 * _MARGIN_PX
