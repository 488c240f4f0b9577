"""Formulas in rich text: each is drawn by its place in the document, and followed there by its source, which takes no
room, so that screen readers and searches find it. Copying copies the source.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from math import ceil

from PySide6.QtCore import QByteArray, QPoint, QPointF, QRect, QRectF, QSizeF, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontInfo,
    QFontMetricsF,
    QPainter,
    QPalette,
    QPixmap,
    QPixmapCache,
    QPyTextObject,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
)
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QTextEdit

from app.text.formula_drawing import Drawing
from app.text.formulas import PLACE, Formula

SOURCE = QTextFormat.Property.UserProperty.value + 2  # of the letters of a formula: its source, as it was written
_NUMBER = SOURCE + 1  # of the formula in the document, so that two next to each other are two
_ALONE = SOURCE + 2  # it is all of its line
_KIND = QTextFormat.ObjectTypes.UserObject.value + 1
OBJECT = "\ufffc"  # where it is drawn
_X_HEIGHT_EM = 0.473  # of the library's font
_LARGEST, _SMALLEST = 1.25, 1.0  # of its letters relative to those of the text, to look as large
_HIDDEN_SPACING = 2.0  # per cent; 0 would be the usual
_FAR = 1_000_000.0  # per cent of its height, out of sight even if it is selected and takes another colour
_SPILL_PX = 2  # that a drawing may reach beyond its line
_BELOW_PX = 10  # a displayed formula, as below a paragraph
_ENDS = ".,;: "  # after a displayed formula
_GAP_PX = 1  # around a drawing, for what its edges need


class FormulaObject(QPyTextObject):
    """Draws the formulas of one document, in the colour and at the height of the letters around them."""

    def __init__(self, view: QTextEdit) -> None:
        super().__init__(view)
        self._view = view
        self._drawings: Mapping[str, Drawing] = {}  # by source
        view.document().documentLayout().registerHandler(_KIND, self)

    def put(self, formulas: Iterable[Formula], drawings: Mapping[Formula, Drawing]) -> None:
        """Puts the drawings, in order, in the places held for them."""
        self._drawings = {formula.source: drawing for formula, drawing in drawings.items()}
        document = self._view.document()
        writing = QTextCursor(document)
        writing.beginEditBlock()  # laid out once, at the end
        place = document.find(PLACE)
        for number, formula in enumerate(each for each in formulas if each in drawings):
            self._write(place, formula, number)
            place = document.find(PLACE, place)
        writing.endEditBlock()

    def _write(self, place: QTextCursor, formula: Formula, number: int) -> None:
        shape = place.charFormat()
        shape.setProperty(SOURCE, formula.source)
        shape.setProperty(_NUMBER, number)
        hidden = _hidden(shape)
        drawing, spacing = self._drawings[formula.source], (place.blockFormat().lineHeight() or 100) / 100
        words = place.block().text()
        if formula.is_displayed and words.rstrip(_ENDS) == PLACE:
            alone = QTextBlockFormat()
            alone.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            alone.setLineHeight(100, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
            alone.setBottomMargin(_BELOW_PX)
            place.mergeBlockFormat(alone)
            shape.setProperty(_ALONE, words == PLACE)
            spacing = 1.0
        if not shape.property(_ALONE) and drawing.depth * _em(shape.font()) > _room_below(shape.font(), spacing):
            shape.setVerticalAlignment(QTextCharFormat.VerticalAlignment.AlignMiddle)
        shape.setObjectType(_KIND)
        place.insertText(OBJECT, shape)
        place.insertText(" ".join(formula.source.split()), hidden)

    def intrinsicSize(self, document: QTextDocument, place: int, shape: QTextFormat) -> QSizeF:  # noqa: ARG002
        """The room in the line. Qt knows nothing of depth below the baseline unless the object is centred, with equal
        parts above and below."""
        drawing = self._drawings.get(shape.property(SOURCE))
        if drawing is None:
            return QSizeF()
        letters = shape.toCharFormat()
        em = min(_em(letters.font()), self._widest() / drawing.width)
        height = max(drawing.ascent, QFontMetricsF(letters.font()).ascent() / em)  # as if there were letters next to it
        if letters.verticalAlignment() == QTextCharFormat.VerticalAlignment.AlignMiddle:
            middle = QFontMetricsF(letters.font()).xHeight() / 4 / em  # above the baseline
            height = 2 * max(drawing.ascent - middle, drawing.depth + middle)
        elif shape.property(_ALONE):
            height = drawing.ascent + drawing.depth
        return QSizeF(drawing.width, height) * em

    def drawObject(
        self, painter: QPainter, room: QRectF | QRect, document: QTextDocument, place: int, shape: QTextFormat
    ) -> None:
        drawing = self._drawings.get(shape.property(SOURCE))
        if drawing is None or not room.width():
            return
        letters = shape.toCharFormat()
        em = room.width() / drawing.width
        baseline = room.top() + drawing.ascent * em if shape.property(_ALONE) else room.bottom()
        if letters.verticalAlignment() == QTextCharFormat.VerticalAlignment.AlignMiddle:
            baseline = _baseline(document, place)
        colour = letters.foreground().color()
        if letters.foreground().style() == Qt.BrushStyle.NoBrush:
            colour = self._view.palette().color(QPalette.ColorRole.Text)
        top_left = QPointF(room.left(), baseline - drawing.ascent * em)
        size = QSizeF(drawing.width, drawing.ascent + drawing.depth) * em
        if letters.background().style() != Qt.BrushStyle.NoBrush:  # who guessed it
            painter.fillRect(QRectF(top_left, size), letters.background())
        to_device = painter.deviceTransform()
        pixel = to_device.map(top_left)
        pixel = QPointF(round(pixel.x()) - _GAP_PX, round(pixel.y()) - _GAP_PX)  # else it would be blurred
        ratio = self._view.devicePixelRatioF()
        picture = _picture(drawing, size * ratio, colour.name())
        picture.setDevicePixelRatio(ratio)
        painter.drawPixmap(to_device.inverted()[0].map(pixel), picture)

    def _widest(self) -> float:
        width = self._view.document().textWidth() - 2 * _GAP_PX
        return width if width > 0 else math.inf


def source_at(view: QTextEdit, place: QPoint) -> str:
    """The source of the formula at a place in the viewport; empty: none."""
    offset = QPoint(view.horizontalScrollBar().value(), view.verticalScrollBar().value())
    return str(view.document().documentLayout().formatAt(QPointF(place + offset)).property(SOURCE) or "")


def with_sources(document: QTextDocument) -> None:
    """Replaces each drawing by its formula's source, and removes sources without a drawing."""
    runs: list[tuple[int, int, str]] = []  # begin, end and source
    number = None
    block = document.begin()
    while block.isValid():
        parts = block.begin()
        while not parts.atEnd():
            part = parts.fragment()
            shape = part.charFormat()
            if shape.hasProperty(SOURCE):
                begin, end = part.position(), part.position() + part.length()
                source = shape.property(SOURCE) if OBJECT in part.text() else ""
                if runs and runs[-1][1] == begin and shape.property(_NUMBER) == number:
                    begin, source = runs[-1][0], runs.pop()[2] or source
                runs.append((begin, end, source))
                number = shape.property(_NUMBER)
            parts += 1
        block = block.next()
    writing = QTextCursor(document)
    for begin, end, source in reversed(runs):
        writing.setPosition(begin)
        writing.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
        writing.insertText(source, QTextCharFormat())


