"""Model files on their way from the hub, as the window tells of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

from app.text.amounts import size_words, time_left_words
from app.text.translation import translate
from engine.messages.targets import HubFile


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
        return min(1.0, self.num_bytes / self.file.size_bytes) if self.file.size_bytes else 0.0

    @property
    def words(self) -> str:
        """How it stands, in a line."""
        whole = size_words(self.file.size_bytes)
        so_far = translate("Downloads", "{done} of {whole}").format(done=size_words(self.num_bytes), whole=whole)
        match self.state:
            case DownloadState.WAITING:
                if not self.num_bytes:
                    return translate("Downloads", "Waiting to begin, {whole}").format(whole=whole)
                return translate("Downloads", "Waiting to go on, {so_far}").format(so_far=so_far)
            case DownloadState.RUNNING:
                if not self.bytes_per_s:
                    return so_far
                left = time_left_words((self.file.size_bytes - self.num_bytes) / self.bytes_per_s)
                words = translate("Downloads", "{so_far}, {speed} per second, {left}")
                return words.format(so_far=so_far, speed=size_words(self.bytes_per_s), left=left)
            case DownloadState.PAUSING:
                return translate("Downloads", "Pausing, {so_far}").format(so_far=so_far)
            case DownloadState.PAUSED:
                return translate("Downloads", "Paused, {so_far}").format(so_far=so_far)
            case DownloadState.FAILED:
                return self.problem
            case DownloadState.FINISHED:
                return translate("Downloads", "Downloaded and checked, {whole}").format(whole=whole)
