"""The attachments of the prompt that is being written."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import ceil

from PySide6.QtCore import QSize, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QLabel, QSizePolicy, QWidget

from app.text.translation import translate
from app.text.unseen import in_tip
from app.theme import ThemeKeeper
from app.widgets.appearance import restyle
from app.widgets.icon_button import IconButton
from app.widgets.layouts import Placed, in_row
from app.widgets.parts import ElidedLabel, discard, set_up
from engine.messages.passages import num_pages
from engine.messages.prompts import Attachment

_GAP_PX = 6
_WIDEST_PX = 420


class AttachmentChips(QWidget):
    """One chip for each file, in as many lines as they need; hidden where there is none. A file is known by its path
    until it is read.

    Signals:
        changed(): a file was added or removed, or could not be read.
        cancelled(str): a file is not wanted any more while it is being read; its path.
    """

    changed = Signal()
    cancelled = Signal(str)

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self._chips: list[_Chip] = []
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.hide()

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        return tuple(chip.attachment for chip in self._chips if chip.attachment is not None)

    @property
    def close_buttons(self) -> tuple[IconButton, ...]:
        return tuple(chip.close_button for chip in self._chips)

    @property
    def words(self) -> tuple[str, ...]:
        """What each chip says, for a screen reader."""
        return tuple(chip.accessibleName() for chip in self._chips)

    @property
    def is_reading(self) -> bool:
        return any(chip.is_reading for chip in self._chips)

    @property
    def failures(self) -> tuple[str, ...]:
        """Why files could not be read."""
        return tuple(chip.failure for chip in self._chips if chip.failure)

    @property
    def room_taken(self) -> int:
        """Files that are read, or about to be."""
        return sum(not chip.failure for chip in self._chips)

    @property
    def num_tokens(self) -> int:
        """Of all that are counted."""
        return sum(chip.num_tokens for chip in self._chips)

    def set_attachments(self, attachments: Sequence[Attachment]) -> None:
        """In place of all others."""
        for chip in self._chips:
            if chip.is_reading:
                self.cancelled.emit(chip.path)
        self._show([self._chip(attachment.name, attachment=attachment) for attachment in attachments])

    def add(self, attachment: Attachment) -> None:
        """In place of one with the same name and text."""
        kept = [chip for chip in self._chips if chip.attachment != attachment]
        self._show([*kept, self._chip(attachment.name, attachment=attachment)])

    def begin(self, path: str, name: str) -> None:
        """This file is being read, in place of an attempt that failed."""
        kept = [chip for chip in self._chips if not (chip.failure and chip.path == path)]
        self._show([*kept, self._chip(name, path)])

    def is_awaited(self, path: str) -> bool:
        return any(chip.is_reading and chip.path == path for chip in self._chips)

    def finish(self, path: str, attachment: Attachment) -> None:
        """The file was read; nothing happens if it is not wanted any more."""
        if not self.is_awaited(path):
            return
        ahead = [chip for chip in self._chips if chip.attachment != attachment]
        place = next(place for place, chip in enumerate(ahead) if chip.is_reading and chip.path == path)
        ahead[place] = self._chip(attachment.name, attachment=attachment)
        self._show(ahead)

    def fail(self, path: str, sentence: str) -> None:
        for chip in self._chips:
            if chip.is_reading and chip.path == path:
                chip.failure = sentence
                chip.write()
        self._show(self._chips)

    def take_uncounted(self) -> tuple[Attachment, ...]:
        """Those whose tokens nobody was asked to count yet."""
        chips = [chip for chip in self._chips if chip.attachment is not None and not chip.is_asked]
        for chip in chips:
            chip.is_asked = True
        return tuple(chip.attachment for chip in chips if chip.attachment is not None)

    def forget_tokens(self) -> None:
        """Another target reads them in other tokens."""
        for chip in self._chips:
            chip.is_asked, chip.num_tokens = False, 0
            chip.write()

    def show_tokens(self, block: str, num_tokens: int, most: int, is_about: bool) -> None:
        """The number of tokens of a file as the target reads it, of `most` that fit."""
        for chip in self._chips:
            if chip.attachment is not None and chip.attachment.block == block:
                chip.num_tokens, chip.is_about, chip.most = num_tokens, is_about, most
                chip.write()
        self._arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._arrange()

    def _chip(self, name: str, path: str = "", attachment: Attachment | None = None) -> _Chip:
        chip = _Chip(self._keeper, name, path, attachment, self)
        chip.close_button.clicked.connect(self._on_close)
        return chip

    def _show(self, chips: list[_Chip]) -> None:
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

    def _arrange(self) -> None:
        x = y = height = 0
        for chip in self._chips:
            size = chip.sizeHint().boundedTo(QSize(min(self._keeper.px(_WIDEST_PX), max(60, self.width())), 100))
            if x and x + size.width() > self.width():
                x, y = 0, y + size.height() + _GAP_PX
            chip.setGeometry(x, y, size.width(), size.height())
            chip.show()
            x += size.width() + _GAP_PX
            height = y + size.height()
        self.setFixedHeight(height)
        self.setVisible(bool(self._chips))


class _Chip(QFrame):
    """Of a file that is being read, was read, or could not be read."""

    def __init__(
        self, keeper: ThemeKeeper, name: str, path: str, attachment: Attachment | None, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self.path = path
        self.attachment = attachment
        self.failure = ""
        self.num_tokens = 0  # 0: not counted
        self.is_about = self.is_asked = False
        self.most = 0
        self._name = name
        self.setProperty("kind", "chip")
        label = ElidedLabel(self)
        label.set_words(name)
        self._size = set_up(QLabel(self), kind="count")
        remove = self.tr("Remove {file}").format(file=name)
        self.close_button = IconButton(keeper, "close", remove, icon_px=13, parent=self)
        in_row([Placed(label, 1), self._size, self.close_button], inside=self, margins=(10, 2, 3, 2), spacing=7)
        self.write()

    @property
    def is_reading(self) -> bool:
        return self.attachment is None and not self.failure

    def write(self) -> None:
        words = self._words()
        self._size.setText(words)
        self.setAccessibleName(f"{self._name}, {words}")
        self.setAccessibleDescription(self.failure)
        self.setToolTip(in_tip(self.failure or self._name))
        restyle(self._size, level="error" if self.failure or self.num_tokens > self.most else "")
        if self.is_reading:
            self.close_button.set_name(self.tr("Stop reading {file}").format(file=self._name))

    def _words(self) -> str:
        if self.failure:
            return self.tr("not attached")
        if self.attachment is None:
            return self.tr("reading…")
        words = words_of_pages(self.attachment.text)
        if self.num_tokens:
            number = _rounded(self.num_tokens) if self.is_about else self.num_tokens
            tokens = self.tr("{number} token(s)", "", number).format(number=f"{number:,}")
            words.append(self.tr("about {tokens}").format(tokens=tokens) if self.is_about else tokens)
        else:
            words.append(words_of_size(self.attachment.num_bytes))
        return " · ".join(words)


def _rounded(number: int) -> int:
    """To two figures, upwards."""
    step = int(10 ** max(0, len(str(number)) - 2))
    return ceil(number / step) * step


def words_of_pages(text: str) -> list[str]:
    """Empty for a text without pages."""
    number = num_pages(text)
    return [translate("Amounts", "{number} page(s)", "", number).format(number=f"{number:,}")] if number else []


def words_of_size(num_bytes: int) -> str:
    if num_bytes < 1_000:
        return translate("Amounts", "{number} B").format(number=num_bytes)
    if num_bytes < 999_950:
        return translate("Amounts", "{number} kB").format(number=f"{num_bytes / 1e3:.1f}")
    return translate("Amounts", "{number} MB").format(number=f"{num_bytes / 1e6:.1f}")
