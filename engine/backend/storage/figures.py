"""The part of the repository for what was measured: passes of targets and of other quantizations of their weights, the
guesses of drafters and their costs, and what the draft policy knows.

Figures belong to a target's identity; times also to a build of llama.cpp and a number of threads. Those of another
quantization are stored as shares of the original's, measured next to it: when that is measured again, they follow.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, replace
from datetime import datetime

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Row, select

from engine.backend.storage.columns import upsert
from engine.backend.storage.connections import raw_rows
from engine.backend.storage.schema import DrafterFiguresRow, PaceRow, QuantizationFiguresRow
from engine.backend.storage.transactions import SHORT_PATIENCE_S, Transactions
from engine.values.draft_policy import LearnedPolicy, SpanCosts
from engine.values.drafters import DrafterRecord, Guesses
from engine.values.quantizations import QuantizationFigures, TuneReport

_logger = logging.getLogger("slipstream.store")

_NUMBERS = ("num_first", "first_right", "num_next", "next_right", "step_s")
_SAVE_DRAFTER = upsert(DrafterFiguresRow, *_NUMBERS)
_SAVE_FIGURES = upsert(QuantizationFiguresRow, "measured_at", "figures")
_SAVE_PACE = upsert(PaceRow, "pace")
# Steps do not depend on the target: those of other targets are read as well, without their guesses.
_READ_DRAFTERS = """
SELECT target_identity = ?, drafter_key, num_first, first_right, num_next, next_right, step_s FROM drafter_figures
ORDER BY 1
"""
_FIGURES = TypeAdapter(QuantizationFigures)
_PACE = TypeAdapter(LearnedPolicy)
_FORMS = select(QuantizationFiguresRow.__table__).order_by(
    QuantizationFiguresRow.measured_at, QuantizationFiguresRow.form
)
_MOST_SECONDS = 1e6
_MOST_BYTES = 1_000_000  # of a pace

_QuantizationRow = Row[str, str, int, str, datetime, str]


class FigureRepository(Transactions):
    def drafter_records(self, target_identity: str) -> dict[str, DrafterRecord]:
        """Records by the drafter's key, without damaged rows."""
        records: dict[str, DrafterRecord] = {}
        with self._reading() as connection:
            for is_here, key, *numbers in raw_rows(connection, _READ_DRAFTERS, target_identity):
                if isinstance(key, str) and all(map(_is_count, numbers)):
                    *guesses, step_s = numbers
                    records[key] = DrafterRecord(key, Guesses(*guesses) if is_here else Guesses(), step_s)
        return records

    def save_drafter_record(self, target_identity: str, record: DrafterRecord) -> None:
        """Replaces an earlier one."""
        values = dict(zip(_NUMBERS, (*astuple(record.guesses), record.step_s), strict=True))
        with self._writing(patience_s=SHORT_PATIENCE_S) as connection:
            connection.execute(_SAVE_DRAFTER.values(target_identity=target_identity, drafter_key=record.key, **values))

    def save_tune_report(self, target_identity: str, report: TuneReport) -> None:
        """Replaces earlier figures of the same quantizations; others stay."""
        shares = [_scaled(each, report.original, lambda seconds, own: seconds / own) for each in report.quantizations]
        key = {"target_identity": target_identity, "build": report.build, "threads": report.threads}
        with self._writing() as connection:
            for name, figures in (("", report.original), *((each.quantization, each) for each in shares)):
                values = {"form": name, "measured_at": report.measured_at, "figures": _as_json(figures)}
                connection.execute(_SAVE_FIGURES.values(**key, **values))

    def tune_reports(self, build: str) -> dict[str, TuneReport]:
        """What was measured with this build, by the target's identity: with the number of threads that was measured
        last. Damaged rows are left out."""
        rows: dict[tuple[str, int], list[_QuantizationRow]] = {}
        with self._reading() as connection:
            for row in connection.execute(_FORMS.where(QuantizationFiguresRow.build == build)):
                rows.setdefault((row.target_identity, row.threads), []).append(row)
        reports = [(identity, _report(each)) for (identity, _), each in rows.items()]
        found = [(identity, report) for identity, report in reports if report is not None]
        return dict(sorted(found, key=lambda each: each[1].measured_at))

    def learned_policy(self, target_identity: str, build: str, threads: int) -> LearnedPolicy | None:
        """None where nothing is known, or what is there is damaged."""
        wanted = PaceRow.target_identity == target_identity, PaceRow.build == build, PaceRow.threads == threads
        with self._reading() as connection:
            return _pace(connection.execute(select(PaceRow.pace).where(*wanted)).scalar())

    def measured_passes(self, build: str) -> dict[str, dict[int, float]]:
        """V(n) in seconds of each target while it holds least, for 1 and every n that was seen, by its identity: with
        the threads that are fastest."""
        with self._reading() as connection:
            rows = connection.execute(select(PaceRow.target_identity, PaceRow.pace).where(PaceRow.build == build)).all()
        found: dict[str, dict[int, float]] = {}
        for identity, text in rows:
            pace = _pace(text)
            if pace is not None and pace.costs.spans:
                seconds = _seconds(pace.costs.spans[min(pace.costs.spans)])
                if identity not in found or seconds[1] < found[identity][1]:
                    found[identity] = seconds
        return found

    def save_policy(self, target_identity: str, build: str, threads: int, pace: LearnedPolicy) -> None:
        """Replaces an earlier one."""
        values = {"target_identity": target_identity, "build": build, "threads": threads}
        with self._writing(patience_s=SHORT_PATIENCE_S) as connection:
            connection.execute(_SAVE_PACE.values(**values, pace=_PACE.dump_json(pace).decode()))


