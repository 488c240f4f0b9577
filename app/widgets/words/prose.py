"""Rich text that can be selected and is as high as its contents."""

from __future__ import annotations

import re
from html import escape
from math import ceil

from PySide6.QtCore import QByteArray, QPoint, QRectF, Qt, QTextBoundaryFinder, QUrl, Signal, Slot
from PySide6.QtGui import (
    QAction,
    QColor,
    QDesktopServices,
    QGuiApplication,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QShowEvent,
    QTextBlock,
    QTextCharFormat,
    QTextCursor,
    QTextFormat,
    QTextOption,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QMenu, QTextBrowser, QToolTip, QWidget

from app.text.formula_drawing import Drawer, Drawing
from app.text.formulas import Formula, with_drawings
from app.text.formulas import of_html as formulas_of
from app.text.links import opened_address
from app.text.origin_marks import proposers
from app.text.unseen import APART, APART_END, STAND_IN, has_right_to_left, mark_of, names_of, replaced
from app.theme import Theme, ThemeKeeper
from app.widgets.appearance import code_font, reading_font
from app.widgets.parts import announce
from app.widgets.words.formulas import FormulaObject, source_at
from app.widgets.words.joined_text import UNSEEN, JoinedText

_FIRST_WIDTH_PX = 640  # until `arrange` says it: at none at all, Qt would break the lines after every letter
_INDENT_PX = 26  # of lists
_MOST_FORMULAS = 200  # that are drawn in one block: each takes its time again whenever it is painted
_QUOTE_INDENT = 20.0
_LONGEST_RUN = 1_000  # letters, between two places where a line may be broken
_LONG_WORD = re.compile(rf"[^ \t\n]{{{_LONGEST_RUN}}}")
_TAG = re.compile(r"<[^>]*>")
_CODE = re.compile(r"(<code[^>]*>)(.*?)(</code>)", re.DOTALL)
_INLINE_TAG = re.compile(r"</?(?:a|code|del|em|s|span|strong)\b[^>]*>")
HELD = "\ufdef"  # is no letter, by Unicode's own word
_SCROLL_KEYS = frozenset(
    {Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown, Qt.Key.Key_Home, Qt.Key.Key_End}
)


class Prose(JoinedText, QTextBrowser):
    """Shows HTML made by `app.text.markdown`, or plain text, without scroll bars; a `WideTable` has one.

    Nothing is ever loaded, neither files nor addresses. A click opens a link in the system's browser, if it leads to a
    web page or is a mail address. The address of a link is shown under the pointer, and when Tab reaches the link.
    """

    drawn = Signal()  # formulas are drawn that were text; it may have another height

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None, drawer: Drawer | None = None) -> None:
        """`drawer`: draws formulas, which stay text without it."""
        super().__init__(parent)
        self._keeper = keeper
        self._drawer = drawer
        self._formulas: FormulaObject | None = None  # once there are any
        self._are_awaited = False  # drawings
        self._html = ""
        self._is_stale = False  # the theme has changed while it was not shown
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # `arrange` sets the width; a hidden QTextEdit would wrap at the width of a viewport that has no layout yet.
        self.setLineWrapMode(QTextBrowser.LineWrapMode.FixedPixelWidth)
        self.setLineWrapColumnOrWidth(max(_FIRST_WIDTH_PX, 0 if parent is None else parent.width()))
        self.setOpenLinks(False)
        self.setUndoRedoEnabled(False)
        self.setAcceptDrops(False)
        self.viewport().setAutoFillBackground(False)
        self.setFont(reading_font())
        self.document().setDocumentMargin(0)
        self.document().setIndentWidth(keeper.px(_INDENT_PX))
        self.document().setDefaultStyleSheet(style_sheet(keeper.theme))
        self.anchorClicked.connect(self._open)
        keeper.changed.connect(self._on_look_changed)

    def set_html(self, html: str) -> None:
        self._html = html
        cursor = self.textCursor()
        anchor, position = cursor.anchor(), cursor.position()
        formulas = formulas_of(html)
        drawings = self._drawings(formulas)
        html = with_drawings(html, drawings)
        self.setWordWrapMode(self._wrap_mode(_TAG.sub(" ", _INLINE_TAG.sub("", html))))
        held, unseen = with_places(html)
        self.setHtml(with_code_apart(held))
        self._mark(unseen)
        self._mirror_quotes()
        if drawings:
            self._formulas = self._formulas or FormulaObject(self)
            self._formulas.put(formulas, drawings)
        self.has_formulas = bool(drawings)
        if anchor != position:  # the user selects while the reply is still growing
            self._select(anchor, position)
        has_links = "<a href" in html
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if has_links else Qt.FocusPolicy.ClickFocus)

    def _wrap_mode(self, text: str) -> QTextOption.WrapMode:
        return wrap_mode(text)

    def _drawings(self, formulas: tuple[Formula, ...]) -> dict[Formula, Drawing]:
        """Known drawings of these formulas; empty if there are too many to draw."""
        if self._drawer is None or not 0 < len(formulas) <= _MOST_FORMULAS:
            return {}
        known = self._drawer.drawn(formulas)
        if not self._are_awaited and len(known) < len({*formulas}):
            self._are_awaited = True
            self._drawer.done.connect(self._show_drawings, Qt.ConnectionType.SingleShotConnection)
        return {formula: drawing for formula, drawing in known.items() if drawing is not None}

    @Slot()
    def _show_drawings(self) -> None:
        self._are_awaited = False
        self.set_html(self._html)
        self.drawn.emit()

    def _mark(self, unseen: list[str]) -> None:
        """Shows marks for invisible signs in the places held for them; hovering names them."""
        if not unseen:
            return
        writing = QTextCursor(self.document())
        writing.beginEditBlock()  # laid out once, at the end
        place = self.document().find(HELD)
        for signs in unseen:
            place.insertText(mark_of(signs), shape_of_mark(signs, place.charFormat(), self._keeper.theme))
            place = self.document().find(HELD, place)
        writing.endEditBlock()

    def set_plain_text(self, text: str) -> None:
        self.set_html(f'<div style="white-space:pre-wrap">{escape(text)}</div>')

    def ideal_width(self, widest: int) -> int:
        """The width of the longest line, wrapped at `widest`."""
        self.setLineWrapColumnOrWidth(widest)
        return ceil(self.document().idealWidth()) + 1

    def arrange(self, width: int) -> int:
        """Takes this width, and returns the height it needs."""
        self._draw_if_stale()
        self.setLineWrapColumnOrWidth(width)
        height = ceil(self.document().size().height())
        self.resize(width, height)
        return height

    def loadResource(self, type: int, name: QUrl | str) -> QByteArray:  # noqa: ARG002
        return QByteArray()  # for None, QTextDocument would read files by itself

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in _SCROLL_KEYS:
            event.ignore()
        else:
            super().keyPressEvent(event)

    def focusNextPrevChild(self, next: bool) -> bool:
        stays = super().focusNextPrevChild(next)
        self._tell_address(self.textCursor().charFormat().toolTip() if stays and self.hasFocus() else "")
        return stays

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def showEvent(self, event: QShowEvent) -> None:
        self._draw_if_stale()
        super().showEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if "<blockquote>" in self._html:
            self._paint_quote_bars()

    def menu_at(self, place: QPoint) -> QMenu:
        """The usual menu, with an entry for a formula at this place."""
        menu = self.createStandardContextMenu(place)
        source = source_at(self, place)
        if source:
            copy = QAction(self.tr("Copy formula"), menu)
            copy.triggered.connect(lambda: QGuiApplication.clipboard().setText(source))
            menu.insertAction(menu.actions()[0], copy)
        return menu

    def _mirror_quotes(self) -> None:
        """Moves the bars of right-to-left quotes to the right."""
        if "<blockquote>" not in self._html or not has_right_to_left(self._html):
            return
        writing = QTextCursor(self.document())
        writing.beginEditBlock()
        block = self.document().begin()
        while block.isValid():
            shape = block.blockFormat()
            if shape.leftMargin() >= _QUOTE_INDENT and block.textDirection() == Qt.LayoutDirection.RightToLeft:
                shape.setRightMargin(shape.leftMargin())
                shape.setLeftMargin(0)
                writing.setPosition(block.position())
                writing.setBlockFormat(shape)
            block = block.next()
        writing.endEditBlock()

    def _paint_quote_bars(self) -> None:
        painter = QPainter(self.viewport())
        layout = self.document().documentLayout()
        block = self.document().begin()
        while block.isValid():
            level = _quote_level(block)
            following = block.next()
            area = layout.blockBoundingRect(block)
            for depth in range(level):
                ends = _quote_level(following) <= depth
                bottom = area.bottom() if ends else layout.blockBoundingRect(following).top()
                left = depth * _QUOTE_INDENT + 2
                if _is_mirrored(block):
                    left = self.viewport().width() - left - 3
                bar = QRectF(left, area.top(), 3, bottom - area.top())
                painter.fillRect(bar, QColor(self._keeper.theme.border_strong))
            block = following
        painter.end()

    def _select(self, anchor: int, position: int) -> None:
        end = self.document().characterCount() - 1
        cursor = self.textCursor()
        cursor.setPosition(min(anchor, end))
        cursor.setPosition(min(position, end), QTextCursor.MoveMode.KeepAnchor)
        self.setTextCursor(cursor)

    def _tell_address(self, address: str) -> None:
        """Announces the address of the link that the keyboard has reached; empty: none."""
        self.setAccessibleDescription(address)
        if address:
            QToolTip.showText(self.viewport().mapToGlobal(self.cursorRect().bottomLeft()), address, self)
            announce(self, address)
        else:
            QToolTip.hideText()

    @Slot(QUrl)
    def _open(self, address: QUrl) -> None:
        if opened_address(address.toString()):
            QDesktopServices.openUrl(address)

    @Slot()
    def _on_look_changed(self) -> None:
        """Redraws when it is shown next: with another text size, most of these widgets are about to go."""
        self._is_stale = True
        if self.isVisible():
            self._draw_if_stale()

    def _draw_if_stale(self) -> None:
        if not self._is_stale:
            return
        self._is_stale = False
        self.setFont(reading_font())
        self.document().setIndentWidth(self._keeper.px(_INDENT_PX))
        self.document().setDefaultStyleSheet(style_sheet(self._keeper.theme))
        self.set_html(self._html)


