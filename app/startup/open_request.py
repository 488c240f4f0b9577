"""What one start of Slipstream asks of the one that is open already: to come forward, and to open files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from engine.values.errors import MendableError

MOST_BYTES = 256 * 1024  # of a request
_MOST_FILES = 100
_MOST_CHARACTERS = 8192  # of a path
_MOST_OF_TOKEN = 512
_VERSION = 1


class CannotOpenFile(MendableError):
    """What was to be opened is not there."""


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """Paths are absolute. `token` is what a Wayland desktop gives a start so that its window may come to the front."""

    files: tuple[Path, ...] = ()
    token: str = ""

    @classmethod
    def of(cls, files: Iterable[Path]) -> OpenRequest:
        """Reads files from the command line. Raises CannotOpenFile."""
        found = tuple(file.absolute() for file in files)
        for file in found:
            if not is_there(file):
                raise CannotOpenFile(f"There is no file {file}; check its name.")
        if len(found) > _MOST_FILES:
            raise CannotOpenFile(f"These are {len(found)} files; open at most {_MOST_FILES} at once.")
        return cls(found, os.environ.get("XDG_ACTIVATION_TOKEN", "")[:_MOST_OF_TOKEN])

    def to_bytes(self) -> bytes:
        files = [str(file) for file in self.files]
        return json.dumps({"version": _VERSION, "files": files, "token": self.token}).encode() + b"\n"

    @classmethod
    def from_bytes(cls, line: bytes) -> OpenRequest:
        """Reads only what `to_bytes` writes. Raises ValueError for anything else."""
        if len(line) > MOST_BYTES:
            raise ValueError("too long")
        match json.loads(line):
            case {"version": version, "files": [*files], "token": str(token)} if (
                version == _VERSION
                and len(files) <= _MOST_FILES
                and all(map(_is_absolute, files))
                and len(token) <= _MOST_OF_TOKEN
                and token.isprintable()
            ):
                return cls(tuple(map(Path, files)), token)
        raise ValueError("no request")


def _is_absolute(file: object) -> bool:
    return isinstance(file, str) and len(file) <= _MOST_CHARACTERS and "\0" not in file and Path(file).is_absolute()


def is_there(file: Path) -> bool:
    try:
        return file.exists()
    except OSError:  # a name no file can have
        return False
