"""The quantization of the starter that is used in place of the installed file: in the data folder, with a note.

Another starter, as a new version may bring, begins without one.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from engine.values.errors import FileUnusable
from engine.values.whole_file import plain_file, private_folder, whole_file

_FOLDER = "starter"
_NOTE = "form.json"
_DIGEST_LENGTH = 16  # characters


@dataclass(frozen=True, slots=True)
class _Note:
    file: str = ""  # name of the file that is used; empty: the installed one
    is_wish: bool = False  # the user asked for the installed one


_ADAPTER = TypeAdapter(_Note)


class StarterForm:
    """The quantization for the starter with this identity."""

    def __init__(self, data_dir: Path, identity: str) -> None:
        self.folder = data_dir / _FOLDER / identity.removeprefix("file:")[:_DIGEST_LENGTH]

    @property
    def path(self) -> Path | None:
        """The file that is used; None: the installed one."""
        note = self._read()
        if note is None or not note.file:
            return None
        path = self.folder / Path(note.file).name
        return path if path.is_file() else None

    @property
    def is_undone(self) -> bool:
        """True if the user asked for the starter as installed."""
        note = self._read()
        return note is not None and note.is_wish

    def use(self, made: Path | None, is_wish: bool = False) -> None:
        """Uses this file, which is moved here from the same disk, the next time the starter is loaded; None: the
        installed one. Raises FileUnusable."""
        try:
            private_folder(self.folder)
            name = "" if made is None else made.name
            if made is not None:
                made.replace(self.folder / name)
            with whole_file(self.folder / _NOTE) as file:
                file.write(_ADAPTER.dump_json(_Note(name, is_wish)))
        except OSError as error:
            raise FileUnusable(
                "The starter model's quantization in {folder} cannot be changed ({reason}); fix that and try again.",
                folder=self.folder,
                reason=error.strerror,
            ) from error
        for other in self.folder.glob("*.gguf"):
            if other.name != name:
                with suppress(OSError):  # it may be loaded; the next change removes it
                    other.unlink()

    def _read(self) -> _Note | None:
        try:
            with plain_file(self.folder / _NOTE) as file:
                return _ADAPTER.validate_json(file.read())
        except (OSError, ValidationError):
            return None
