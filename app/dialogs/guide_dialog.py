"""The user guide, offline: its contents at the side, and words that can be searched for."""

from __future__ import annotations

import re

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, QUrl, Slot
from PySide6.QtGui import (
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

from app.dialogs.parts import Dialog, fill_dialog
from app.text.guide import FOLDER, Guide
from app.text.translation import QT_TRANSLATE_NOOP
from app.theme import ThemeKeeper
from app.widgets.appearance import KeyboardFrame, reading_font
from app.widgets.layouts import Part, Placed, Stretch, in_column, in_row
from app.widgets.parts import button, search_line, set_up, words
from app.widgets.prose import style_sheet

_LANGUAGE = QT_TRANSLATE_NOOP("GuideDialog", "The guide is in English.")  # told in other languages
_SIZE_PX = (980, 700)
_CONTENTS_PX = 220
_MARGIN_PX = 14
_PICTURE = re.compile(r'<img src="([^"]+)"')


class GuideDialog(Dialog):
    """Shows one guide. Links within it scroll, and others open in the system's browser."""

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
        self.contents.setProperty("theirs", True)  # titles of the guide
        self.contents.addItems([title for title, _ in guide.sections])
        self.contents.setCurrentRow(0)
        self.contents.currentRowChanged.connect(self._show_section)
        self.contents.itemClicked.connect(lambda: self._show_section(self.contents.currentRow()))
        self.page = set_up(_Page(keeper, guide.html, self), kind="column", name=self.windowTitle())
        self.page.anchorClicked.connect(self._follow)
        self.close_button = button(self.tr("Close"), "outlined", self, self.close)
        left = in_column([self.search, self.found, Placed(self.contents, 1), self.language], spacing=8)
        buttons: list[Part] = [Stretch(), self.close_button]
        sides = Placed(in_row([left, Placed(self.page, 1)], spacing=14), 1)
        fill_dialog(self, [], buttons, spacing=12, below=[sides])
        for keys in (QKeySequence.StandardKey.Find, QKeySequence("Ctrl+K")):
            QShortcut(keys, self, self._begin_search)
        keeper.changed.connect(self._fit)
        self._fit()
        self._mark()
        self.page.setFocus()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Enter in the field goes on to the next place, with Shift to the one before."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
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
        self._mark()

    def _find_next(self, backwards: bool = False) -> None:
        """Goes round at the end."""
        typed = self.search.text()
        way = QTextDocument.FindFlag.FindBackward if backwards else QTextDocument.FindFlag(0)
        if typed and not self.page.find(typed, way):
            end = QTextCursor.MoveOperation.End if backwards else QTextCursor.MoveOperation.Start
            self.page.moveCursor(end)
            self.page.find(typed, way)

    def _mark(self) -> None:
        """Every place of what is searched for, and how many there are."""
        num_found = self.page.mark(self.search.text())
        self.found.setText(self.tr("Found %n time(s)", "", num_found) if num_found else self.tr("Not found"))
        self.found.setVisible(bool(self.search.text()))


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
        keeper.changed.connect(self._draw)

    def mark(self, typed: str) -> int:
        """Every place where this stands; returns how many there are."""
        self._marked = typed
        marks = []
        cursor = self.document().find(typed) if typed else QTextCursor()
        while not cursor.isNull():
            mark = QTextEdit.ExtraSelection()
            mark.cursor = cursor
            mark.format.setBackground(self.palette().highlight())
            mark.format.setForeground(self.palette().highlightedText())
            marks.append(mark)
            cursor = self.document().find(typed, cursor)
        self.setExtraSelections(marks)
        return len(marks)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fitting.start()  # not while the text is being laid out, which also leads here

    def focusNextPrevChild(self, next: bool) -> bool:
        return QWidget.focusNextPrevChild(self, next)  # not from link to link; the contents lead to all their places

    @Slot()
    def _fit(self) -> None:
        if self.isVisible() and self._room() != self._width:
            self._draw()

    @Slot()
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
