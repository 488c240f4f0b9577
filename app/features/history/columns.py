"""The table of figures for each model and kind of text: its columns, one record each; the same figures as a file."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from PySide6.QtWidgets import QWidget

from app.features.history.figures import HistoryRow
from app.features.history.wording import HOW_COMPARED, NOTHING, Speed, ratio_words, tool_tip
from app.text.amounts import percent_words
from app.text.benefits import kind_words
from app.text.numbers import whole
from app.text.origin_marks import label_of, proposers
from app.text.translation import QT_TRANSLATE_NOOP, translate
from app.widgets.table import Heading, Table
from engine.values.history import Tally
from engine.values.origins import Origin

Figures = dict[str, str | float | None]  # under the names they have in a file; None: not known


@dataclass(frozen=True, slots=True)
class Column:
    title: str  # to be translated in the context `Speed`, as is `about`
    about: str
    text: Callable[[HistoryRow], str]
    figures: Callable[[HistoryRow], Figures]  # to be exported
    is_words: bool = False


def cells(row: HistoryRow) -> tuple[str, ...]:
    return tuple(column.text(row) for column in COLUMNS)


def csv_text(rows: Iterable[HistoryRow]) -> str:
    """The table with all digits; unknown fields are empty."""
    lines = [_exported(row) for row in (HistoryRow("", None, Tally()), *rows)]  # the first for its names alone
    text = io.StringIO()
    writer = csv.DictWriter(text, [*dict.fromkeys(name for line in lines for name in line)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines[1:])
    return text.getvalue()


def _exported(row: HistoryRow) -> Figures:
    figures = {name: value for column in COLUMNS for name, value in column.figures(row).items()}
    return {name: f"{value:.6g}" if isinstance(value, float) else value for name, value in figures.items()}


def _words(number: float | None, form: str) -> str:
    return NOTHING if number is None else format(number, form)


def _tokens_per_s(tally: Tally) -> float | None:
    return tally.tokens_per_s if tally.num_timed else None


def _tokens_per_round(tally: Tally) -> float | None:
    return tally.tokens_per_round if tally.num_rounds else None


def _ratio(row: HistoryRow) -> Figures:
    speedup = row.tally.speedup
    return {
        "ratio": None if speedup is None else speedup.ratio,
        "ratio_error": None if speedup is None else speedup.error,
        "compared_replies": len(row.tally.ratios),
        "slow_replies": row.tally.num_slow,
        "repeating_replies": row.tally.num_repeating,
        "saved_s": None if speedup is None else speedup.saved_s,
    }


def _shares(tally: Tally) -> dict[Origin, float | None]:
    """The share of accepted tokens from each proposer; None where their proposers are unknown."""
    accepted = {counts.key: counts.num_accepted for counts in tally.proposers}
    known = sum(accepted.values())
    return {origin: accepted.get(origin.key, 0) / known if known else None for origin in proposers(accepted)}


def _who_guessed(row: HistoryRow) -> str:
    words = ""
    for origin, share in _shares(row.tally).items():
        if not share:
            continue
        label = label_of(origin)
        part = Speed.tr("{name} {share}", name=label.lower() if words else label, share=percent_words(share))
        words = Speed.tr("{names}, {name}", names=words, name=part) if words else part
    return words or NOTHING


COLUMNS = (
    Column(
        QT_TRANSLATE_NOOP("Speed", "Kind"),
        QT_TRANSLATE_NOOP("Speed", "What a reply mostly is, judging by its text; older replies count as prose"),
        lambda row: kind_words(row.kind),
        lambda row: {"model": row.target_name, "kind": "all" if row.kind is None else row.kind.value},
        is_words=True,
    ),
    Column(
        QT_TRANSLATE_NOOP("Speed", "Replies"),
        QT_TRANSLATE_NOOP("Speed", "Replies that are stored; those of deleted and incognito chats are not counted"),
        lambda row: whole(row.tally.num_replies),
        lambda row: {"replies": row.tally.num_replies},
    ),
    Column(
        QT_TRANSLATE_NOOP("Speed", "Tokens"),
        QT_TRANSLATE_NOOP("Speed", "The model's tokens in these replies"),
        lambda row: whole(row.tally.num_tokens),
        lambda row: {"tokens": row.tally.num_tokens},
    ),
    Column(
        QT_TRANSLATE_NOOP("Speed", "Tokens/s"),
        QT_TRANSLATE_NOOP(
            "Speed",
            "Tokens written per second, from the end of the prompt to the last token; all replies together",
        ),
        lambda row: _words(_tokens_per_s(row.tally), ".1f"),
        lambda row: {
            "seconds": row.tally.seconds,
            "tokens_per_s": _tokens_per_s(row.tally),
            "thought_tokens": row.tally.num_thought,
            "thought_s": row.tally.thought_s,
        },
    ),
    Column(
        QT_TRANSLATE_NOOP("Speed", "Ratio"),
        HOW_COMPARED,
        lambda row: NOTHING if row.tally.speedup is None else ratio_words(row.tally.speedup),
        _ratio,
    ),
    Column(
        QT_TRANSLATE_NOOP("Speed", "Per round"),
        QT_TRANSLATE_NOOP(
            "Speed",
            "Tokens that one pass of the model brought: its own and the accepted guesses. Without guesses it is 1",
        ),
        lambda row: _words(_tokens_per_round(row.tally), ".2f"),
        lambda row: {"tokens_per_round": _tokens_per_round(row.tally)},
    ),
    Column(
        QT_TRANSLATE_NOOP("Speed", "Accepted"),
        QT_TRANSLATE_NOOP(
            "Speed", "Of the guessed tokens that the model checked, the share it would have written itself"
        ),
        lambda row: NOTHING if row.tally.accepted_share is None else percent_words(row.tally.accepted_share),
        lambda row: {"accepted_share": row.tally.accepted_share},
    ),
    Column(
        QT_TRANSLATE_NOOP("Speed", "Who guessed"),
        QT_TRANSLATE_NOOP("Speed", "Who made the accepted guesses. For older replies this is unknown"),
        _who_guessed,
        lambda row: {f"{origin.key}_share": share for origin, share in _shares(row.tally).items()},
        is_words=True,
    ),
)


_MOST_ROWS_SHOWN = 14


class FiguresTable(Table):
    """Shows rows under the names of their models."""

    def __init__(self, parent: QWidget | None = None) -> None:
        headings = [Heading(translate("Speed", each.title), tool_tip(each.about), each.is_words) for each in COLUMNS]
        super().__init__(headings, _MOST_ROWS_SHOWN, parent=parent)
        self.setAccessibleName(self.tr("Figures by model and kind of text"))

    def show_rows(self, rows: Sequence[HistoryRow]) -> None:
        self.clearSpans()
        self.setRowCount(0)
        name = ""
        for row in rows:
            if row.target_name != name:
                name = row.target_name
                self._add_name(name)
            self.show_row(self._add(), cells(row))
        self._fit()

    def _add_name(self, name: str) -> None:
        number = self._add()
        self.show_row(number, (name,), tip=self.tr("The model that wrote the replies"), is_bold=True)
        self.setSpan(number, 0, 1, len(COLUMNS))

    def _add(self) -> int:
        number = self.rowCount()
        self.insertRow(number)
        return number
