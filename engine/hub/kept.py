"""Where downloaded models are, and which of them wait to go on. Asks nobody on the network.

A model is in `<models>/<owner>--<name>/`. Beside its downloaded part is a note of what it is to be, which is removed
when the model is whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import filelock
from pydantic import TypeAdapter, ValidationError

from engine.drafter.choice import is_hub_name
from engine.errors import FetchFailed
from engine.messages.targets import HubFile
from engine.target.model_files import is_gguf, part_paths

_NOTE = ".download.json"
_PART = ".part"
_UNUSUAL = re.compile(r"[^\w .()+,=@~-]", re.ASCII)  # what some system forbids in names
_RESERVED = re.compile(r"(?:CON|PRN|AUX|NUL|COM\d|LPT\d)(?:\..*)?", re.IGNORECASE)  # Windows' own
_LONGEST = 180  # bytes of a name, to leave room for the endings of parts and notes
_DEEPEST = 4  # folders of a repository
_HUB_FILE = TypeAdapter(HubFile)


class KeptDownloads:
    """Any thread, and other programs, may use the same folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path_of(self, file: HubFile) -> Path:
        """Where the file, or its first part, is to be; always inside the folder. Raises FetchFailed for what no hub
        has."""
        if not is_hub_name(file.repository):
            raise FetchFailed(f"“{file.repository}” is no name on the hub; it must have the form owner/name.")
        *folders, name = [_safe(piece) for piece in file.name.split("/") if piece.strip(" .")] or [""]
        if not is_gguf(name) or len(folders) > _DEEPEST:
            raise FetchFailed(f"“{file.name}” is no model file; choose one that ends in .gguf.")
        return self._folder.joinpath(file.repository.replace("/", "--"), *folders, name)

    def note(self, file: HubFile) -> None:
        """From now on it is listed."""
        note = _note(self.path_of(file))
        new = note.with_name(f"{note.name}{_PART}")
        new.write_bytes(_HUB_FILE.dump_json(file))
        new.replace(note)

    def finish(self, file: HubFile) -> None:
        """It is whole, and no longer listed."""
        _note(self.path_of(file)).unlink(missing_ok=True)

    def list(self) -> tuple[tuple[HubFile, int], ...]:
        """Those that were begun and are not whole, with the bytes that are here; by name. Notes that make no sense
        are left out."""
        found = []
        for note in sorted(self._folder.rglob(f"*{_NOTE}")) if self._folder.is_dir() else ():
            try:
                file = _HUB_FILE.validate_json(note.read_bytes())
                path = self.path_of(file)
            except (OSError, ValidationError, FetchFailed):
                continue
            if _note(path) == note:
                found.append((file, self.num_bytes(path)))
        return tuple(found)

    def num_bytes(self, path: Path) -> int:
        """That have arrived of the model whose first part is to be here."""
        return sum(_size(arrived) for arrived in _arrived(path))

    def keep_pieces(self, path: Path, names: set[str]) -> None:
        """Removes what has arrived of other versions than these pieces are of."""
        for arrived in _arrived(path):
            if arrived.suffix == _PART and arrived.name not in names:
                arrived.unlink(missing_ok=True)

    def discard(self, file: HubFile) -> None:
        """Removes what has arrived, and only that: a model that is whole stays. Raises FetchFailed."""
        path = self.path_of(file)
        if not _note(path).exists():
            return
        try:
            with self.alone(file):
                for arrived in _arrived(path):
                    if arrived != path or file.num_parts > 1:
                        arrived.unlink(missing_ok=True)
                _note(path).unlink(missing_ok=True)
        except OSError as error:
            raise FetchFailed(f"{path.name} cannot be removed ({error.strerror}); mend that and try again.") from error
        self.remove_empty(path.parent)

    @contextmanager
    def alone(self, file: HubFile) -> Iterator[None]:
        """Two that write the same file would spoil it. Raises FetchFailed."""
        path = self.path_of(file)
        self._folder.mkdir(parents=True, exist_ok=True)
        inside = sha256(str(path.relative_to(self._folder)).encode()).hexdigest()[:16]  # folders make long names
        busy = f"{path.name} is being downloaded; pause that first, or wait until it is done."
        with alone(self._folder / f".{inside}.lock", busy):
            yield

    def remove_empty(self, folder: Path) -> None:
        """The folder, and those around it up to that of all models, unless something is in them."""
        while folder != self._folder and folder.is_relative_to(self._folder):
            try:
                folder.rmdir()
            except OSError:
                return
            folder = folder.parent


@contextmanager
def alone(lock: Path, busy: str) -> Iterator[None]:
    """Keeps two apart that would write the same file, also in two programs. Raises FetchFailed with the sentence `busy`
    while another one is inside."""
    try:
        with filelock.FileLock(lock, timeout=0):
            yield
    except filelock.Timeout as error:
        raise FetchFailed(busy) from error


def _note(path: Path) -> Path:
    return path.with_name(f"{path.name}{_NOTE}")


def _arrived(path: Path) -> Iterator[Path]:
    """Parts that are whole, and pieces of those that are not."""
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


def _safe(name: str) -> str:
    """A name that every system takes, and that leads nowhere else."""
    cleaned = _UNUSUAL.sub("_", name).strip(" .")
    if _RESERVED.fullmatch(cleaned):
        cleaned = f"_{cleaned}"
    while len(cleaned.encode()) > _LONGEST:
        cleaned = cleaned[1:]  # the end holds the quantization, the part and the format
    return cleaned or "_"
