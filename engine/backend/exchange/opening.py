"""Opens a file of conversations: JSON itself, or the archive in which ChatGPT gives its export."""

from __future__ import annotations

import io
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path

from engine.backend.exchange.json_stream import MOST_BYTES, Bytes
from engine.values.errors import FileUnusable

MOST_FILES = 1000  # of chats, in an archive
_MOST_READ = 8 * 2**20  # bytes at once: the directory of an archive with some fifty thousand pictures

_CONVERSATIONS = re.compile(r"(.*/)?conversations(-\d+)?\.json")
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # of others, Python unpacks any number of bytes at once

# What zipfile raises for archives that are not whole, encrypted, or packed in a way it does not know.
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, struct.error)


class _WatchedFile(io.BufferedReader):
    """The file that zipfile reads: it takes the directory of an archive into memory, however large that claims to
    be."""

    def __init__(self, path: Path, check: Callable[[], None]) -> None:
        super().__init__(io.FileIO(path))
        self._check = check

    def read(self, size: int | None = -1, /) -> bytes:
        self._check()
        most = _MOST_READ + 1
        found = super().read(most if size is None or size < 0 else min(size, most))
        if len(found) == most:
            raise FileUnusable(
                "{name} contains too many files; choose ChatGPT's own archive.", name=Path(str(self.name)).name
            )
        return found


@contextmanager
def open_files(path: Path, check: Callable[[], None] = lambda: None) -> Iterator[Iterator[Bytes]]:
    """The JSON files at a path: the file itself, or those in the archive. `check` is called as it is read."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # reading a pipe might never end
            raise FileUnusable("{name} is not a file; choose a file with chats.", name=path.name)
        with _WatchedFile(path, check) as file:
            is_archive = file.read(4) == b"PK\x03\x04"
            file.seek(0)
            if is_archive:
                yield _members(file, path)
            elif status.st_size > MOST_BYTES:
                raise FileUnusable(
                    "{name} is too large; chat files may have at most {most} MB.",
                    name=path.name,
                    most=MOST_BYTES // 2**20,
                )
            else:
                yield iter((file,))
    except FileNotFoundError as error:
        raise FileUnusable("{name} is no longer there; choose another file.", name=path.name) from error
    except _DAMAGED as error:
        raise FileUnusable("{name} is damaged, cut off or encrypted; download it again.", name=path.name) from error
    except OSError as error:
        raise FileUnusable(
            "{name} cannot be read ({reason}); choose another file.", name=path.name, reason=error.strerror or "damaged"
        ) from error


def _members(file: _WatchedFile, path: Path) -> Iterator[Bytes]:
    """The files of conversations in ChatGPT's archive, one after the other; nothing is unpacked.

    Raises FileUnusable, and what zipfile raises.
    """
    with zipfile.ZipFile(file) as archive:
        found = [info for info in archive.infolist() if _CONVERSATIONS.fullmatch(info.filename)]
        found.sort(key=attrgetter("filename"))
        if not found:
            raise FileUnusable(
                "{name} contains no conversations.json; choose the archive that ChatGPT provides.", name=path.name
            )
        if len(found) > MOST_FILES or sum(info.file_size for info in found) > MOST_BYTES:
            raise FileUnusable(
                "The chats in {name} are too large; at most {most} MB are imported.",
                name=path.name,
                most=MOST_BYTES // 2**20,
            )
        if len({info.filename for info in found}) < len(found):
            raise FileUnusable(
                "Two files in {name} have the same name; choose the archive that ChatGPT provides.", name=path.name
            )
        if any(info.compress_type not in _PACKED for info in found):
            raise FileUnusable(
                "{name} is packed in an unusual way; choose the archive that ChatGPT provides.", name=path.name
            )
        archive.filelist, archive.NameToInfo = found, {}  # the others took far more memory than all chats may
        for info in found:
            with archive.open(info) as member:  # gives no more than `file_size`, whatever is in it
                yield member
