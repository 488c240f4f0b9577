"""Where downloaded models are, and which downloads are unfinished. Uses no network.

A model is in `<models>/<owner>--<name>/`. Next to an unfinished one is a note of what it will be, which is removed
when it is whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import filelock
from pydantic import TypeAdapter, ValidationError

from engine.speculation.drafter.choice import is_hub_name
from engine.speculation.model.files.model_files import download_path, part_paths
from engine.values.errors import FetchFailed
from engine.values.sentences import say
from engine.values.targets import HubFile
from engine.values.whole_file import plain_file, whole_file

_NOTE = ".download.json"
_PART = ".part"
_HUB_FILE = TypeAdapter(HubFile)


class SavedDownloads:
    """The folder of downloaded models: where each file belongs, how much of it is there, and who may write it now. Any
    thread, and other programs, may use the same folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path_of(self, file: HubFile) -> Path:
        """Where the file, or its first part, is to be; always inside the folder. Raises FetchFailed for what no hub
        has."""
        if not is_hub_name(file.repository):
            raise FetchFailed(
                "“{repository}” is not a name on the hub; it must have the form owner/name.", repository=file.repository
            )
        return download_path(self._folder, file.repository, file.name)

    def holds(self, path: Path) -> bool:
        return path.is_relative_to(self._folder)

    def note(self, file: HubFile) -> None:
        """Lists the file as unfinished."""
        with whole_file(_note(self.path_of(file))) as note:
            note.write(_HUB_FILE.dump_json(file))

    def finish(self, file: HubFile) -> None:
        """The file is whole and no longer listed."""
        _note(self.path_of(file)).unlink(missing_ok=True)

    def list(self) -> tuple[tuple[HubFile, int], ...]:
        """Unfinished files with their bytes downloaded so far, by name. Invalid notes are left out."""
        found = []
        for note in sorted(self._folder.rglob(f"*{_NOTE}")) if self._folder.is_dir() else ():
            try:
                with plain_file(note) as opened:
                    file = _HUB_FILE.validate_json(opened.read())
                path = self.path_of(file)
            except (OSError, ValidationError, FetchFailed):
                continue
            if _note(path) == note:
                found.append((file, self.num_bytes(path)))
        return tuple(found)

    def num_bytes(self, path: Path) -> int:
        """Bytes downloaded so far of the model whose first part belongs at this path."""
        return sum(_size(found) for found in _pieces_of(path))

    def remove_other_versions(self, path: Path, names: set[str]) -> None:
        """Removes pieces of other versions of the model: all but those with these names."""
        for found in _pieces_of(path):
            if found.suffix == _PART and found.name not in names:
                found.unlink(missing_ok=True)

    def discard(self, file: HubFile) -> None:
        """Removes an unfinished download; a whole model stays. Raises FetchFailed."""
        path = self.path_of(file)
        if not _note(path).exists():
            return
        try:
            with self.locked(file):
                for found in _pieces_of(path):
                    if found != path or file.num_parts > 1:
                        found.unlink(missing_ok=True)
                for companion in file.companions:
                    self.remove_other_versions(self.path_of(companion), set())
                _note(path).unlink(missing_ok=True)
        except OSError as error:
            raise FetchFailed(
                "{name} cannot be removed ({reason}); fix that and try again.", name=path.name, reason=error.strerror
            ) from error
        self.remove_empty(path.parent)

    @contextmanager
    def locked(self, file: HubFile) -> Iterator[None]:
        """Locks the file against other downloads of it. Raises FetchFailed while one is running."""
        path = self.path_of(file)
        self._folder.mkdir(parents=True, exist_ok=True)
        inside = sha256(str(path.relative_to(self._folder)).encode()).hexdigest()[:16]  # folders make long names
        busy = say("{name} is being downloaded; pause that first, or wait until it is done.", name=path.name)
        with locked(self._folder / f".{inside}.lock", busy):
            yield

    def remove_empty(self, folder: Path) -> None:
        """Removes the folder and its parents, up to the folder of all models, as far as they are empty."""
        while folder != self._folder and folder.is_relative_to(self._folder):
            try:
                folder.rmdir()
            except OSError:
                return
            folder = folder.parent


@contextmanager
def locked(lock: Path, busy: str) -> Iterator[None]:
    """A lock between threads and programs. Raises FetchFailed with the sentence `busy` while another one holds it."""
    try:
        with filelock.FileLock(lock, timeout=0):
            yield
    except filelock.Timeout as error:
        raise FetchFailed(busy) from error


def _note(path: Path) -> Path:
    return path.with_name(f"{path.name}{_NOTE}")


def _pieces_of(path: Path) -> Iterator[Path]:
    """Whole parts, and pieces of unfinished ones."""
    for part in part_paths(path):
        if part.is_file():
            yield part
        for piece in path.parent.glob("*" + _PART):
            if re.fullmatch(re.escape(part.name) + r"\.[0-9a-f]{16}\.part", piece.name):
                yield piece


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
