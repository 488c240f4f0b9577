"""The attachments of the prompt that is being written."""

from __future__ import annotations

from PySide6.QtCore import QSize, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QLabel, QSizePolicy, QWidget

from app.text.translation import translate
from app.text.unseen import in_tip
from app.theme import ThemeKeeper
from app.widgets.icon_button import IconButton
from app.widgets.layouts import Placed, in_row
from app.widgets.parts import ElidedLabel, discard, set_up
from engine.messages.prompts import Attachment

_GAP_PX = 6
_WIDEST_PX = 280


class AttachmentChips(QWidget):
    """One chip for each file, in as many lines as they need; hidden where there is none.

    Signals:
        changed(): a file was added or removed.
    """

    changed = Signal()

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self._chips: list[_Chip] = []
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.hide()

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        return tuple(chip.attachment for chip in self._chips)

    @property
    def close_buttons(self) -> tuple[IconButton, ...]:
        return tuple(chip.close_button for chip in self._chips)

    def set_attachments(self, attachments: tuple[Attachment, ...]) -> None:
        for chip in self._chips:
            discard(chip)
        self._chips = [self._chip(attachment) for attachment in attachments]
        self._arrange()
        self.changed.emit()

    def add(self, attachment: Attachment) -> None:
        """In place of one with the same name and text."""
        self.set_attachments((*(each for each in self.attachments if each != attachment), attachment))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._arrange()

    def _chip(self, attachment: Attachment) -> _Chip:
        chip = _Chip(self._keeper, attachment, self)
        chip.close_button.clicked.connect(self._on_close)
        return chip

    @Slot()
    def _on_close(self) -> None:
        closed = self.sender()
        self.set_attachments(tuple(chip.attachment for chip in self._chips if chip.close_button is not closed))

    def _arrange(self) -> None:
        x = y = height = 0
        for chip in self._chips:
            size = chip.sizeHint().boundedTo(QSize(min(_WIDEST_PX, max(60, self.width())), 100))
            if x and x + size.width() > self.width():
                x, y = 0, y + size.height() + _GAP_PX
            chip.setGeometry(x, y, size.width(), size.height())
            chip.show()
            x += size.width() + _GAP_PX
            height = y + size.height()
        self.setFixedHeight(height)
        self.setVisible(bool(self._chips))


class _Chip(QFrame):
    def __init__(self, keeper: ThemeKeeper, attachment: Attachment, parent: QWidget) -> None:
        super().__init__(parent)
        self.attachment = attachment
        self.setProperty("kind", "chip")
        self.setToolTip(in_tip(attachment.name))
        name = ElidedLabel(self)
        name.set_words(attachment.name)
        size = set_up(QLabel(words_of_size(attachment.num_bytes), self), kind="quiet")
        remove = self.tr("Remove {file}").format(file=attachment.name)
        self.close_button = IconButton(keeper, "close", remove, icon_px=13, parent=self)
        in_row([Placed(name, 1), size, self.close_button], inside=self, margins=(10, 2, 3, 2), spacing=7)


def words_of_size(num_bytes: int) -> str:
    if num_bytes < 1_000:
        return translate("Amounts", "{number} B").format(number=num_bytes)
    if num_bytes < 999_950:
        return translate("Amounts", "{number} kB").format(number=f"{num_bytes / 1e3:.1f}")
    return translate("Amounts", "{number} MB").format(number=f"{num_bytes / 1e6:.1f}")