class WideTable(Prose):
    """A table whose words stay whole: where it is wider than there is room, it scrolls sideways."""

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None, drawer: Drawer | None = None) -> None:
        super().__init__(keeper, parent, drawer)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)

    def arrange(self, width: int) -> int:
        height = super().arrange(width)
        if self.document().size().width() > width:
            height += self.horizontalScrollBar().sizeHint().height()
            self.resize(width, height)
        return height

    def wheelEvent(self, event: QWheelEvent) -> None:
        if abs(event.angleDelta().x()) > abs(event.angleDelta().y()):
            QTextBrowser.wheelEvent(self, event)
        else:
            event.ignore()

    def _wrap_mode(self, text: str) -> QTextOption.WrapMode:
        mode = super()._wrap_mode(text)
        is_usual = mode is QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere
        return QTextOption.WrapMode.WordWrap if is_usual else mode


def wrap_mode(text: str) -> QTextOption.WrapMode:
    """Where lines may be broken. In a long run without such places, Qt would search all the rest for each line."""
    if _LONG_WORD.search(text) is not None and _has_long_run(text):
        return QTextOption.WrapMode.WrapAnywhere
    return QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere


def _has_long_run(text: str) -> bool:
    """True if a long run lacks break opportunities; Chinese, Japanese and Thai have many without spaces."""
    finder = QTextBoundaryFinder(QTextBoundaryFinder.BoundaryType.Line, text)
    finder.toEnd()
    end, step = finder.position(), _LONGEST_RUN // 2  # a run of this length has two looks in it, one after the other
    for place in range(0, end, step):
        finder.setPosition(place)
        following = finder.toNextBoundary()
        if following - place >= step:
            finder.setPosition(place)
            begin = place if finder.isAtBoundary() else finder.toPreviousBoundary()
            if following - begin >= _LONGEST_RUN:
                return True
    return False


