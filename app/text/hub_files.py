"""Model files of the hub: whether one suits this machine, and how its download goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from pathlib import Path

from app.text.amounts import size_words, time_left_words
from app.text.translation import QT_TRANSLATE_NOOP, Words
from engine.values.quantizations import QuantizationSpeed
from engine.values.targets import HubFile

_BESIDES = 1.1  # of the file: what it holds of a conversation, roughly
_WORK = 400_000_000  # bytes: buffers of a pass, and the app itself
_FITS = 0.6  # of the memory: other programs need theirs
_TIGHT = 0.85
_FAST = 0.97  # of the fastest quantization's speed: what was measured with another model is no better than that
_SPARE_DISK = 1_000_000_000  # bytes that are to stay free
# Well-proven compromises between size and quality come first.
_PREFERRED = ("Q4_K_M", "Q5_K_M", "Q4_K_S", "Q5_K_S", "Q6_K", "IQ4_XS", "Q4_0", "Q8_0", "Q3_K_M", "IQ3_M", "Q2_K")
Downloads = Words("Downloads")


class Fit(StrEnum):
    """The value is its name, in English."""

    FITS = QT_TRANSLATE_NOOP("Hub", "fits")
    TIGHT = QT_TRANSLATE_NOOP("Hub", "tight")
    TOO_LARGE = QT_TRANSLATE_NOOP("Hub", "too large")
    NO_ROOM = QT_TRANSLATE_NOOP("Hub", "not enough disk space")


ABOUT_FIT = {
    Fit.FITS: QT_TRANSLATE_NOOP("Hub", "Fits into this computer's memory with room to spare."),
    Fit.TIGHT: QT_TRANSLATE_NOOP("Hub", "Fits into this computer's memory, but leaves little for other programs."),
    Fit.TOO_LARGE: QT_TRANSLATE_NOOP("Hub", "Needs more memory than this computer has."),
    Fit.NO_ROOM: QT_TRANSLATE_NOOP("Hub", "There is not enough disk space for it."),
}


@dataclass(frozen=True, slots=True)
class FileAdvice:
    file: HubFile
    fit: Fit
    is_recommended: bool = False
    # expected on this computer, over that of the fastest quantization here; 0: nothing like it was measured
    speed: float = 0.0

    @property
    def is_fast(self) -> bool:
        return self.speed >= _FAST


def advise(
    files: Sequence[HubFile], memory: int, disk: int, speeds: Sequence[QuantizationSpeed] = ()
) -> tuple[FileAdvice, ...]:
    """`memory`: all of this machine; `disk`: free where models are stored; both in bytes. `speeds`: of quantizations
    measured here. Recommends at most one: among those that fit, or else are tight, the best proven quantization."""
    fits = {file: fit_of(file.download_bytes, memory, disk) for file in files}
    best: HubFile | None = None
    for wanted in (Fit.FITS, Fit.TIGHT):
        ranked = [file for file in files if fits[file] is wanted and _is_proven(file)]
        best = best or min(ranked, key=lambda file: _PREFERRED.index(file.quantization.upper()), default=None)
    known = {each.quantization: each.speed for each in speeds}
    return tuple(FileAdvice(file, fits[file], file is best, known.get(file.quantization, 0.0)) for file in files)


def _is_proven(file: HubFile) -> bool:
    return file.quantization.upper() in _PREFERRED and not file.is_head


def fit_of(size: int, memory: int, disk: int) -> Fit:
    """How well a file of that size suits this machine; see `advise`."""
    if size + _SPARE_DISK > disk:
        return Fit.NO_ROOM
    needed = size * _BESIDES + _WORK
    if needed <= memory * _FITS:
        return Fit.FITS
    return Fit.TIGHT if needed <= memory * _TIGHT else Fit.TOO_LARGE


class DownloadState(Enum):
    WAITING = auto()  # for another one to end, or for the hub's answer
    RUNNING = auto()
    PAUSING = auto()  # the network may be silent for some seconds
    PAUSED = auto()
    FAILED = auto()
    FINISHED = auto()


@dataclass(frozen=True, slots=True)
class Download:
    file: HubFile
    state: DownloadState
    num_bytes: int = 0  # that are here
    bytes_per_s: float = 0.0  # 0: not known
    problem: str = ""  # why it failed, in a sentence
    path: Path | None = None  # of the finished file

    @property
    def share(self) -> float:
        """0 … 1"""
        if self.state is DownloadState.FINISHED:
            return 1.0
        return min(1.0, self.num_bytes / self.file.download_bytes) if self.file.download_bytes else 0.0

    @property
    def words(self) -> str:
        whole = size_words(self.file.download_bytes)
        so_far = Downloads.tr("{done} of {whole}", done=size_words(self.num_bytes), whole=whole)
        match self.state:
            case DownloadState.WAITING if not self.num_bytes:
                return Downloads.tr("Waiting to start, {whole}", whole=whole)
            case DownloadState.WAITING:
                return Downloads.tr("Waiting to continue, {so_far}", so_far=so_far)
            case DownloadState.RUNNING if not self.bytes_per_s:
                return so_far
            case DownloadState.RUNNING:
                left = time_left_words((self.file.download_bytes - self.num_bytes) / self.bytes_per_s)
                speed = size_words(self.bytes_per_s)
                return Downloads.tr("{so_far}, {speed} per second, {left}", so_far=so_far, speed=speed, left=left)
            case DownloadState.PAUSING:
                return Downloads.tr("Pausing, {so_far}", so_far=so_far)
            case DownloadState.PAUSED:
                return Downloads.tr("Paused, {so_far}", so_far=so_far)
            case DownloadState.FAILED:
                return self.problem
            case DownloadState.FINISHED:
                return Downloads.tr("Downloaded and checked, {whole}", whole=whole)
