"""What prompts and replies have in common on the screen."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QApplication, QLabel, QMenu, QWidget

from app.text.numbers import whole
from app.widgets.parts import discard, set_up
from app.widgets.prompt.prompt_editor import PromptRevision
from app.widgets.transcript.row_view import RowView
from app.widgets.words.joined_text import JoinedText
from app.widgets.words.prose import Prose

SPACE_ABOVE_PX = 14
PARAGRAPH_GAP_PX = 10
SPACE_BELOW_PX = 14
LEGEND_GAP_PX = 4


class MessageView(RowView):
    """A message that can be deleted: from the menu of its row, or with Del where the keyboard is in it."""

    delete_requested = Signal()  # as the words of the menu say

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._deletion = ""
        self.cut: QLabel | None = None  # says that not all of it is shown

    def show_cut(self, num_shown: int | None, num_characters: int) -> None:
        """Says how much of a long message is shown; None: only a part. A whole message needs no remark."""
        if num_shown is not None and num_shown >= num_characters:
            if self.cut is not None:
                discard(self.cut)
                self.cut = None
                self.height_changed.emit()
            return
        if num_shown is None:
            words = self.tr("Only the beginning is shown. To read the rest, copy the message or export the chat.")
        else:
            words = self.tr(
                "The first {shown} of {all} characters are shown. To read the rest, copy the message or export the "
                "chat."
            ).format(shown=whole(num_shown), all=whole(num_characters))
        if self.cut is None:
            self.cut = set_up(QLabel(self, textFormat=Qt.TextFormat.PlainText, wordWrap=True), kind="quiet")
            self.cut.show()
            self.height_changed.emit()
        self.cut.setText(words)

    def _place_cut(self, left: int, top: int, width: int) -> int:
        """Places the remark and returns its height."""
        if self.cut is None or self.cut.isHidden():
            return 0
        height = self.cut.heightForWidth(width)
        self.cut.setGeometry(left, top, width, height)
        return height + LEGEND_GAP_PX

    def set_deletion(self, words: str) -> None:
        """Sets the words for deleting it; empty: it cannot be deleted."""
        self._deletion = words

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        below = self.childAt(event.pos())
        text = below.parentWidget() if below is not None else None
        place = event.globalPos()
        menu = text.menu_at(text.mapFromGlobal(place)) if isinstance(text, Prose) else QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if self._deletion:
            menu.addSeparator()
            menu.addAction(self._deletion, QKeySequence(Qt.Key.Key_Delete)).triggered.connect(self.delete_requested)
        menu.popup(place)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        is_in_text = isinstance(QApplication.focusWidget(), JoinedText) or self.findChild(PromptRevision) is not None
        if event.key() == Qt.Key.Key_Delete and self._deletion and not is_in_text:  # there it means something else
            self.delete_requested.emit()
        else:
            super().keyPressEvent(event)


def beginning(text: str, num_characters: int, num_lines: int) -> str:
    """The first lines of a text, cut off at this many characters."""
    return "\n".join(text[:num_characters].split("\n", num_lines)[:num_lines])
