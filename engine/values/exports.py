"""A drafter written for another program that runs models."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from engine.values.learned import AdapterSummary


class ExportEngine(StrEnum):
    """Who is to run it."""

    LLAMA_CPP = "llama.cpp"
    VLLM = "vllm"
    TRANSFORMERS = "transformers"


@dataclass(frozen=True, slots=True)
class ExportOrder:
    engine: ExportEngine
    target: str  # `starter`, the name of a target used before, or a path
    out: Path  # a GGUF file for llama.cpp, a folder for the others; not there yet
    drafter: str | None = None  # None: the one that has learned most about the target
    snapshot: int | None = None  # a number, or 0 for the drafter as it was; None: the one in use
    bits: int = 8  # of a weight in a GGUF file, 8 or 16; folders always have 16


@dataclass(frozen=True, slots=True)
class ExportCheck:
    """What was found when the drafter was loaded again, as sentences."""

    proven: tuple[str, ...] = ()
    unproven: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DrafterExported:
    order: ExportOrder
    drafter: str  # its name
    target: str
    snapshot: AdapterSummary | None  # what it has learned; None: nothing
    size_bytes: int
    shares_vocabulary: bool
    check: ExportCheck
    command: str  # the line that serves a model with it
    hint: str = ""  # what is to be put into that line
