"""Files dropped on the window or opened with the app: their kinds, and the place where dragged ones will land."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from PySide6.QtCore import QMimeData, QPoint, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from app.theme import ThemeKeeper

PROFILE_SUFFIX = ".slipstream"
_KINDS = {".gguf": "model", PROFILE_SUFFIX: "profile", ".json": "chats", ".jsonl": "chats", ".zip": "chats"}


@dataclass(frozen=True, slots=True)
class DroppedFiles:
    """The paths of each kind; at most one kind is there."""

    model: str = ""
    profile: str = ""
    chats: str = ""  # a file to import
    texts: tuple[str, ...] = ()  # files to attach

    @classmethod
    def of(cls, data: QMimeData) -> DroppedFiles | None:
        """None for refused data."""
        return cls.of_paths([url.toLocalFile() for url in data.urls()])

    @classmethod
    def of_paths(cls, named: Sequence[str]) -> DroppedFiles | None:
        """Sorts local files by kind. None for refused ones: a model or a profile together with other files."""
        if not named or not all(named):
            return None
        kinds = {_KINDS.get(PurePath(path).suffix.lower(), "texts") for path in named}
        if len(named) == 1 and kinds != {"texts"}:
            only: dict[str, Any] = dict.fromkeys(kinds, named[0])
            return cls(**only)
        return None if kinds & {"model", "profile"} else cls(texts=tuple(named))


_RADIUS_PX = 14
_LINE_PX = 2


class Landing(QWidget):
    """Covers a part of the window with a tint, a frame and a few words. Hidden where nothing is dragged."""

    def __init__(self, keeper: ThemeKeeper, window: QWidget) -> None:
        super().__init__(window)
        self._keeper = keeper
        self._window = window
        self.words = ""
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)  # the window takes what is dropped
        self.hide()

    def show_over(self, part: QWidget, words: str) -> None:
        self.words = words
        self.setAccessibleName(words)
        self.setGeometry(part.rect().translated(part.mapTo(self._window, QPoint(0, 0))))
        self.raise_()
        self.show()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        theme = self._keeper.theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        back = QColor(theme.selected)
        back.setAlphaF(0.94)  # what is below shows through a little, and does not disturb the words
        painter.setBrush(back)
        painter.setPen(QPen(QColor(theme.accent), _LINE_PX))
        inner = QRectF(self.rect()).adjusted(_LINE_PX, _LINE_PX, -_LINE_PX, -_LINE_PX)
        painter.drawRoundedRect(inner, _RADIUS_PX, _RADIUS_PX)
        painter.setPen(QColor(theme.text))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, self.words)
        painter.end()
