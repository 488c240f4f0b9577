"""The page “Speed”: how fast replies came, where the time went, and what was learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QComboBox, QFileDialog, QLabel, QStackedLayout, QWidget

from app.features.history import figures
from app.features.history.columns import FiguresTable, csv_text
from app.features.history.figures import Grouping, HistoryFilter, week_begins
from app.features.history.wording import (
    EMPTY,
    HOW_COMPARED,
    HOW_LEARNING_IS_TIMED,
    HOW_SCORED,
    HOW_TIME_IS_PARTED,
    WHERE_IT_PAYS,
    exceptions_words,
    headline,
    learned_words,
    note_words,
    paying_rows,
    plot_words,
    point_words,
    thinking_words,
    tool_tip,
)
from app.text.amounts import day_words, percent_words, span_words
from app.text.benefits import KINDS, kind_words
from app.text.numbers import whole
from app.text.translation import QT_TRANSLATE_NOOP, translate
from app.theme import ThemeKeeper
from app.widgets.dialog_parts import Dialog
from app.widgets.layouts import Gap, Placed, ScrollingPage, Stretch, add_row, in_column, in_grid, in_row
from app.widgets.meter.plots import PlotMark, PlotPoint, RatioPlot
from app.widgets.meter.share_bars import Bar, BarShare, ShareBars
from app.widgets.parts import button, discard, set_up, show_text, words
from engine.values.history import History, Portion, Tally, TotalSpeedup, total
from engine.values.outlook import Outlook
from engine.values.places import expanded
from engine.values.replies import TextKind


class PayingView(QWidget):
    """Hidden while there is nothing to tell."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("inside")
        self._grid = in_grid([], spacing=(18, 4), stretches=(0, 1))
        self._shown: list[QLabel] = []
        self.rows: tuple[tuple[str, str], ...] = ()
        self.note = words(translate("Speed", WHERE_IT_PAYS), self, kind="faint")
        in_column([self._grid, self.note], inside=self, spacing=8)
        self.hide()

    def show_rows(self, rows: Sequence[tuple[str, str]]) -> None:
        """Shows names of kinds with their figures."""
        if tuple(rows) != self.rows:
            self.rows = tuple(rows)
            for each in self._shown:
                self._grid.removeWidget(each)
                discard(each)
            self._shown = [words(text, self) for row in rows for text in row]
            for name, figure in zip(self._shown[::2], self._shown[1::2], strict=True):
                name.setWordWrap(False)
                add_row(self._grid, [name, figure])
        self.setVisible(bool(rows))


_SIZE_PX = (900, 820)
_PLOT_PX = 240
_RECENT_DAYS = 7
_CSV_NAME = "slipstream-speed.csv"
_PLOTS = (  # of the speed, and of what learning brought: title, words in place of it, and how it was measured
    (
        QT_TRANSLATE_NOOP("Speed", "Times as fast as without speed-up"),
        QT_TRANSLATE_NOOP("Speed", "None of these replies could be compared with writing without speed-up."),
        HOW_COMPARED,
    ),
    (
        QT_TRANSLATE_NOOP("Speed", "Tokens per pass of the model, with what was learned and without"),
        QT_TRANSLATE_NOOP(
            "Speed",
            "None of these replies has been scored yet; that happens while no reply is being written, if "
            "learning is on.",
        ),
        HOW_SCORED,
    ),
)
_MONTHS = (
    *(QT_TRANSLATE_NOOP("Speed", "Jan"), QT_TRANSLATE_NOOP("Speed", "Feb"), QT_TRANSLATE_NOOP("Speed", "Mar")),
    *(QT_TRANSLATE_NOOP("Speed", "Apr"), QT_TRANSLATE_NOOP("Speed", "May"), QT_TRANSLATE_NOOP("Speed", "Jun")),
    *(QT_TRANSLATE_NOOP("Speed", "Jul"), QT_TRANSLATE_NOOP("Speed", "Aug"), QT_TRANSLATE_NOOP("Speed", "Sep")),
    *(QT_TRANSLATE_NOOP("Speed", "Oct"), QT_TRANSLATE_NOOP("Speed", "Nov"), QT_TRANSLATE_NOOP("Speed", "Dec")),
)


