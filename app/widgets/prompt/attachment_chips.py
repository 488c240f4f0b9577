"""The attachments of the prompt that is being written."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.theme import ThemeKeeper
from app.widgets.icon_button import IconButton
from app.widgets.parts import discard
from app.widgets.prompt.attachment_chip import Chip, PictureChip
from app.widgets.prompt.pictures import Pictures
from engine.values.prompts import AttachedPicture, Attachment

_GAP_PX = 6
_WIDEST_PX = 420


class AttachmentChips(QWidget):
    """One chip for each file or picture, in as many lines as they need; hidden where there is none. A file is known by
    its path until it is read."""

    changed = Signal()  # a file was added or removed, or could not be read, or a picture is not there any more
    height_changed = Signal()  # it has more lines of chips, or fewer
    cancelled = Signal(str)  # a file is not wanted any more while it is being read; its path

    def __init__(self, keeper: ThemeKeeper, pictures: Pictures, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self._pictures = pictures
        self._blindness = ""
        self._is_excerpted = False  # only passages are sent of files
        self._chips: list[Chip] = []
        pictures.shown.connect(self._on_picture_shown)
        pictures.missing.connect(self._on_picture_missing)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.hide()

    @property
    def attachments(self) -> tuple[Attachment | AttachedPicture, ...]:
        return tuple(chip.attachment for chip in self._chips if chip.attachment is not None and not chip.failure)

    @property
    def texts(self) -> tuple[Attachment, ...]:
        """The attachments that are not pictures."""
        return tuple(each for each in self.attachments if isinstance(each, Attachment))

    @property
    def names(self) -> frozenset[str]:
        return frozenset(chip.name for chip in self._chips)

    @property
    def close_buttons(self) -> tuple[IconButton, ...]:
        return tuple(chip.close_button for chip in self._chips)

    @property
    def words(self) -> tuple[str, ...]:
        """The text of each chip, for screen readers."""
        return tuple(chip.accessibleName() for chip in self._chips)

    @property
    def is_reading(self) -> bool:
        return any(chip.is_reading for chip in self._chips)

    @property
    def failures(self) -> tuple[str, ...]:
        """Reasons why files are not attached."""
        return tuple(chip.failure for chip in self._chips if chip.failure)

    @property
    def blindness(self) -> str:
        """Why pictures cannot be sent; empty if they can, or if there are none."""
        return self._blindness if any(isinstance(each, AttachedPicture) for each in self.attachments) else ""

    def set_blindness(self, sentence: str) -> None:
        """Sets why the model cannot see pictures; empty if it can, or if there is no model."""
        if sentence == self._blindness:
            return
        self._blindness = sentence
        for chip in self._chips:
            if isinstance(chip, PictureChip):
                chip.set_blindness(sentence)
        self._arrange()
        self.changed.emit()

    @property
    def room_taken(self) -> int:
        """The number of files that are read, or about to be."""
        return sum(not chip.failure for chip in self._chips)

    @property
    def num_tokens(self) -> int:
        """The sum of all chips counted so far."""
        return sum(chip.num_tokens for chip in self._chips)

    def set_attachments(self, attachments: Sequence[Attachment | AttachedPicture]) -> None:
        """Replaces all attachments."""
        for chip in self._chips:
            if chip.is_reading:
                self.cancelled.emit(chip.path)
        self._show([self._chip_of(attachment) for attachment in attachments])

    def add(self, attachment: Attachment | AttachedPicture) -> None:
        """Adds the attachment, in place of an equal one."""
        kept = [chip for chip in self._chips if chip.attachment != attachment]
        self._show([*kept, self._chip_of(attachment)])

    def begin(self, path: str, name: str) -> None:
        """Shows that this file is being read, in place of a failed attempt."""
        kept = [chip for chip in self._chips if not (chip.failure and chip.path == path)]
        self._show([*kept, self._ready(Chip(self._keeper, name, path, None, self))])

    def is_awaited(self, path: str) -> bool:
        return any(chip.is_reading and chip.path == path for chip in self._chips)

    def finish(self, path: str, attachment: Attachment | AttachedPicture) -> None:
        """Shows a file that was read, unless it is no longer wanted."""
        if not self.is_awaited(path):
            return
        ahead = [chip for chip in self._chips if chip.attachment != attachment]
        place = next(place for place, chip in enumerate(ahead) if chip.is_reading and chip.path == path)
        ahead[place] = self._chip_of(attachment)
        self._show(ahead)

    def fail(self, path: str, sentence: str) -> None:
        for chip in self._chips:
            if chip.is_reading and chip.path == path:
                chip.failure = sentence
                chip.write()
        self._show(self._chips)

    def take_uncounted(self) -> tuple[Attachment, ...]:
        """Attachments whose tokens have yet to be counted; pictures never are."""
        uncounted = []
        for chip in self._chips:
            if isinstance(chip.attachment, Attachment) and not chip.is_asked:
                chip.is_asked = True
                uncounted.append(chip.attachment)
        return tuple(uncounted)

    def forget_tokens(self) -> None:
        """Drops all counts: another target has other tokens."""
        for chip in self._chips:
            chip.is_asked, chip.num_tokens = False, 0
            chip.write()

    def show_tokens(self, block: str, num_tokens: int, most: int, is_about: bool) -> None:
        """Shows the target's number of tokens in a file, of `most` that fit."""
        for chip in self._chips:
            if isinstance(chip.attachment, Attachment) and chip.attachment.block == block:
                chip.num_tokens, chip.is_about, chip.most = num_tokens, is_about, most
                chip.write()
        self._arrange()

    @Slot(bool)
    def set_excerpted(self, excerpted: bool) -> None:
        """Sets whether only passages of files are sent."""
        self._is_excerpted = excerpted
        for chip in self._chips:
            chip.is_excerpted = excerpted
            chip.write()

    def set_width(self, width: int) -> None:
        """Takes effect at once, even while hidden."""
        self.setFixedWidth(width)
        self._arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._arrange()

    def _chip_of(self, attachment: Attachment | AttachedPicture) -> Chip:
        if isinstance(attachment, Attachment):
            return self._ready(Chip(self._keeper, attachment.name, "", attachment, self))
        chip = PictureChip(self._keeper, self._pictures, attachment, self)
        chip.set_blindness(self._blindness)
        return self._ready(chip)

    def _ready(self, chip: Chip) -> Chip:
        chip.is_excerpted = self._is_excerpted
        chip.write()
        chip.close_button.clicked.connect(self._on_close)
        return chip

    def _show(self, chips: list[Chip]) -> None:
        for chip in self._chips:
            if chip not in chips:
                discard(chip)
        self._chips = list(chips)
        for before, after in pairwise([self, *self.close_buttons]):
            self.setTabOrder(before, after)
        self._arrange()
        self.changed.emit()

    @Slot()
    def _on_close(self) -> None:
        closed = next(chip for chip in self._chips if chip.close_button is self.sender())
        if closed.is_reading:
            self.cancelled.emit(closed.path)
        self._show([chip for chip in self._chips if chip is not closed])

    @Slot(str)
    def _on_picture_shown(self, digest: str) -> None:
        for chip in self._chips:
            if isinstance(chip, PictureChip) and chip.digest == digest:
                chip.draw()
        self._arrange()  # a chip that says its size takes more room

    @Slot(str)
    def _on_picture_missing(self, digest: str) -> None:
        lost = [chip for chip in self._chips if isinstance(chip, PictureChip) and chip.digest == digest]
        for chip in lost:
            chip.failure = self.tr("{file} is no longer there; attach it again.").format(file=chip.name)
            chip.write()
        if lost:
            self._show(self._chips)

    def _arrange(self) -> None:
        """Gives all chips the height of the highest."""
        widest = min(self._keeper.px(_WIDEST_PX), max(60, self.width()))
        line = max((chip.sizeHint().height() for chip in self._chips), default=0)
        x = y = height = 0
        for chip in self._chips:
            width = min(chip.sizeHint().width(), widest)
            if x and x + width > self.width():
                x, y = 0, y + line + _GAP_PX
            chip.setGeometry(x, y, width, line)
            chip.show()
            x += width + _GAP_PX
            height = y + line
        has_changed = height != self.height()
        self.setFixedHeight(height)
        self.setVisible(bool(self._chips))
        if has_changed:
            self.height_changed.emit()
