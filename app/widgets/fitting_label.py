"""A line of words that is never cut: where there is no room for all of it, less is said."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from app.text.unseen import one_line


class FittingLabel(QLabel):
    """Shows the first of several wordings that there is room for: it takes what others leave, and is never narrower
    than the last. A screen reader says the first."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, textFormat=Qt.TextFormat.PlainText)
        self._wordings: tuple[str, ...] = ("",)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    @property
    def words(self) -> str:
        """The longest wording."""
        return self._wordings[0]

    def set_words(self, *wordings: str) -> None:
        """Takes wordings from longest to shortest."""
        self._wordings = tuple(map(one_line, wordings))
        self.setAccessibleName(self.words)
        self._measure()

    def px(self, words: str) -> int:
        return self.fontMetrics().horizontalAdvance(words) + 2 if words else 0

    def sizeHint(self) -> QSize:
        return QSize(self.px(self.words), self.fontMetrics().height())

    def minimumSizeHint(self) -> QSize:
        return QSize(0, self.fontMetrics().height())  # whatever is shown at present

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._measure()

    def _measure(self) -> None:
        self.setMinimumWidth(self.px(self._wordings[-1]))  # a hint of it would be ignored, as that of the width is
        self._fit()

    def _fit(self) -> None:
        fitting = (words for words in self._wordings if self.px(words) <= self.width())
        self.setText(next(fitting, self._wordings[-1]))


def shorter(parts: Sequence[tuple[str, int]], between: str) -> tuple[str, ...]:
    """All parts in a row, then fewer and fewer: those with the highest rank leave first, those with rank 0 never."""
    ranks = sorted({rank for _, rank in parts if rank}, reverse=True)
    kept = [[words for words, rank in parts if rank <= most] for most in (*ranks, 0)]
    return tuple(between.join(words) for words in kept)
