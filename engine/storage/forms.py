"""The part of the repository for what was measured of targets and of other forms of their weights.

Figures belong to a target's identity, a build of llama.cpp and a number of threads. Those of other forms are stored as
shares of the target's own, beside which they were measured: when that is measured again, they follow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Row, select
from sqlalchemy.dialects.sqlite import insert

from engine.messages.forms import FormFigures, TuneReport
from engine.storage.schema import FormFiguresRow
from engine.storage.transactions import Transactions

_FIGURES = TypeAdapter(FormFigures)
_KEY = (FormFiguresRow.target_identity, FormFiguresRow.build, FormFiguresRow.threads, FormFiguresRow.form)
_new = insert(FormFiguresRow)
_SAVE = _new.on_conflict_do_update(
    index_elements=_KEY, set_={name: _new.excluded[name] for name in ("measured_at", "figures")}
)
_ROWS = select(*_KEY, FormFiguresRow.measured_at, FormFiguresRow.figures).order_by(
    FormFiguresRow.measured_at, FormFiguresRow.form
)
_MOST_SECONDS = 1e6

_Row = Row[str, str, int, str, datetime, str]


class FormRepository(Transactions):
    def save_tune_report(self, target_identity: str, report: TuneReport) -> None:
        """In place of what is there of the same forms; others stay."""
        shares = [_scaled(each, report.original, lambda seconds, own: seconds / own) for each in report.forms]
        key = {"target_identity": target_identity, "build": report.build, "threads": report.threads}
        with self._writing() as connection:
            for form, figures in (("", report.original), *((each.form, each) for each in shares)):
                text = _FIGURES.dump_json(figures).decode()
                connection.execute(_SAVE.values(**key, form=form, measured_at=report.measured_at, figures=text))

    def tune_reports(self, build: str) -> dict[str, TuneReport]:
        """What was measured with this build, by the target's identity: with the number of threads that was measured
        last. Damaged rows are left out."""
        rows: dict[tuple[str, int], list[_Row]] = {}
        with self._reading() as connection:
            for row in connection.execute(_ROWS.where(FormFiguresRow.build == build)):
                rows.setdefault((row.target_identity, row.threads), []).append(row)
        reports = [(identity, _report(each)) for (identity, _), each in rows.items()]
        found = [(identity, report) for identity, report in reports if report is not None]
        return dict(sorted(found, key=lambda each: each[1].measured_at))


def _report(rows: Sequence[_Row]) -> TuneReport | None:
    """None without figures of the target itself."""
    figures = {row.form: found for row in rows if (found := _figures(row.figures)) is not None}
    original = figures.pop("", None)
    if original is None:
        return None
    forms = [
        _scaled(each, original, lambda share, own: share * own)
        for each in figures.values()
        if {n for n, _ in each.passes} <= {n for n, _ in original.passes}
    ]
    last = rows[-1]
    return TuneReport(last.build, last.threads, last.measured_at, original, tuple(forms))


def _scaled(form: FormFigures, original: FormFigures, change: Callable[[float, float], float]) -> FormFigures:
    own: Mapping[int, float] = dict(original.passes)
    return replace(form, passes=tuple((n, change(value, own[n])) for n, value in form.passes))


def _figures(text: object) -> FormFigures | None:
    try:
        found = _FIGURES.validate_json(text if isinstance(text, str | bytes) else "")
    except ValidationError:
        return None
    numbers = [value for _, value in found.passes]
    is_sound = bool(numbers) and found.passes[0][0] == 1 and all(0 < value < _MOST_SECONDS for value in numbers)
    return found if is_sound and math.isfinite(found.pass_error) else None