def with_places(text: str) -> tuple[str, list[str]]:
    """The text with `HELD` in place of each run of invisible signs, and these runs."""
    unseen: list[str] = []

    def hold(signs: str) -> str:
        unseen.append(signs)
        return HELD

    return replaced(text.replace(HELD, STAND_IN), hold), unseen


def shape_of_mark(signs: str, around: QTextCharFormat, theme: Theme) -> QTextCharFormat:
    """The format of a mark for hidden characters, in letters like those around it: copying it copies the characters."""
    shape = QTextCharFormat(around)
    shape.setProperty(UNSEEN, signs)
    shape.setToolTip(names_of(signs))
    shape.setForeground(QColor(theme.warning))
    return shape


def with_code_apart(html: str) -> str:
    """Isolates code, which reads from left to right in any text. Qt takes a paragraph's direction from its first letter
    that has one."""
    if not has_right_to_left(html):
        return html
    html = html.replace("<pre>", '<pre dir="ltr">')
    return _CODE.sub(rf"\1{APART}\2{APART_END}\3", html)


def _quote_level(block: QTextBlock) -> int:
    """The depth of the quotation; Qt's own property says only that there is one."""
    if not block.isValid() or not block.blockFormat().hasProperty(QTextFormat.Property.BlockQuoteLevel.value):
        return 0
    shape = block.blockFormat()
    return round(max(shape.leftMargin(), shape.rightMargin()) / _QUOTE_INDENT)