class HistoryPage(Dialog):
    """Shows the part of a history that the user chooses: a headline, a plot, where the time went, a table of figures
    (`columns.py`), and what was learned."""

    compare_requested = Signal()  # the user wants one prompt answered with guesses and without
    export_requested = Signal(str, str)  # the path of a file, and its text

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(_SIZE_PX, parent, Qt.WindowType.Window)
        self.setWindowTitle(self.tr("Speed"))
        self._history = History()
        self._outlook: Outlook | None = None  # of the model in use
        self._rows: tuple[figures.HistoryRow, ...] = ()
        compared = tool_tip(HOW_COMPARED)
        self.headline = set_up(words("", self), kind="heading", tip=compared)
        self.before = set_up(words("", self), kind="quiet", tip=compared)
        self.exceptions = words("", self, kind="quiet")  # replies that were slow, or are left out
        self.thinking = words("", self, kind="quiet")
        prove = self.tr("Answers one prompt with and without speed-up, side by side")
        self.prove_button = button(self.tr("Prove it…"), "outlined", self, self.compare_requested, tip=prove)
        self.targets = _combo(self.tr("Model"), self)
        self.kinds = _combo(self.tr("Kind of text"), self)
        self.groupings = _combo(self.tr("Points in the plot"), self)
        self.groupings.addItem(self.tr("Day by day"), Grouping.DAY)
        self.groupings.addItem(self.tr("Chat by chat"), Grouping.CHAT)
        self.groupings.addItem(self.tr("What learning brought"), Grouping.WEEK)
        export = self.tr("Saves the table, with all digits, as a CSV file")
        self.export_button = button(self.tr("Export the table…"), "outlined", self, self._export, tip=export)
        self.plot_title = _title("", self)
        self.plot = RatioPlot(keeper, self)
        self.plot.setFixedHeight(_PLOT_PX)
        self.plot_words = words("", self, kind="faint")
        self.no_points = words("", self, "quiet")
        self.no_points.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.paying = PayingView(self)
        self.bars = ShareBars(keeper, self)
        self.no_bars = words(self.tr("Where the time of these replies went is unknown."), self, "quiet")
        self.table = FiguresTable(self)
        self.learned = words("", self)
        self.notice = words("", self, kind="quiet")  # the result of an export
        self.notice.hide()
        self.empty = words(self.tr("Reading the figures…"), self, kind="quiet")
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.expected = PayingView(self)  # while there is nothing but estimates
        self._arrange()
        for combo in (self.targets, self.kinds, self.groupings):
            combo.currentIndexChanged.connect(self._show_chosen)

    @property
    def choice(self) -> HistoryFilter:
        """The filter; Qt returns plain strings in place of our enumerations."""
        kind = self.kinds.currentData()
        grouping = Grouping(self.groupings.currentData())
        return HistoryFilter(self.targets.currentData(), None if kind is None else TextKind(kind), grouping)

    def show_history(self, history: History) -> None:
        """Shows a history; the choice stays if the new one has replies for it."""
        self._history = history
        names = sorted({portion.target_name for portion in history.days})
        kinds = {portion.kind for portion in history.days}
        _fill(self.targets, [(self.tr("All models"), None), *((name, name) for name in names)])
        _fill(self.kinds, [(kind_words(kind), kind) for kind in (None, *KINDS) if kind is None or kind in kinds])
        self.empty.setText(translate("Speed", EMPTY))
        self._pages.setCurrentIndex(1 if history.days else 0)
        self._show_chosen()

    def show_outlook(self, outlook: Outlook | None) -> None:
        """Shows what to expect of the model in use; None: nothing was measured."""
        self._outlook = outlook
        self._show_paying()

    def show_failure(self, sentence: str) -> None:
        """Says why the figures could not be read; earlier ones stay."""
        if self._history.days:
            self.show_notice(sentence)
        else:
            self.empty.setText(sentence)

    def show_notice(self, sentence: str) -> None:
        self.notice.setText(sentence)
        self.notice.show()

    def _arrange(self) -> None:
        sentences = in_column([self.headline, self.before, self.exceptions, self.thinking], spacing=4)
        prove = Placed(self.prove_button, alignment=Qt.AlignmentFlag.AlignTop)
        shown, nothing = QWidget(self), QWidget(self)
        in_column(
            [
                in_row([Placed(sentences, 1), prove], spacing=18),
                Gap(4),
                in_row([self.targets, self.kinds, self.groupings, Stretch()], spacing=10),
                self.notice,
                self.plot_title,
                self.plot,
                self.no_points,
                self.plot_words,
                Gap(8),
                _title(self.tr("Where it pays here"), self),
                self.paying,
                Gap(8),
                _title(self.tr("Where the time goes"), self),
                self.bars,
                self.no_bars,
                Gap(8),
                in_row([_title(self.tr("By model and kind of text"), self), Stretch(), self.export_button]),
                self.table,
                Gap(8),
                _title(self.tr("What was learned"), self),
                self.learned,
                Stretch(),
            ],
            inside=shown,
            margins=(24, 20, 24, 20),
            spacing=12,
        )
        in_column(
            [Stretch(), self.empty, self.expected, Stretch()], inside=nothing, margins=(80, 24, 80, 24), spacing=16
        )
        self._pages = QStackedLayout(self)
        self._pages.addWidget(nothing)
        self._pages.addWidget(ScrollingPage(self.windowTitle(), shown, self))

    @Slot()
    def _show_chosen(self) -> None:
        choice, history = self.choice, self._history
        days = tuple(filter(choice.keeps, history.days))
        whole = total(portion.tally for portion in days)
        self._show_headline(days, whole)
        self._show_plot(choice)
        self._show_paying()
        self._show_bars(whole)
        self._rows = figures.rows(days)
        self.table.show_rows(self._rows)
        self.learned.setText("\n".join(learned_words(history)))

    def _show_headline(self, days: tuple[Portion, ...], whole: Tally) -> None:
        today = datetime.now().astimezone().date()
        recent = total(portion.tally for portion in figures.since(days, today, _RECENT_DAYS))
        self.headline.setText(
            headline(recent.speedup, self.tr("Over the last %n day(s)", "", _RECENT_DAYS), recent.hindrance)
        )
        older = whole.num_replies > recent.num_replies
        self.before.setText(
            headline(whole.speedup, self.tr("Since {day}").format(day=day_words(days[0].day)), whole.hindrance)
            if older
            else ""
        )
        self.before.setVisible(older)
        show_text(self.exceptions, exceptions_words(whole))
        show_text(self.thinking, thinking_words(whole))

    def _show_plot(self, choice: HistoryFilter) -> None:
        portions = self._history.chats if choice.grouping is Grouping.CHAT else self._history.days
        portions = tuple(filter(choice.keeps, portions))
        notes = tuple(filter(choice.keeps_note, self._history.adapters))
        points = figures.points(portions, choice.grouping)
        shown, without = [], []
        for point in points:
            figure, about = point.figure, point_words(point, choice.grouping)
            if isinstance(figure, TotalSpeedup):
                shown.append(PlotPoint(point.place, figure.ratio, figure.error, about))
            else:
                shown.append(PlotPoint(point.place, figure.after, (figure.error or 0.0) * figure.before, about))
                without.append(PlotPoint(point.place, figure.before, 0.0, about))
        marks = [
            PlotMark(mark.place, note_words(mark.note)) for mark in figures.marks(notes, portions, choice.grouping)
        ]
        self.plot.show_points(shown, marks, _NAMES[choice.grouping], without)
        title, nothing, about = _PLOTS[choice.grouping is Grouping.WEEK]
        self.plot_title.setText(translate("Speed", title))
        self.no_points.setText(translate("Speed", nothing))
        set_up(self.plot, tip=tool_tip(about))
        self.plot.setAccessibleName("; ".join(point_words(point, choice.grouping) for point in points[-_RECENT_DAYS:]))
        self.plot.setVisible(bool(points))
        self.no_points.setVisible(not points)
        sentences = [plot_words(points, choice.grouping)]
        if marks:
            sentences.append(self.tr("Dashed line: the drafter learned something new."))
        self.plot_words.setText(" ".join(sentences))
        self.plot_words.setVisible(bool(points))

    def _show_paying(self) -> None:
        """Shows all kinds, regardless of the kind chosen for the rest of the page."""
        of_target = replace(self.choice, kind=None)
        paying = figures.by_text(filter(of_target.keeps, self._history.days))
        self.paying.show_rows(paying_rows(paying, self._outlook))
        self.expected.show_rows(paying_rows((), self._outlook))

    def _show_bars(self, whole: Tally) -> None:
        parted = whole.parted_s
        parts = (
            (self.tr("Checking"), whole.check_s, "accent"),
            (self.tr("Guessing"), whole.draft_s, "warning"),
            (self.tr("Other"), whole.other_s, "border_strong"),
        )
        bars = []
        part_words = self.tr("{name} {share}, {duration}")
        if parted > 0:
            shown = tuple(
                BarShare(
                    seconds,
                    colour,
                    part_words.format(name=name, share=percent_words(seconds / parted), duration=span_words(seconds)),
                )
                for name, seconds, colour in parts
            )
            bars.append(Bar(self.tr("Writing replies"), shown, tool_tip(HOW_TIME_IS_PARTED)))
        learning = sum(day.seconds for day in self._history.learning)
        if learning > 0:
            part = BarShare(learning, "code_keyword", span_words(learning))
            bars.append(
                Bar(self.tr("Learning, while no reply was being written"), (part,), tool_tip(HOW_LEARNING_IS_TIMED))
            )
        self.bars.show_bars(bars)
        self.bars.setVisible(bool(bars))
        self.no_bars.setVisible(parted <= 0)

    @Slot()
    def _export(self) -> None:
        start = str(expanded("~") / _CSV_NAME)
        path, _ = QFileDialog.getSaveFileName(self, self.tr("Export the table"), start, self.tr("CSV (*.csv)"))
        if path:
            self.export_requested.emit(path, csv_text(self._rows))


