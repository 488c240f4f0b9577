"""Which of a repository's files will be fastest here, by what was measured of other models on this machine."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import median

from engine.messages.forms import FormSpeed, TuneReport
from engine.messages.targets import HubFile


def form_speeds(reports: Iterable[TuneReport], files: Sequence[HubFile]) -> tuple[FormSpeed, ...]:
    """Of the quantizations among these files of one model, fastest first: those that were measured of the model that is
    nearest in size. Empty where fewer than two were: there is nothing to compare."""
    offered = {file.quantization for file in files}
    candidates = [(report, seconds) for report in reports if len(seconds := _pass_s(report, offered)) > 1]
    if not candidates:
        return ()
    size = math.log(max(1.0, median(file.size_bytes for file in files)))
    _, seconds = min(candidates, key=lambda each: abs(math.log(each[0].original.size_bytes) - size))
    fastest = min(seconds.values())
    return tuple(FormSpeed(form, fastest / seconds[form]) for form in sorted(seconds, key=seconds.__getitem__))


def _pass_s(report: TuneReport, forms: set[str]) -> dict[str, float]:
    """V(1) of these forms."""
    return {each.form: each.passes[0][1] for each in (report.original, *report.forms) if each.form in forms}