def _is_count(number: object) -> bool:
    return isinstance(number, int | float) and math.isfinite(number) and number >= 0


def _report(rows: Sequence[_QuantizationRow]) -> TuneReport | None:
    """None without figures of the target itself."""
    figures = {row.form: found for row in rows if (found := _figures(row.figures)) is not None}
    original = figures.pop("", None)
    if original is None:
        return None
    quantizations = [
        _scaled(each, original, lambda share, own: share * own)
        for each in figures.values()
        if {n for n, _ in each.passes} <= {n for n, _ in original.passes}
    ]
    last = rows[-1]
    return TuneReport(last.build, last.threads, last.measured_at, original, tuple(quantizations))


def _scaled(
    figures: QuantizationFigures, original: QuantizationFigures, change: Callable[[float, float], float]
) -> QuantizationFigures:
    own: Mapping[int, float] = dict(original.passes)
    return replace(figures, passes=tuple((n, change(value, own[n])) for n, value in figures.passes))


def _as_json(figures: QuantizationFigures) -> str:
    found = _FIGURES.dump_python(figures, mode="json")
    found = {"form": found.pop("quantization"), **found}  # the store's own name for it
    return json.dumps(found, separators=(",", ":"))


def _figures(text: object) -> QuantizationFigures | None:
    try:
        stored = json.loads(text if isinstance(text, str | bytes) else "")
        found = _FIGURES.validate_python({"quantization": stored.pop("form"), **stored}, strict=False)
    except (ValueError, AttributeError, TypeError, KeyError, RecursionError):  # ValidationError is a ValueError
        return None
    numbers = [value for _, value in found.passes]
    is_sound = bool(numbers) and found.passes[0][0] == 1 and all(0 < value < _MOST_SECONDS for value in numbers)
    return found if is_sound and math.isfinite(found.pass_error) else None


def _seconds(costs: SpanCosts) -> dict[int, float]:
    known = enumerate(zip(costs.multiples, costs.weights, strict=False), 1)
    return {1: costs.single_s} | {n: costs.single_s * multiple for n, (multiple, weight) in known if n > 1 and weight}


def _pace(text: object) -> LearnedPolicy | None:
    """None for what is damaged or not there."""
    if not isinstance(text, str) or len(text) > _MOST_BYTES:
        return None
    try:
        return _PACE.validate_json(text)
    except ValidationError as error:
        _logger.warning("what was known of a pace is damaged, and is learned again: %s", error)
        return None
