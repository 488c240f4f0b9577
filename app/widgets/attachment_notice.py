"""What is said of attachments below their chips: why one could not be read, or that they do not fit."""

from __future__ import annotations

from PySide6.QtWidgets import QCheckBox, QWidget

from app.text.numbers import whole
from app.widgets.layouts import in_column
from app.widgets.parts import Sentences, set_up


class AttachmentNotice(QWidget):
    """Sentences, and where the attachments do not fit, a box to send passages of them instead. Hidden while there is
    nothing to say."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.failures = set_up(Sentences("", self), kind="problem")
        self.words = set_up(Sentences("", self), kind="quiet")
        about = self.tr(
            "Sends the passages of the files that share most words with your message, as many as fit, each with its "
            "page. The rest is not sent."
        )
        words = self.tr("Send only the passages closest to my question")
        self.box = set_up(QCheckBox(words, self), tip=about, about=about)
        in_column([self.failures, self.words, self.box], inside=self, margins=(4, 0, 4, 0), spacing=2)
        self._has_offer = False
        self._show_parts()

    @property
    def offers_passages(self) -> bool:
        return self._has_offer

    @property
    def sends_passages(self) -> bool:
        return self._has_offer and self.box.isChecked()

    def set_failures(self, sentences: tuple[str, ...]) -> None:
        self.failures.setText(" ".join(sentences))
        self._show_parts()

    def set_tokens(self, num_tokens: int, most: int, context_size: int) -> None:
        """Of all attachments, of `most` that leave room for a reply. Where they do there is no offer."""
        self._has_offer = num_tokens > most > 0
        if self._has_offer:
            words = self.tr(
                "There is no room for a reply: the model reads at most {number} token(s) at once.", "", context_size
            )
            self.words.setText(words.format(number=whole(context_size)))
        else:
            self.box.setChecked(False)
        self._show_parts()

    def _show_parts(self) -> None:
        self.failures.setVisible(bool(self.failures.text()))
        self.words.setVisible(self._has_offer)
        self.box.setVisible(self._has_offer)
        self.setVisible(self._has_offer or bool(self.failures.text()))
