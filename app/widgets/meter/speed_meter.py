"""The line below the prompt box: what speed-up brings to the reply shown, a switch for it, and how full the context
is."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QSize, Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QLabel, QSizePolicy, QWidget

from app.text.amounts import percent_words
from app.text.speed import told_why
from app.text.unseen import in_tip, wrapped
from app.theme import ThemeKeeper
from app.widgets.appearance import restyle
from app.widgets.icon_button import IconButton
from app.widgets.layouts import Placed, Stretch, in_row
from app.widgets.meter import meter_text
from app.widgets.meter.meter_text import MeterFigures, Readiness
from app.widgets.meter.speed_details import SpeedDetails
from app.widgets.parts import ProgressLine, button, set_up
from app.widgets.switch import Switch
from app.widgets.throttle import Throttle
from engine.values.replies import OriginRun, ReplyStatistics
from engine.values.speed import LiveFigures

HIGH = 0.80  # of the context
FULL = 0.95
INTERVAL_MS = 100  # between two updates
_SPACING_PX = 8
_GAUGE_PX = 40
# From the fullest to the shortest: the wordings of the headline and of learning by their places, and the gauge.
_WAYS = ((0, 0, True), (0, 1, True), (0, 1, False), (-1, 1, False), (-1, 2, False))


class SpeedMeter(QFrame):
    """Says one thing of the reply shown, being written or finished, and in a new chat whether speed-up is ready; a
    click on it shows all else. Where there is little room, what matters less leaves or is said shorter; nothing is cut.

    Signals:
        switched(bool): the user wants speed-up on or off.
        learning_paused(bool): the user wants learning to rest, or to go on.
        history_requested(): show the figures of all replies.
    """

    switched = Signal(bool)
    learning_paused = Signal(bool)
    history_requested = Signal()

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self._figures: MeterFigures | None = None  # of the reply shown; None: there is none
        self._latest: tuple[LiveFigures, int, Sequence[OriginRun], str] | None = None
        self._readiness, self._sentence = Readiness.UNKNOWN, ""
        self._is_on = True
        self._wordings: tuple[str, ...] = ("",)  # of the headline
        self._facts: tuple[str, str, list[tuple[str, str]]] = ("", "", [])  # of the details
        self._learning = ("", "", "")
        self._has_learning = self._has_context = self._is_paused = False
        self._repaint = Throttle(self._show_latest, INTERVAL_MS, parent=self)
        self.switch = Switch(keeper, self.tr("Speed-up"), self)
        self.switch.clicked.connect(self.switched)
        self.headline = button("", "meter", self, self.show_details, has_hand=True)
        self.headline.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.details: SpeedDetails | None = None  # once it was asked for
        self.learning = set_up(QLabel(self, textFormat=Qt.TextFormat.PlainText), kind="faint")
        self.pause_button = IconButton(keeper, "pause", "", self._on_pause, icon_px=15, kind="footer", parent=self)
        self.gauge = ProgressLine(self.tr("Context in use"), self)
        self.gauge.setFixedWidth(_GAUGE_PX)
        gauge = Placed(self.gauge, alignment=Qt.AlignmentFlag.AlignVCenter)
        in_row(
            [self.switch, self.headline, Stretch(), self.learning, self.pause_button, gauge],
            inside=self,
            spacing=_SPACING_PX,
        )
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.set_speed_up(True)
        keeper.changed.connect(self._show)

    # Of the reply

    def show_live(self, figures: LiveFigures, context_size: int, origins: Sequence[OriginRun], host: str = "") -> None:
        """Of a reply that is being written, with the origins of all its text; may be called at any rate. `host`: of the
        server that writes it, if one does."""
        self._latest = figures, context_size, origins, host
        self._repaint.request()

    def show_reply(self, statistics: ReplyStatistics | None, host: str = "") -> None:
        """Of a reply that is finished; None: of which nothing is known, such as an imported one. `host`: as above."""
        self._end_live()
        self._figures = MeterFigures() if statistics is None else MeterFigures.of_reply(statistics, host)
        self._show()

    def begin_reply(self) -> None:
        """One is under way, of which nothing is known yet."""
        self._end_live()
        self._figures = None
        self._show()

    def clear(self) -> None:
        """No reply is shown, nor under way."""
        self._has_context = False
        self.begin_reply()

    def _end_live(self) -> None:
        self._repaint.cancel()
        self._latest = None

    def _show_latest(self) -> None:
        if self._latest is not None:
            self._figures = MeterFigures.of_live(*self._latest)
            self._show()

    # Of speed-up and learning

    def show_readiness(self, readiness: Readiness, sentence: str) -> None:
        """Whether replies can be sped up while it is on; `sentence`: who drafts, or why nobody does."""
        self._readiness, self._sentence = readiness, sentence
        self._show_switch()
        self._show()

    @Slot(bool)
    def set_speed_up(self, is_on: bool) -> None:
        self._is_on = is_on
        self.switch.setChecked(is_on)
        self._show_switch()
        self._show()

    @property
    def _is_elsewhere(self) -> bool:
        return self._readiness is Readiness.ELSEWHERE

    def _show_switch(self) -> None:
        """It does nothing for a model that runs on a server."""
        off, on = self.tr("Turn speed-up off"), self.tr("Turn speed-up on")
        none = self.tr("Speed-up works for models that run on this computer")
        self.switch.setEnabled(not self._is_elsewhere)
        self.switch.setToolTip(none if self._is_elsewhere else off if self._is_on else on)

    def show_learning(self, is_learning: bool, is_paused: bool, share: float, is_self_distilling: bool = False) -> None:
        """`share`: of the processor's time, the most that learning takes."""
        self._is_paused = is_paused
        paused, learning = self.tr("Learning paused"), self.tr("Learning…")
        announced = self.tr("Learning… (up to {share} of the processor)").format(share=percent_words(share))
        if is_self_distilling:
            learning, announced = self.tr("Practising…"), self.tr("Practising on earlier questions")
        self._learning = (paused, paused, "") if is_paused else (announced, learning, "")
        about = self.tr(
            "The drafter learns from your replies while no reply is being written. It uses up to {share} of the "
            "processor's time and stops as soon as you send a message."
        ).format(share=percent_words(share))
        if is_self_distilling:
            about = self.tr(
                "While you are idle, the model answers earlier questions of yours again, so that the drafter can "
                "learn from them. You never see these answers. It stops as soon as you send a message."
            )
        self.learning.setToolTip(about)
        self.pause_button.set_icon("resume" if is_paused else "pause")
        self.pause_button.set_name(
            self.tr("Resume learning")
            if is_paused
            else self.tr("Pause learning until you resume it or restart Slipstream")
        )
        self._has_learning = is_learning or is_paused or is_self_distilling
        self._fit()

    @Slot()
    def _on_pause(self) -> None:
        self.learning_paused.emit(not self._is_paused)

    # What is shown

    @Slot()
    def _show(self) -> None:
        figures = self._figures
        readiness = self._readiness if self._is_on or self._is_elsewhere else Readiness.OFF
        told, why = meter_text.headline(figures, readiness)
        self._wordings = (told_why(told, why), told) if why else (told,)
        restyle(self.headline, live=figures is not None and figures.is_live)
        note = meter_text.note(figures, readiness, self._sentence)
        rows = list(meter_text.rows(figures)) if figures is not None else []
        said = list(filter(None, [note, *(f"{name}: {value}" for name, value in rows)]))
        self.headline.setToolTip(wrapped(in_tip("\n".join((self._wordings[0], *said)))))
        self.headline.setAccessibleDescription(". ".join(said))
        self._facts = self._wordings[0], note, rows
        if self.details is not None:
            self.details.show_facts(*self._facts)
        if figures is not None:
            self._show_context(figures.context_used, figures.context_size)
        self._fit()

    def _show_context(self, used: int, size: int) -> None:
        share = used / size if size else 0.0
        self.gauge.show_share(share)
        restyle(self.gauge, level="full" if share >= FULL else "high" if share >= HIGH else "calm")
        about = self.tr(
            "This chat takes {amount} of what the model can see at once. When that is full, the oldest messages are "
            "left out."
        )
        self.gauge.setToolTip(about.format(amount=meter_text.context_words(used, size)))
        self._has_context = size > 0

    @Slot()
    def show_details(self) -> None:
        if self.details is None:
            self.details = SpeedDetails(self)
            self.details.more_button.clicked.connect(self.history_requested)
        self.details.show_facts(*self._facts)
        self.details.open_above(self.headline)

    # Arrangement

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._fit()

    def _fit(self) -> None:
        """The most that there is room for. What matters least leaves first."""
        for said, learned, has_gauge in _WAYS:
            told, learning = self._wordings[said], self._learning[learned]
            if self._px(told, learning, has_gauge) <= self.width():
                break
        self.headline.setText(told)
        self.headline.setVisible(bool(told))
        self.learning.setText(learning)
        self.learning.setVisible(self._has_learning and bool(learning))
        self.pause_button.setVisible(self._has_learning)
        self.gauge.setVisible(has_gauge and self._has_context)

    def _px(self, told: str, learning: str, has_gauge: bool) -> int:
        metrics, hint = self.fontMetrics().horizontalAdvance, self.headline.sizeHint().width()
        around = hint - metrics(self.headline.text())
        widths = [self.switch.sizeHint().width(), metrics(told) + around]
        if self._has_learning:
            widths += [metrics(learning), self.pause_button.sizeHint().width()]
        if has_gauge and self._has_context:
            widths.append(_GAUGE_PX)
        return sum(widths) + _SPACING_PX * (len(widths) + 1)
