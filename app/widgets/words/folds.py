"""What folds in a reply: a line that unfolds, and plain text below it."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from app.theme import ThemeKeeper
from app.widgets.icon_button import IconButton
from app.widgets.parts import discard, set_up
from app.widgets.words.joined_text import JoinedSelection
from app.widgets.words.prose import Prose

GAP_PX = 2
BELOW_PX = 8
_CHUNK = 2_000  # characters of a text widget: only the last one is written again while the text grows


class FoldButton(IconButton):
    """One line that says what is below it, and shows or hides that."""

    def __init__(self, keeper: ThemeKeeper, on_click: Callable[[], object], parent: QWidget) -> None:
        super().__init__(keeper, "later", "", on_click, words=" ", icon_px=14, kind="footer", parent=parent)
        self.setCheckable(True)
        self._words = ""

    def set_open(self, is_open: bool) -> None:
        self.setChecked(is_open)
        self.set_icon("chevron" if is_open else "later")

    def set_words(self, words: str) -> None:
        if words != self._words:
            self._words = words
            self.setText(_shown(words))
            self.resize(self.sizeHint())

    def arrange(self, width: int) -> int:
        self.setText(_shown(self._words))
        size = self.sizeHint()
        if size.width() > width:
            room = width - (size.width() - self.fontMetrics().horizontalAdvance(self._words))
            self.setText(_shown(self.fontMetrics().elidedText(self._words, Qt.TextElideMode.ElideRight, room)))
        self.setGeometry(-5, 0, min(width, size.width()), size.height())  # its icon stands above the text
        return size.height()


def _shown(words: str) -> str:
    """The words without shortcuts."""
    return words.replace("&", "&&")


class PlainText:
    """A long plain text in several widgets of one parent."""

    def __init__(self, keeper: ThemeKeeper, name: str, selection: JoinedSelection) -> None:
        """`name` is for screen readers."""
        self.texts: list[Prose] = []
        self._keeper = keeper
        self._name = name
        self._selection = selection
        self._chunks: list[str] = []

    def write(self, parent: QWidget, text: str, note: str = "") -> None:
        """Writes paragraphs as children of this parent; `note` is the last one."""
        chunks = [*(_chunks_of(text) if text else []), *filter(None, [note])]
        for place, chunk in enumerate(chunks):
            if place == len(self.texts):
                self.texts.append(set_up(Prose(self._keeper, parent), name=self._name))
                self.texts[-1].joined = self._selection
                self.texts[-1].show()
            elif self._chunks[place] == chunk:
                continue
            self.texts[place].set_html(
                f'<blockquote><div style="white-space:pre-wrap">{escape(chunk)}</div></blockquote>'
            )
        for gone in self.texts[len(chunks) :]:
            discard(gone)
        del self.texts[len(chunks) :]
        self._chunks = chunks

    def arrange(self, y: int, width: int) -> int:
        """Places the texts from `y` on and returns where they end."""
        for text in self.texts:
            height = text.arrange(width)
            text.move(0, y)
            y += height
        return y


def _chunks_of(text: str) -> list[str]:
    """Cuts a text into chunks, at line ends if possible."""
    chunks, begin = [], 0
    while len(text) - begin > _CHUNK:
        end = text.find("\n", begin + _CHUNK // 2, begin + _CHUNK)
        chunks.append(text[begin : end if end >= 0 else begin + _CHUNK])
        begin = end + 1 if end >= 0 else begin + _CHUNK
    return [*chunks, text[begin:]]
