"""The models that the app suggests, from `resources/suggestions.json`, and how fast they are expected to write here.

A token takes one pass, and a pass reads the weights once: how fast they are read is what limits it. So the speed of a
file is estimated from a target that was measured on this machine, as bytes over bytes. Besides, a pass takes as long as
reading some more would, which counts for small targets: from the starter's 98 MB, what a body of 2.0 GB takes was
estimated with 64 ms and measured with 55, with another build 66 and 72.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import date
from importlib.resources import files
from statistics import median
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from engine.speculation.model.files.model_files import quantization_in
from engine.values.quantizations import QuantizationSpeed, TuneReport
from engine.values.targets import HubFile, Purpose, Suggestion

_BESIDES = 150_000_000  # bytes that could be read in the time that a pass takes besides

_Line = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^\S.*\S$")]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: _Line
    purpose: Purpose
    repository: str = Field(max_length=100, pattern=r"^[\w-][\w.-]*/[\w-][\w.-]*$")
    file: str = Field(max_length=100, pattern=r"^[\w-][\w.-]*\.gguf$")
    size_bytes: int = Field(ge=10**8, le=10**12)
    read_share: float = Field(default=1.0, gt=0, le=1, allow_inf_nan=False)
    licence: _Line
    seen_on: date
    seen_in: tuple[Annotated[str, Field(max_length=300, pattern=r"^https://\S+$")], ...] = Field(min_length=1)


class _List(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    about: str = Field(max_length=1000)
    models: tuple[_Entry, ...] = Field(min_length=1, max_length=20)


def read_suggestions(text: str | None = None) -> tuple[Suggestion, ...]:
    """Those in `text`, or else the app's own, in their order. Raises ValueError for what is no such list."""
    entries = _List.model_validate_json(text or (files("resources") / "suggestions.json").read_text("utf-8")).models
    return tuple(_suggestion(entry) for entry in entries)


def expected_speed(read_bytes: float, measured: Iterable[tuple[float, float]]) -> float:
    """Tokens per second of a model that reads this many bytes for each token; 0 if nothing was measured. `measured`:
    bytes read for each token and V(1) in seconds, of targets on this machine; the one nearest in size counts."""
    nearest = min(measured, key=lambda each: abs(math.log(each[0] / read_bytes)), default=None)
    return 0.0 if nearest is None else 1 / (nearest[1] * times_as_long(read_bytes, nearest[0]))


def times_as_long(read_bytes: float, measured_bytes: float) -> float:
    """How much longer a pass that reads `read_bytes` takes than one that reads `measured_bytes`."""
    return (read_bytes + _BESIDES) / (measured_bytes + _BESIDES)


def _suggestion(entry: _Entry) -> Suggestion:
    file = HubFile(entry.repository, entry.file, entry.size_bytes, quantization_in(entry.file))
    return Suggestion(entry.name, entry.purpose, file, entry.licence, entry.read_share, entry.seen_in, entry.seen_on)


def quantization_speeds(reports: Iterable[TuneReport], files: Sequence[HubFile]) -> tuple[QuantizationSpeed, ...]:
    """Speeds of the quantizations among these files of one model, fastest first, as measured on the model that is
    nearest in size. Empty if fewer than two were measured: there is nothing to compare."""
    offered = {file.quantization for file in files}
    candidates = [(report, seconds) for report in reports if len(seconds := _pass_s(report, offered)) > 1]
    if not candidates:
        return ()
    size = math.log(max(1.0, median(file.size_bytes for file in files)))
    _, seconds = min(candidates, key=lambda each: abs(math.log(each[0].original.size_bytes) - size))
    fastest = min(seconds.values())
    return tuple(
        QuantizationSpeed(quantization, fastest / seconds[quantization])
        for quantization in sorted(seconds, key=seconds.__getitem__)
    )


def _pass_s(report: TuneReport, quantizations: set[str]) -> dict[str, float]:
    """V(1) of these quantizations."""
    return {
        each.quantization: each.passes[0][1]
        for each in (report.original, *report.quantizations)
        if each.quantization in quantizations
    }
