"""Whether a model file of the hub suits this machine, before it is downloaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.text.marked_words import QT_TRANSLATE_NOOP
from engine.messages.targets import HubFile

_BESIDES = 1.1  # of the file: what it holds of a conversation, roughly
_WORK = 400_000_000  # bytes: buffers of a pass, and the app itself
_FITS = 0.6  # of the memory: other programs need theirs
_TIGHT = 0.85
_SPARE_DISK = 1_000_000_000  # bytes that are to stay free
# Well-proven compromises between size and quality come first.
_PREFERRED = ("Q4_K_M", "Q5_K_M", "Q4_K_S", "Q5_K_S", "Q6_K", "IQ4_XS", "Q4_0", "Q8_0", "Q3_K_M", "IQ3_M", "Q2_K")


class Fit(StrEnum):
    """The value is how it is told, in English."""

    FITS = QT_TRANSLATE_NOOP("Hub", "fits")
    TIGHT = QT_TRANSLATE_NOOP("Hub", "tight")
    TOO_LARGE = QT_TRANSLATE_NOOP("Hub", "too large")
    NO_ROOM = QT_TRANSLATE_NOOP("Hub", "no room on the disk")


@dataclass(frozen=True, slots=True)
class FileAdvice:
    file: HubFile
    fit: Fit
    is_recommended: bool = False


def advise(files: Sequence[HubFile], memory: int, disk: int) -> tuple[FileAdvice, ...]:
    """`memory`: all of this machine; `disk`: free where models are kept; both in bytes. At most one is recommended:
    of those that fit, or else of the tight ones, the one whose quantization is proven best."""
    fits = {file: _fit(file.size_bytes, memory, disk) for file in files}
    best: HubFile | None = None
    for wanted in (Fit.FITS, Fit.TIGHT):
        ranked = [file for file in files if fits[file] is wanted and file.quantization.upper() in _PREFERRED]
        best = best or min(ranked, key=lambda file: _PREFERRED.index(file.quantization.upper()), default=None)
    return tuple(FileAdvice(file, fits[file], file is best) for file in files)


def _fit(size: int, memory: int, disk: int) -> Fit:
    if size + _SPARE_DISK > disk:
        return Fit.NO_ROOM
    needed = size * _BESIDES + _WORK
    if needed <= memory * _FITS:
        return Fit.FITS
    return Fit.TIGHT if needed <= memory * _TIGHT else Fit.TOO_LARGE
