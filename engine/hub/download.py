"""Downloads a model from the hub, whole and checked, and resumes earlier downloads."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from engine.errors import FetchFailed
from engine.hub.asking import check_room, explained, look_up, remote_file
from engine.hub.fetching import PROGRESS_S, ByteProgress, RemoteFile, check_stop, fetch_file
from engine.hub.saved import SavedDownloads
from engine.messages.events import TargetDownloading
from engine.messages.targets import HubFile
from engine.stop_signal import StopSignal
from engine.target.model_files import part_names

_SPEED_S = 5.0  # the speed is an average of these

OnProgress = Callable[[TargetDownloading], None]


def download_target(file: HubFile, saved: SavedDownloads, stop: StopSignal, on_progress: OnProgress) -> Path:
    """Returns where the model, or its first part, is. An unfinished download stays on the disk until it is resumed or
    discarded. Raises FetchFailed, and Cancelled when `stop` is set."""
    check_stop(stop)
    path = saved.path_of(file)
    with explained(file.repository, "another model"), saved.locked(file):
        try:
            files = _look_up(file, path)
        except BaseException:
            saved.remove_empty(path.parent)
            raise
        check_stop(stop)
        saved.remove_other_versions(path, {each.part_name for each in files})
        path.parent.mkdir(parents=True, exist_ok=True)
        total = sum(each.size for each in files)
        check_room(path.parent, total - saved.num_bytes(path))
        if len(files) > 1 or not path.exists() or path.stat().st_size != total:  # else it is only checked
            saved.note(file)
        speed = _Speed()
        progress = ByteProgress(lambda size: on_progress(TargetDownloading(file, size, speed.at(size))))
        for each in files:
            fetch_file(each, path.parent, stop, progress.note)
            progress.end(each.size)
        saved.finish(file)
    return path


def _look_up(file: HubFile, path: Path) -> list[RemoteFile]:
    info = look_up(file.repository)
    known = {sibling.rfilename: sibling for sibling in info.siblings or ()}
    there = PurePosixPath(file.name)
    files = []
    for remote, here in zip(part_names(there.name), part_names(path.name), strict=True):
        sibling = known.get(str(there.with_name(remote)))
        if sibling is None:
            raise FetchFailed(f"{file.repository} no longer has the file {remote}; look at its files again.")
        files.append(remote_file(file.repository, info, sibling, here))
    return files


class _Speed:
    """The recent speed of a download, in bytes per second."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()  # times, and bytes downloaded by then

    def at(self, num_bytes: int) -> float:
        """The speed when so many bytes are downloaded; 0 while it is unknown."""
        now = time.monotonic()
        self._seen.append((now, num_bytes))
        while now - self._seen[0][0] > _SPEED_S and len(self._seen) > 2:
            self._seen.popleft()
        since, before = self._seen[0]
        return max(0.0, (num_bytes - before) / (now - since)) if now - since >= PROGRESS_S else 0.0
