"""The line below the prompt box: how fast the reply is written, what drafts gain, and how full the context is."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QFont, QKeyEvent, QMouseEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QLabel, QSizePolicy, QWidget

from app.text.amounts import percent_words
from app.theme import ThemeKeeper
from app.widgets import meter_text
from app.widgets.appearance import repolish, restyle
from app.widgets.layouts import Placed, Stretch, in_row
from app.widgets.meter_text import MeterFigures
from app.widgets.parts import ElidedLabel, ProgressLine, set_up
from app.widgets.sparkline import Sparkline
from app.widgets.throttle import Throttle
from engine.messages.replies import ReplyStatistics
from engine.messages.speed import LiveFigures

HIGH = 0.80  # of the context
FULL = 0.95
INTERVAL_MS = 100  # between two updates
_SPACING_PX = 14
_MARGIN_PX = 6
_FEWEST_WORDS_PX = 120  # of the sentence; in less room it is hidden


class SpeedMeter(QFrame):
    """Shows a reply that is being written or, dimmed, the last one of the chat. Where there is little room, parts leave
    one after the other, speed and ratio never.

    Signals:
        history_requested(): show how the speed developed: a click, or Enter while it has the focus.
    """

    history_requested = Signal()

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("kind", "meter")
        self.setProperty("live", False)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAccessibleName(self.tr("Speed"))
        self._latest: LiveFigures | None = None
        self._context_size = 0
        self._repaint = Throttle(self._show_latest, INTERVAL_MS, parent=self)
        speed, ratio, rounds, accepted = meter_text.widest()
        self.speed = _Figure(speed, self)
        self.ratio = set_up(_Figure(ratio, self, Qt.AlignmentFlag.AlignLeft), kind="figure")
        self.sparkline = set_up(
            Sparkline(keeper, self),
            name=self.tr("Speed of the reply as it changes"),
            tip=self.tr(
                "The speed of this reply from its beginning to now; the dotted line is the speed without guesses."
            ),
        )
        self.rounds = _Figure(rounds, self)
        self.accepted = _Figure(accepted, self)
        self._figures = (self.speed, self.ratio, self.rounds, self.accepted)
        self.words = ElidedLabel(self)
        self.gauge = ProgressLine(self.tr("Context used"), self)
        self.gauge.setFixedWidth(40)
        self.context = _Figure("", self)
        self._has_context = False
        self._has_ratio = False  # of the reply under way
        gauge = Placed(self.gauge, alignment=Qt.AlignmentFlag.AlignVCenter)
        speed_parts = (self.speed, self.ratio, self.sparkline, self.rounds, self.accepted)
        in_row(
            [*speed_parts, Placed(self.words, 1), Stretch(0), gauge, self.context],
            inside=self,
            margins=(_MARGIN_PX, 1, _MARGIN_PX, 1),
            spacing=_SPACING_PX,
        )
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.clear()

    def show_live(self, figures: LiveFigures, context_size: int) -> None:
        """Of a reply that is being written; may be called at any rate."""
        self._latest = figures
        self._context_size = context_size
        self._repaint.request()

    def show_reply(self, statistics: ReplyStatistics) -> None:
        """Of a reply that is finished. Its sparkline stays, if it was shown while the reply was written."""
        self.rest()
        figures = MeterFigures.of_reply(statistics)
        self._show(figures, meter_text.about_stored_speed(figures))
        self.set_context(statistics.context_used, statistics.context_size)
        self._fit()

    def rest(self) -> None:
        """No reply is under way any more."""
        self._repaint.cancel()
        self._latest = None
        self._set_live(False)

    def set_words(self, words: str) -> None:
        """What drafts ahead of the model, or why nothing does; may be empty."""
        self.words.set_words(words)
        self.words.setToolTip(words)
        self._fit()

    def set_context(self, used: int, size: int) -> None:
        """`used` of `size` tokens are held by the target."""
        share = used / size if size else 0.0
        self.gauge.show_share(share)
        is_other_size = self.context.set_widest(f"{size:,} / {size:,}" if size else "")
        self.context.set_words(f"{used:,} / {size:,}" if size else "")
        restyle(self.gauge, level="full" if share >= FULL else "high" if share >= HIGH else "calm")
        words = self.tr(
            "The chat takes {used} of the {size} tokens ({share}) that the model can see at once.\n"
            "Counted by the model's own tokens; when it is full, the oldest messages are left out."
        ).format(used=f"{used:,}", size=f"{size:,}", share=percent_words(share))
        self.gauge.setToolTip(words)
        self.context.setToolTip(words)
        self._has_context = size > 0
        if is_other_size:
            self._fit()

    def clear(self) -> None:
        """No figures; the sentence stays."""
        self.rest()
        self.sparkline.clear()
        for part in self._figures:
            part.set_words("")
        self.setAccessibleDescription("")
        self.set_context(0, 0)
        self._fit()

    def _show_latest(self) -> None:
        latest = self._latest
        if latest is None or latest.num_tokens < 2:  # one token has no speed yet
            return
        if not self.property("live"):
            self.sparkline.clear()
            self._set_live(True)
            self._has_ratio = False
        figures = MeterFigures.of_live(latest, self._has_ratio)
        self._has_ratio = figures.speedup is not None
        self._show(figures, meter_text.about_speed(figures))
        self.sparkline.add(latest.tokens_per_s, latest.plain_tokens_per_s)
        self.set_context(latest.context_used, self._context_size)

    def _show(self, figures: MeterFigures, about_speed: str) -> None:
        had_figures = bool(self.speed.text())
        self.speed.set_words(meter_text.speed(figures), about_speed)
        self.ratio.set_words(meter_text.ratio(figures), meter_text.about_ratio(figures))
        self.rounds.set_words(meter_text.rounds(figures), meter_text.about_rounds(figures))
        self.accepted.set_words(meter_text.accepted(figures), meter_text.about_accepted(figures))
        self.setAccessibleDescription(meter_text.spoken(figures))
        if not had_figures:
            self._fit()

    def _set_live(self, live: bool) -> None:
        if live != self.property("live"):
            self.setProperty("live", live)
            self.sparkline.set_live(live)
            for part in (self, *self._figures, self.words, self.context):
                repolish(part)
            for figure in (*self._figures, self.context):
                figure.set_steady(live)
            self._fit()

    # Arrangement

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._fit()

    def _fit(self) -> None:
        """Shows as many parts as there is room for; the least important are hidden first."""
        figures, context = bool(self.speed.text()), self._has_context
        room = self.width() - 2 * _MARGIN_PX
        has_line = figures and (self.property("live") or len(self.sparkline.points) > 1)
        words_px = min(self.words.sizeHint().width(), _FEWEST_WORDS_PX) if self.words.words else 0
        wanted = (
            (self.speed, figures, self.speed.width()),
            (self.ratio, figures, self.ratio.width()),
            (self.gauge, context, self.gauge.width()),
            (self.words, words_px > 0, words_px),
            (self.sparkline, has_line, self.sparkline.width()),
            (self.rounds, figures, self.rounds.width()),
            (self.context, context, self.context.width()),
            (self.accepted, figures, self.accepted.width()),
        )
        full = False
        for part, is_there, width in wanted:
            if is_there and part not in (self.speed, self.ratio):
                full = full or width + _SPACING_PX > room
            shown = is_there and not full
            part.setVisible(shown)
            room -= (width + _SPACING_PX) if shown else 0

    # Clicks and keys

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self.rect().contains(event.position().toPoint()):
            self.history_requested.emit()
        super().mouseReleaseEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        event.accept()  # else the release does not come here

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.history_requested.emit()
        else:
            super().keyPressEvent(event)


class _Figure(QLabel):
    """Short words. While they change often, the label is as wide as the widest of them, else as wide as they are."""

    def __init__(self, widest: str, parent: QWidget, side: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignRight) -> None:
        alignment = side | Qt.AlignmentFlag.AlignVCenter
        super().__init__(parent, textFormat=Qt.TextFormat.PlainText, alignment=alignment)
        self._widest = widest
        self._steady = False
        font = QFont(self.font())
        font.setFeature(QFont.Tag("tnum"), 1)  # digits of one width
        self.setFont(font)
        self._fix_width()

    def set_widest(self, widest: str) -> bool:
        """Whether that changes anything."""
        if widest == self._widest:
            return False
        self._widest = widest
        self._fix_width()
        return True

    def set_steady(self, steady: bool) -> None:
        self._steady = steady
        self._fix_width()

    def set_words(self, words: str, about: str = "") -> None:
        if words != self.text():
            self.setText(words)
            self._fix_width()
        self.setToolTip(about)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fix_width()

    def _fix_width(self) -> None:
        words = self._widest if self._steady else self.text()
        self.setFixedWidth(self.fontMetrics().horizontalAdvance(words) + 2)