def _combo(name: str, parent: QWidget) -> QComboBox:
    combo = QComboBox(parent, sizeAdjustPolicy=QComboBox.SizeAdjustPolicy.AdjustToContents)
    combo.setMaximumWidth(280)
    return set_up(combo, name=name, tip=name)


def _fill(combo: QComboBox, choices: list[tuple[str, object]]) -> None:
    """Fills the box, keeping the choice if it is still there."""
    chosen = combo.currentData()
    combo.blockSignals(True)
    combo.clear()
    for name, data in choices:
        combo.addItem(name, data)
    combo.setCurrentIndex(max(0, combo.findData(chosen)) if chosen is not None else 0)
    combo.blockSignals(False)


def _title(name: str, parent: QWidget) -> QLabel:
    return set_up(QLabel(name, parent), kind="title")


def _day_name(place: float) -> str:
    return _short_name(date.fromordinal(max(1, round(place))))


def _week_name(place: float) -> str:
    return _short_name(week_begins(place))


def _short_name(day: date) -> str:
    month = translate("Speed", _MONTHS[day.month - 1])
    return translate("Speed", "{day} {month}").format(day=day.day, month=month)


def _chat_name(place: float) -> str:
    return whole(round(place)) if place >= 1 else ""


_NAMES = {Grouping.DAY: _day_name, Grouping.CHAT: _chat_name, Grouping.WEEK: _week_name}
