from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QFrame, QPushButton, QVBoxLayout, QWidget

from app.widgets.layouts import Stretch, in_row
from app.widgets.prompt_editor import PromptEditor

_MARGIN_PX = 12


class PromptRevision(QFrame):
    """A prompt that is being edited in its place: Enter sends it, Esc leaves it as it was.

    Signals:
        submitted(str): it is to be asked like this.
        cancelled(): nothing is to change.
        edited(): its text is another, and so may its height be.
    """

    submitted = Signal(str)
    cancelled = Signal()
    edited = Signal()

    def __init__(self, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("kind", "prompt")
        self.setProperty("active", "true")
        self.editor = PromptEditor(self)
        self.editor.setAccessibleName(self.tr("Your message, to be changed"))
        self.editor.setPlainText(text)
        self.editor.moveCursor(self.editor.textCursor().MoveOperation.End)
        self.editor.submit_requested.connect(self._submit)
        self.editor.stop_requested.connect(self.cancelled)
        self.editor.textChanged.connect(self._on_text_changed)
        self.cancel_button = self._button(self.tr("Cancel"), self.tr("Leave it as it was  (Esc)"), "outlined")
        self.cancel_button.clicked.connect(self.cancelled)
        self.send_button = self._button(
            self.tr("Send"), self.tr("Ask it like this; the old version stays beside it  (Enter)"), "primary"
        )
        self.send_button.clicked.connect(self._submit)
        buttons = in_row([Stretch(), self.cancel_button, self.send_button], spacing=8)
        self._column = column = QVBoxLayout(self)
        column.setContentsMargins(_MARGIN_PX + 2, _MARGIN_PX - 4, _MARGIN_PX, _MARGIN_PX - 2)
        column.setSpacing(6)
        column.addWidget(self.editor)
        column.addLayout(buttons)
        self.setFocusProxy(self.editor)

    @property
    def text(self) -> str:
        return self.editor.toPlainText()

    def arrange(self, width: int, highest: int) -> int:
        """Takes this width, and returns the height it needs: at most about `highest` pixels of text."""
        self.setFixedWidth(width)
        margins = self._column.contentsMargins()
        self.editor.setFixedWidth(width - margins.left() - margins.right())
        self.editor.fit(highest)
        height = self._column.sizeHint().height()
        self.setFixedHeight(height)
        return height

    def _button(self, words: str, about: str, kind: str) -> QPushButton:
        button = QPushButton(words, self)
        button.setProperty("kind", kind)
        button.setToolTip(about)
        button.setCursor(Qt.CursorShape.PointingHandCursor)
        return button

    @Slot()
    def _submit(self) -> None:
        text = self.text.strip()
        if text:
            self.submitted.emit(text)

    @Slot()
    def _on_text_changed(self) -> None:
        self.send_button.setEnabled(bool(self.text.strip()))
        self.edited.emit()
