"""The line below the prompt box: what speed-up brings to the reply shown, a switch for it, and how full the context
is."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPoint, QSize, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QApplication, QFormLayout, QFrame, QLabel, QSizePolicy, QWidget

from app.text.amounts import percent_words
from app.text.speed import told_why
from app.text.unseen import in_tip, wrapped
from app.theme import ThemeKeeper
from app.widgets.appearance import restyle
from app.widgets.icon_button import IconButton
from app.widgets.layouts import Placed, Stretch, in_column, in_row
from app.widgets.meter import meter_text
from app.widgets.meter.meter_text import MeterFigures, Readiness
from app.widgets.parts import ENTER_KEYS, ProgressLine, Sentences, button, line, set_up, show_text
from app.widgets.switch import Switch
from app.widgets.throttle import Throttle
from engine.values.replies import OriginRun, ReplyStatistics
from engine.values.speed import LiveFigures

_MARGIN_PX = 14
_MOST_CHARACTERS = 60  # of a line
_ABOVE_PX = 6  # between it and the widget that opens it
_KEPT = (Qt.Key.Key_Tab, Qt.Key.Key_Backtab, *ENTER_KEYS, Qt.Key.Key_Space)


class SpeedDetails(QFrame):
    """A sentence, a table, and a button that leads to the figures of all replies. Whatever is typed closes it, and goes
    where the keyboard was before."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self._window = parent.window()
        self.setProperty("kind", "popup")
        self.setAttribute(Qt.WidgetAttribute.WA_NoMouseReplay)  # a click on what opened it closes it
        self.setAccessibleName(self.tr("Speed of this reply"))
        self.title = set_up(Sentences("", self), kind="title")
        self.note = Sentences("", self)
        self.table = QFormLayout(
            horizontalSpacing=_MARGIN_PX,
            verticalSpacing=4,
            labelAlignment=Qt.AlignmentFlag.AlignLeft,
            fieldGrowthPolicy=QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow,
        )
        self.rows: list[tuple[Sentences, Sentences]] = []  # names and values; those that were not needed are hidden
        self.more_button = button(self.tr("Speed of all replies…"), "link", self, self.close)
        more = Placed(self.more_button, alignment=Qt.AlignmentFlag.AlignLeft)
        in_column(
            [self.title, self.note, self.table, line(self), more],
            inside=self,
            margins=(_MARGIN_PX, 10, _MARGIN_PX, 8),
            spacing=6,
        )

    def show_facts(self, title: str, note: str, rows: Sequence[tuple[str, str]]) -> None:
        """`rows`: names and values."""
        self.title.setText(title)
        show_text(self.note, note)
        while len(self.rows) < len(rows):
            name, value = set_up(Sentences("", self), kind="quiet"), Sentences("", self)
            name.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)  # level with the first line
            self.rows.append((name, value))
            self.table.addRow(*self.rows[-1])
        for number, labels in enumerate(self.rows):
            self.table.setRowVisible(number, number < len(rows))
            for label, said in zip(labels, rows[number] if number < len(rows) else ("", ""), strict=True):
                label.setText(said)
        self._fit()

    def _fit(self) -> None:
        """Sets the width of the longest line, limited by readability and the window."""
        labels = (self.title, self.note, *(label for row in self.rows for label in row))
        for label in labels:
            label.ensurePolished()  # else its font may be another one
            label.setWordWrap(False)
        most = min(_MOST_CHARACTERS * self.fontMetrics().averageCharWidth(), self._window.width() - 4 * _MARGIN_PX)
        inside = self.layout()
        assert inside is not None
        width = min(inside.sizeHint().width(), most)
        for label in (self.title, self.note, *(value for _, value in self.rows)):
            label.setWordWrap(True)
        self.table.invalidate()  # it does not hear that lines may break
        self.setFixedSize(width, inside.totalHeightForWidth(width))

    def open_above(self, widget: QWidget) -> None:
        """Opens above the widget, left-aligned, within its window."""
        place = widget.mapToGlobal(QPoint(0, -self.height() - _ABOVE_PX))
        window = widget.window()
        last = window.mapToGlobal(QPoint(window.width(), 0)).x() - self.width() - _ABOVE_PX
        self.move(min(place.x(), last), max(place.y(), window.mapToGlobal(QPoint(0, 0)).y()))
        self.show()
        self.more_button.setFocus(Qt.FocusReason.PopupFocusReason)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in _KEPT:
            super().keyPressEvent(event)
            return
        self.close()
        before = self._window.focusWidget()
        if event.text() and event.key() != Qt.Key.Key_Escape and before is not None:
            QApplication.sendEvent(before, event)


HIGH = 0.80  # of the context
FULL = 0.95
INTERVAL_MS = 100  # between two updates
_SPACING_PX = 8
_GAUGE_PX = 40
# From the fullest to the shortest: the wordings of the headline and of learning by their places, and the gauge.
_WAYS = ((0, 0, True), (0, 1, True), (0, 1, False), (-1, 1, False), (-1, 2, False))


class SpeedMeter(QFrame):
    """Says one thing of the reply shown, being written or finished, and in a new chat whether speed-up is ready; a
    click on it shows all else. Where there is little room, what matters less leaves or is said shorter; nothing is
    cut."""

    switched = Signal(bool)  # the user wants speed-up on or off
    learning_paused = Signal(bool)  # the user wants learning to rest, or to go on
    history_requested = Signal()  # show the figures of all replies

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
        """Shows a growing reply with the origins of all its text; may be called at any rate. `host`: the server that
        writes it, if any."""
        self._latest = figures, context_size, origins, host
        self._repaint.request()

    def show_reply(self, statistics: ReplyStatistics | None, host: str = "") -> None:
        """Shows a finished reply; None: nothing is known, for example of an imported one."""
        self._end_live()
        self._figures = MeterFigures() if statistics is None else MeterFigures.of_reply(statistics, host)
        self._show()

    def begin_reply(self) -> None:
        """A reply is under way, of which nothing is known yet."""
        self._end_live()
        self._figures = None
        self._show()

    def clear(self) -> None:
        """No reply is shown or under way."""
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
        """Shows whether replies can be sped up; `sentence`: who drafts, or why nothing does."""
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
        """Disables the switch for a model on a server."""
        off, on = self.tr("Turn speed-up off"), self.tr("Turn speed-up on")
        none = self.tr("Speed-up works for models that run on this computer")
        self.switch.setEnabled(not self._is_elsewhere)
        self.switch.setToolTip(none if self._is_elsewhere else off if self._is_on else on)

    def show_learning(self, is_learning: bool, is_paused: bool, share: float, is_self_distilling: bool = False) -> None:
        """`share`: the largest share of the processor's time that learning takes."""
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
        """Shows as much as fits; the least important parts leave first."""
        for said, learned, has_gauge in _WAYS:
            told, learning = self._wordings[said], self._learning[learned]
            if self._px(told, learning, has_gauge) <= self.width():
                break
        show_text(self.headline, told)
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
