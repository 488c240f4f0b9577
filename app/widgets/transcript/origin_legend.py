from __future__ import annotations

from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.text.amounts import percent_words
from app.text.origin_marks import label_of, proposers, shares_of
from app.theme import ThemeKeeper
from engine.values.origins import TARGET, Origin
from engine.values.replies import OriginRun

_SWATCH_PX = 11
_GAP_PX = 6
_BETWEEN_PX = 18
_PADDING_PX = 4


class OriginLegend(QWidget):
    """The line under a coloured reply: what each colour means, and how much of the text has it."""

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self._parts: list[tuple[Origin, str]] = []
        self._unknown = self.tr("Which parts of this reply were guessed is unknown.")
        self.setToolTip(
            self.tr(
                "Where the text first came from, as a share of its characters. The model checks every guess and "
                "keeps only what it would have written itself.\nDrafter: the small model that guesses ahead. Heads: "
                "small additions to the model that guess from what it computes. Earlier text: found in this chat or "
                "an earlier one. Model's hints: what the model would have written where a guess was wrong."
            )
        )
        self.set_origins(())
        keeper.changed.connect(self.update)

    @property
    def words(self) -> str:
        return ", ".join(words for _, words in self._parts) or self._unknown

    def set_origins(self, origins: tuple[OriginRun, ...]) -> None:
        shares = shares_of(origins)
        shown = (*(each for each in proposers(shares) if each.key in shares), TARGET) if shares else ()
        self._parts = [(origin, self._named(origin, shares.get(origin.key, 0.0))) for origin in shown]
        named = self.tr("Where the text came from: {shares}").format(shares=self.words)
        self.setAccessibleName(named if shares else self._unknown)
        self.update()

    def heightForWidth(self, width: int) -> int:
        places = self._places(width)
        return (places[-1][1] if places else _PADDING_PX) + self._line_px() + _PADDING_PX

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        theme = self._keeper.theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        metrics = self.fontMetrics()
        if not self._parts:
            painter.setPen(QColor(theme.faint))
            painter.drawText(0, _PADDING_PX + metrics.ascent(), self._unknown)
        for (origin, words), (x, y) in zip(self._parts, self._places(self.width()), strict=True):
            painter.setPen(QColor(theme.border_strong))
            painter.setBrush(QColor(theme.tint(origin)))
            top = y + (metrics.height() - _SWATCH_PX) / 2
            painter.drawRoundedRect(QRectF(x + 0.5, top, _SWATCH_PX, _SWATCH_PX), 3, 3)
            painter.setPen(QColor(theme.quiet))
            painter.drawText(x + _SWATCH_PX + _GAP_PX, y + metrics.ascent(), words)
        painter.end()

    def _places(self, width: int) -> list[tuple[int, int]]:
        """The left and top of each part, in lines of at most this width."""
        places: list[tuple[int, int]] = []
        x, y = 0, _PADDING_PX
        for _, words in self._parts:
            if x and x + self._part_px(words) > width:
                x, y = 0, y + self._line_px()
            places.append((x, y))
            x += self._part_px(words) + _BETWEEN_PX
        return places

    def _part_px(self, words: str) -> int:
        return _SWATCH_PX + _GAP_PX + self.fontMetrics().horizontalAdvance(words)

    def _line_px(self) -> int:
        return self.fontMetrics().height() + 2

    def _named(self, origin: Origin, share: float) -> str:
        percent = percent_words(share)
        if 0 < share < 0.005:
            percent = self.tr("under {share}").format(share=percent_words(0.01))
        return self.tr("{name} {share}").format(name=label_of(origin), share=percent)
