"""The pictures of prompts, as far as the window knows them."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QPainterPath, QPixmap

from app.text.side_thread import SideThread
from app.text.translation import translate
from app.text.unseen import one_line
from app.widgets.prompt.picture_images import SmallImage, small_image
from engine.values.pictures import Picture
from engine.values.prompts import split_pictures

MOST_SMALL = 64  # images, of 0.4 MB at most
MOST_FRESH_BYTES = 200_000_000


class Pictures(QObject):
    """Small images of those that were shown last, and the fresh ones themselves: those that were read for a prompt and
    that no conversation holds yet. Each is known by its digest."""

    wanted = Signal(str)  # this picture is to be shown; `show_small` or `miss` answers
    shown = Signal(str)  # its small image is there
    missing = Signal(str)  # it is not there any more
    open_requested = Signal(str, str)  # it is to be shown large; the second is its name

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.thread_beside = SideThread("pictures", self)
        self._small: dict[str, SmallImage] = {}  # the one that was asked for last stands last
        self._fresh: dict[str, Picture] = {}  # the newest stands last
        self._drawn: set[str] = set()  # on the other thread

    def small(self, digest: str) -> SmallImage | None:
        """The thumbnail; None: `shown` or `missing` follows."""
        if known := self._small.pop(digest, None):
            self._small[digest] = known
        elif fresh := self._fresh.get(digest):
            self.show_small(fresh)
        elif digest not in self._drawn:
            self.wanted.emit(digest)
        return known

    def show_small(self, picture: Picture) -> None:
        if picture.digest not in self._drawn and picture.digest not in self._small:
            self._drawn.add(picture.digest)
            self.thread_beside.do(partial(small_image, picture), partial(self._on_drawn, picture.digest))

    def miss(self, digest: str) -> None:
        self.missing.emit(digest)

    # Fresh ones

    def add(self, picture: Picture) -> None:
        """Holds a picture read for a prompt. Beyond a limit, the oldest ones go."""
        self._fresh.pop(picture.digest, None)
        self._fresh[picture.digest] = picture
        while sum(len(each.data) for each in self._fresh.values()) > MOST_FRESH_BYTES and len(self._fresh) > 1:
            del self._fresh[next(iter(self._fresh))]
        self.show_small(picture)

    def fresh(self, digest: str) -> Picture | None:
        return self._fresh.get(digest)

    @property
    def all_fresh(self) -> tuple[Picture, ...]:
        """The pictures held, newest last."""
        return tuple(self._fresh.values())

    def fresh_in(self, prompt: str) -> tuple[Picture, ...]:
        """The held pictures that this prompt names."""
        digests = dict.fromkeys(each.digest for each in split_pictures(prompt)[0])
        return tuple(self._fresh[digest] for digest in digests if digest in self._fresh)

    def settle(self, prompt: str) -> None:
        """Drops the prompt's pictures, which its conversation holds now."""
        for picture in self.fresh_in(prompt):
            del self._fresh[picture.digest]

    def forget_small(self) -> None:
        self._small.clear()

    def forget(self) -> None:
        self.forget_small()
        self._fresh.clear()
        self._drawn.clear()

    def _on_drawn(self, digest: str, small: SmallImage | None) -> None:
        if digest not in self._drawn:
            return  # forgotten meanwhile
        self._drawn.discard(digest)
        if small is None:
            self.missing.emit(digest)
            return
        self._small[digest] = small
        if len(self._small) > MOST_SMALL:
            del self._small[next(iter(self._small))]
        self.shown.emit(digest)


def square_pixmap(small: SmallImage, side_px: int, radius_px: int, ratio: float) -> QPixmap:
    """A square with round corners; `ratio` is device pixels per window pixel."""
    side = round(side_px * ratio)
    smooth = Qt.TransformationMode.SmoothTransformation
    image = small.image.scaled(side, side, Qt.AspectRatioMode.IgnoreAspectRatio, smooth)
    pixmap = QPixmap(side, side)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    path = QPainterPath()
    path.addRoundedRect(QRectF(0, 0, side, side), radius_px * ratio, radius_px * ratio)
    painter.setClipPath(path)
    painter.drawImage(0, 0, image)
    painter.end()
    pixmap.setDevicePixelRatio(ratio)
    return pixmap


def picture_words(name: str, known: SmallImage | Picture | None) -> str:
    """Describes a picture for screen readers, with its size if known."""
    if known is None:
        return translate("Pictures", "picture, {name}").format(name=one_line(name))
    words = translate("Pictures", "picture, {name}, {width} by {height}")
    return words.format(name=one_line(name), width=known.width, height=known.height)