def _is_mirrored(block: QTextBlock) -> bool:
    return block.blockFormat().rightMargin() > block.blockFormat().leftMargin()


def style_sheet(theme: Theme) -> str:
    points = reading_font().pointSizeF()
    mono = code_font()
    return f"""
        body {{ color: {theme.text}; }}
        p {{ margin-top: 0; margin-bottom: 10px; line-height: 145%; }}
        div {{ line-height: 140%; }}
        h1, h2, h3, h4, h5, h6 {{ font-weight: 600; line-height: 125%; margin-top: 14px; margin-bottom: 8px; }}
        h1 {{ font-size: {points * 1.45:.1f}pt; }}
        h2 {{ font-size: {points * 1.25:.1f}pt; }}
        h3 {{ font-size: {points * 1.1:.1f}pt; }}
        h4, h5, h6 {{ font-size: {points:.1f}pt; }}
        ul, ol {{ margin-top: 0; margin-bottom: 10px; }}
        ul ul, ul ol, ol ul, ol ol {{ margin-bottom: 0; }}
        li {{ line-height: 145%; margin-bottom: 3px; }}
        li p {{ margin-bottom: 4px; }}
        blockquote {{ margin-top: 2px; margin-bottom: 8px; margin-left: {_QUOTE_INDENT}px; margin-right: 0;
                      color: {theme.quiet}; }}
        code {{ font-family: '{mono.family()}'; font-size: {points * 0.93:.1f}pt; white-space: pre-wrap;
                background-color: {theme.inline_code}; }}
        pre {{ font-family: '{mono.family()}'; font-size: {points * 0.93:.1f}pt; white-space: pre-wrap;
               line-height: 100%; background-color: {theme.code_background}; margin-top: 4px; margin-bottom: 8px; }}
        table {{ border-collapse: collapse; border-style: solid; border-color: {theme.border}; margin-top: 4px;
                 margin-bottom: 12px; }}
        th {{ font-weight: 600; background-color: {theme.code_header}; border: 1px solid {theme.border}; }}
        td {{ border: 1px solid {theme.border}; }}
        hr {{ background-color: {theme.border_strong}; }}
        a {{ color: {theme.link}; text-decoration: none; }}
        {" ".join(f".{origin.key} {{ background-color: {theme.tint(origin)}; }}" for origin in proposers())}
    """