def _hidden(shape: QTextCharFormat) -> QTextCharFormat:
    """Invisible letters that take no room."""
    hidden = QTextCharFormat(shape)
    hidden.clearBackground()
    hidden.setForeground(QColor(Qt.GlobalColor.transparent))
    for size in (QTextFormat.Property.FontPointSize, QTextFormat.Property.FontSizeAdjustment):
        hidden.clearProperty(size.value)
    hidden.setProperty(QTextFormat.Property.FontPixelSize.value, 1)
    hidden.setFontLetterSpacingType(QFont.SpacingType.PercentageSpacing)
    hidden.setFontLetterSpacing(_HIDDEN_SPACING)
    hidden.setBaselineOffset(_FAR)
    return hidden


def _em(font: QFont) -> float:
    """The em in pixels of letters that look as large as this font's."""
    size = QFontInfo(font).pixelSize()
    return min(max(QFontMetricsF(font).xHeight() / _X_HEIGHT_EM, size), _LARGEST * size)


def _room_below(font: QFont, spacing: float) -> float:
    """The depth of a drawing below the baseline before it reaches the next line, in pixels: line spacing is added below
    the letters."""
    metrics = QFontMetricsF(font)
    return metrics.descent() + (spacing - 1) * metrics.height() + _SPILL_PX


def _baseline(document: QTextDocument, place: int) -> float:
    block = document.findBlock(place)
    line = block.layout().lineForTextPosition(place - block.position())
    return document.documentLayout().blockBoundingRect(block).top() + line.y() + line.ascent()


def _picture(drawing: Drawing, size: QSizeF, colour: str) -> QPixmap:
    """The drawing in device pixels, with a margin."""
    key = f"{drawing.svg}{colour}{size.width():.2f}x{size.height():.2f}"
    picture = QPixmap()
    if not QPixmapCache.find(key, picture):
        picture = QPixmap(ceil(size.width()) + 2 * _GAP_PX, ceil(size.height()) + 2 * _GAP_PX)
        picture.fill(Qt.GlobalColor.transparent)
        painter = QPainter(picture)
        renderer = QSvgRenderer(QByteArray(drawing.svg.replace("currentColor", colour).encode()))
        renderer.render(painter, QRectF(QPointF(_GAP_PX, _GAP_PX), size))
        painter.end()
        QPixmapCache.insert(key, picture)
    return picture
