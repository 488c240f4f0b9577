"""The pictures of a prompt, in the transcript."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QRectF, Qt, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPixmap
from PySide6.QtWidgets import QWidget

from app.text.unseen import one_line
from app.theme import ThemeKeeper
from app.widgets.icon_button import IconButton
from app.widgets.prompt.picture_images import SmallImage
from app.widgets.prompt.pictures import Pictures, picture_words, square_pixmap
from engine.values.prompts import AttachedPicture

_SIDE_PX = 120
_GAP_PX = 6
_RADIUS_PX = 8
_ICON_PX = 28
_WORDS_MARGIN_PX = 8


def height_of(num_pictures: int, width: int, keeper: ThemeKeeper) -> int:
    """The height of this many pictures wrapped at this width; 0 without any."""
    num_rows = -(-num_pictures // _num_beside(width, keeper))
    return num_rows * (keeper.px(_SIDE_PX) + _GAP_PX) - _GAP_PX if num_rows else 0


def _num_beside(width: int, keeper: ThemeKeeper) -> int:
    return max(1, (width + _GAP_PX) // (keeper.px(_SIDE_PX) + _GAP_PX))


class AttachedPictures(QWidget):
    """A square for each, which shows it large; all have their place before they are known."""

    def __init__(
        self,
        keeper: ThemeKeeper,
        pictures: Pictures,
        attached: Sequence[AttachedPicture],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self.buttons = [PictureButton(keeper, pictures, each, self) for each in attached]

    def ideal_width(self, widest: int) -> int:
        wanted = len(self.buttons) * (self._keeper.px(_SIDE_PX) + _GAP_PX) - _GAP_PX
        return min(widest, max(wanted, self._keeper.px(_SIDE_PX)))

    def arrange(self, width: int) -> int:
        """Takes this width, and returns the height it needs."""
        side, num_beside = self._keeper.px(_SIDE_PX), _num_beside(width, self._keeper)
        for number, button in enumerate(self.buttons):
            row, column = divmod(number, num_beside)
            button.setGeometry(column * (side + _GAP_PX), row * (side + _GAP_PX), side, side)
        height = height_of(len(self.buttons), width, self._keeper)
        self.resize(width, height)
        return height


class PictureButton(IconButton):
    """The middle of a picture; an icon while it is not known, and words where it is not there any more."""

    def __init__(self, keeper: ThemeKeeper, pictures: Pictures, attached: AttachedPicture, parent: QWidget) -> None:
        self._small: SmallImage | None = None
        self._pixmap: QPixmap | None = None  # of the size it has now
        self._is_missing = False
        super().__init__(keeper, "picture", attached.name, icon_px=_ICON_PX, parent=parent)
        self._pictures = pictures
        self._attached = attached
        self.clicked.connect(partial(pictures.open_requested.emit, attached.digest, attached.name))
        pictures.shown.connect(self._on_shown)
        pictures.missing.connect(self._on_missing)
        self._show(pictures.small(attached.digest))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        theme = self._keeper.theme
        radius = self._keeper.px(_RADIUS_PX)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._small is not None:
            if self._pixmap is None or self._pixmap.deviceIndependentSize().width() != self.width():
                self._pixmap = square_pixmap(self._small, self.width(), radius, self.devicePixelRatioF())
            painter.drawPixmap(0, 0, self._pixmap)
        has_mark = self.hasFocus() or self.underMouse()
        frame = QPen(QColor(theme.accent if self.hasFocus() else theme.border_strong if has_mark else theme.border))
        frame.setWidthF(2.5 if self.hasFocus() else 1.0)
        painter.setPen(frame)
        painter.setBrush(QColor(theme.hover) if self._small is None else Qt.BrushStyle.NoBrush)
        inset = frame.widthF() / 2
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(inset, inset, -inset, -inset), radius, radius)
        if self._is_missing:
            painter.setPen(QColor(theme.quiet))
            margin = self._keeper.px(_WORDS_MARGIN_PX)
            inside = self.rect().adjusted(margin, margin, -margin, -margin)
            words = Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignCenter
            painter.drawText(inside, words, self.tr("No longer there"))
        elif self._small is None:
            place = self.rect().center() - self.rect().topLeft()
            size = self.iconSize()
            painter.drawPixmap(place.x() - size.width() // 2, place.y() - size.height() // 2, self.icon().pixmap(size))
        painter.end()

    def _show(self, small: SmallImage | None) -> None:
        self._small = small
        self._pixmap = None
        about = picture_words(self._attached.name, small)
        self.setAccessibleName(f"{about}, {self.tr('no longer there')}" if self._is_missing else about)
        self.setAccessibleDescription("" if self._is_missing else self.tr("Shows the picture large"))
        size = "" if small is None else f" · {small.width} × {small.height}"
        self.setToolTip(f"{one_line(self._attached.name)}{size}")
        self.update()

    def _draw(self) -> None:
        super()._draw()
        self._pixmap = None
        self.update()

    @Slot(str)
    def _on_shown(self, digest: str) -> None:
        if digest == self._attached.digest and self._small is None:
            self._is_missing = False
            self._show(self._pictures.small(digest))

    @Slot(str)
    def _on_missing(self, digest: str) -> None:
        if digest == self._attached.digest and self._small is None:
            self._is_missing = True
            self._show(None)
