"""Downloads a model from the hub, whole and checked, and resumes earlier downloads."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from huggingface_hub.hf_api import ModelInfo

from engine.backend.hub.asking import check_room, explained, look_up, remote_file
from engine.backend.hub.fetching import PROGRESS_S, ByteProgress, RemoteFile, check_stop, fetch_file
from engine.backend.hub.search import file_sizes, with_companions
from engine.backend.library.saved_downloads import SavedDownloads
from engine.speculation.model.files.model_files import part_names
from engine.values.errors import FetchFailed
from engine.values.sentences import say, template
from engine.values.stop_signal import StopSignal
from engine.values.targets import Downloading, HubFile

_WITHOUT_SIGHT = template("{name} is downloaded, but the file it needs to see pictures is not. {reason}")
_WITHOUT_DRAFTER = template("{name} is downloaded, but the drafter made for it is not. {reason}")
_SPEED_S = 5.0  # the speed is an average of these

OnProgress = Callable[[Downloading], object]


def download_target(
    file: HubFile,
    saved: SavedDownloads,
    stop: StopSignal,
    on_progress: OnProgress,
    on_missing: Callable[[str], None] | None = None,
) -> Path:
    """Returns where the model, or its first part, is. An unfinished download stays on the disk until it is resumed or
    discarded. `on_missing` gets a sentence for each of the model's companions that cannot be fetched, such as its
    projector; without it none is wanted. Raises FetchFailed, and Cancelled when `stop` is set."""
    check_stop(stop)
    path = saved.path_of(file)
    with explained(file.repository, say("another model")), saved.locked(file):
        try:
            info = look_up(file.repository)
            files = _remote_files(file, path, info)
        except BaseException:
            saved.remove_empty(path.parent)
            raise
        check_stop(stop)
        if on_missing is not None:
            file = with_companions(file, file_sizes(info))
        saved.remove_other_versions(path, {each.part_name for each in files})
        path.parent.mkdir(parents=True, exist_ok=True)
        total = sum(each.size for each in files)
        check_room(path.parent, total - saved.num_bytes(path))
        is_alone = not all(_is_there(saved.path_of(each), each.size_bytes) for each in file.companions)
        if len(files) > 1 or not _is_there(path, total) or is_alone:  # else it is only checked
            saved.note(file)
        speed = _Speed()
        progress = ByteProgress(lambda size: on_progress(Downloading(size, file.download_bytes, speed.at(size))))
        for each in files:
            fetch_file(each, path.parent, stop, progress.note)
            progress.end(each.size)
        if on_missing is not None:
            for companion in file.companions:
                try:
                    _fetch_companion(companion, saved, info, stop, progress)
                except FetchFailed as error:
                    without = _WITHOUT_SIGHT if companion.name == file.projector else _WITHOUT_DRAFTER
                    on_missing(say(without, name=path.name, reason=error.sentence))
        saved.finish(file)
    return path


def _is_there(path: Path, size: int) -> bool:
    return path.exists() and path.stat().st_size == size


def _fetch_companion(
    companion: HubFile, saved: SavedDownloads, info: ModelInfo, stop: StopSignal, progress: ByteProgress
) -> None:
    """Raises FetchFailed and Cancelled."""
    path = saved.path_of(companion)
    with explained(companion.repository, say("another model")), saved.locked(companion):
        check_room(path.parent, companion.size_bytes - saved.num_bytes(path))
        for each in _remote_files(companion, path, info):
            saved.remove_other_versions(path, {each.part_name})
            fetch_file(each, path.parent, stop, progress.note)
            progress.end(each.size)


def _remote_files(file: HubFile, path: Path, info: ModelInfo) -> list[RemoteFile]:
    known = {sibling.rfilename: sibling for sibling in info.siblings or ()}
    there = PurePosixPath(file.name)
    files = []
    for remote, here in zip(part_names(there.name), part_names(path.name), strict=True):
        sibling = known.get(str(there.with_name(remote)))
        if sibling is None:
            raise FetchFailed(
                "{repository} no longer has the file {remote}; look at its files again.",
                repository=file.repository,
                remote=remote,
            )
        files.append(remote_file(file.repository, info, sibling, here))
    return files


class _Speed:
    """The recent speed of a download, in bytes per second."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()  # times, and bytes downloaded by then

    def at(self, num_bytes: int) -> float:
        """The speed once this many bytes are downloaded; 0 while it is unknown."""
        now = time.monotonic()
        self._seen.append((now, num_bytes))
        while now - self._seen[0][0] > _SPEED_S and len(self._seen) > 2:
            self._seen.popleft()
        since, before = self._seen[0]
        return max(0.0, (num_bytes - before) / (now - since)) if now - since >= PROGRESS_S else 0.0
