"""One attachment of the prompt that is being written."""

from __future__ import annotations

from math import ceil

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QFrame, QLabel, QWidget

from app.text.amounts import size_words
from app.text.numbers import whole
from app.text.translation import translate
from app.text.unseen import in_tip
from app.theme import ThemeKeeper
from app.widgets.appearance import restyle
from app.widgets.icon_button import IconButton
from app.widgets.layouts import Part, Placed, in_row
from app.widgets.parts import ElidedLabel, set_up, show_text
from app.widgets.prompt.picture_images import SmallImage
from app.widgets.prompt.pictures import Pictures, picture_words, square_pixmap
from engine.values.passages import num_pages
from engine.values.prompts import AttachedPicture, Attachment

_IMAGE_PX = 30
_RADIUS_PX = 5


class Chip(QFrame):
    """A file that is being read, has been read, or failed to be read."""

    def __init__(
        self,
        keeper: ThemeKeeper,
        name: str,
        path: str,
        attachment: Attachment | AttachedPicture | None,
        parent: QWidget,
        before: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.path = path
        self.attachment = attachment
        self.failure = ""
        self.num_tokens = 0  # 0: not counted
        self.is_about = self.is_asked = False
        self.is_excerpted = False  # only passages of it are sent
        self.most = 0
        self.name = name
        self.setProperty("kind", "chip")
        label = ElidedLabel(self)
        label.set_words(name)
        self._size = set_up(QLabel(self), kind="count")
        remove = self.tr("Remove {file}").format(file=name)
        self.close_button = IconButton(keeper, "close", remove, icon_px=13, parent=self)
        parts: list[Part] = [Placed(label, 1), self._size, self.close_button]
        left = 10
        if before is not None:
            before.setParent(self)
            parts.insert(0, before)
            left = 4
        in_row(parts, inside=self, margins=(left, 2, 3, 2), spacing=7)

    @property
    def is_reading(self) -> bool:
        return self.attachment is None and not self.failure

    @property
    def is_wrong(self) -> bool:
        """True if it failed or is too long; it is then shown in red."""
        return bool(self.failure) or (self.num_tokens > self.most and not self.is_excerpted)

    def write(self) -> None:
        words = self._words()
        show_text(self._size, words)
        self.setAccessibleName(self._spoken(words))
        self.setAccessibleDescription(self._why())
        self.setToolTip(in_tip(self._why() or self.name))
        for part in (self, self._size):
            restyle(part, level="error" if self.is_wrong else "")
        if self.is_reading:
            self.close_button.set_name(self.tr("Stop reading {file}").format(file=self.name))

    def _spoken(self, words: str) -> str:
        return f"{self.name}, {words}"

    def _why(self) -> str:
        return self.failure

    def _words(self) -> str:
        if self.failure:
            return self.tr("not attached")
        if not isinstance(self.attachment, Attachment):
            return self.tr("reading…")
        words = words_of_pages(self.attachment.text)
        if self.num_tokens:
            number = _rounded(self.num_tokens) if self.is_about else self.num_tokens
            tokens = self.tr("{number} token(s)", "", number).format(number=whole(number))
            words.append(self.tr("about {tokens}").format(tokens=tokens) if self.is_about else tokens)
        else:
            words.append(size_words(self.attachment.num_bytes))
        return " · ".join(words)


class PictureChip(Chip):
    """A picture with a thumbnail."""

    def __init__(self, keeper: ThemeKeeper, pictures: Pictures, attached: AttachedPicture, parent: QWidget) -> None:
        self._image = QLabel()
        super().__init__(keeper, attached.name, "", attached, parent, self._image)
        self.digest = attached.digest
        self._keeper = keeper
        self._pictures = pictures
        self._small: SmallImage | None = None
        self._blindness = ""
        keeper.changed.connect(self.draw)
        self.draw()

    def set_blindness(self, sentence: str) -> None:
        """Says why the model cannot see the picture; empty if it can."""
        if sentence != self._blindness:
            self._blindness = sentence
            self.write()

    @property
    def is_wrong(self) -> bool:
        return bool(self.failure or self._blindness)

    def _spoken(self, words: str) -> str:  # noqa: ARG002
        about = picture_words(self.name, self._small)
        return ", ".join(filter(None, (about, self._trouble())))

    def _why(self) -> str:
        return self.failure or self._blindness

    def _words(self) -> str:
        size = "" if self.failure or self._small is None else f"{self._small.width} × {self._small.height}"
        return " · ".join(filter(None, (size, self._trouble())))

    def _trouble(self) -> str:
        if self.failure:
            return self.tr("not attached")
        return self.tr("cannot be seen") if self._blindness else ""

    @Slot()
    def draw(self) -> None:
        """Draws the thumbnail, if it is there yet."""
        self._small = self._small or self._pictures.small(self.digest)
        side_px = self._keeper.px(_IMAGE_PX)
        self._image.setFixedSize(side_px, side_px)
        if self._small is None:
            self._image.setAlignment(Qt.AlignmentFlag.AlignCenter)
            self._image.setPixmap(self._keeper.icon("picture").pixmap(side_px // 2, side_px // 2))
        else:
            ratio = self.devicePixelRatioF()
            self._image.setPixmap(square_pixmap(self._small, side_px, self._keeper.px(_RADIUS_PX), ratio))
        self.write()


def words_of_pages(text: str) -> list[str]:
    """The number of pages in words; empty for a text without pages."""
    number = num_pages(text)
    return [translate("Amounts", "{number} page(s)", "", number).format(number=whole(number))] if number else []


def _rounded(number: int) -> int:
    """Rounds up to two significant digits."""
    step = int(10 ** max(0, len(str(number)) - 2))
    return ceil(number / step) * step
