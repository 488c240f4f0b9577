"""Opens a file of conversations: JSON itself, or the archive in which ChatGPT gives its export."""

from __future__ import annotations

import lzma
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from typing import BinaryIO

from engine.errors import FileUnusable
from engine.exchange.json_stream import MOST_BYTES, Bytes

MOST_MEMBERS = 200_000  # pictures are in it too
_MOST_DIRECTORY_BYTES = 64 * 2**20

_CONVERSATIONS = re.compile(r"(.*/)?conversations(-\d+)?\.json")
_END = struct.Struct("<4s4H2LH")  # at the end of a file, before a comment: where its directory of members is
_END_MARK = b"PK\x05\x06"
_LONGEST_COMMENT = 2**16

# What zipfile raises for archives that are not whole, encrypted, or packed in a way it does not know.
_DAMAGED = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError, struct.error)


@contextmanager
def open_files(path: Path) -> Iterator[Iterator[Bytes]]:
    """The JSON files at a path: the file itself, or those in the archive."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # reading a pipe might never end
            raise FileUnusable(f"{path.name} is no file; choose a file with chats.")
        with path.open("rb") as file:
            if file.read(4) == b"PK\x03\x04":
                file.seek(0)
                yield _members(file, path)
            elif status.st_size > MOST_BYTES:
                raise FileUnusable(
                    f"{path.name} is too large; chats are imported from at most {MOST_BYTES // 2**20} MB."
                )
            else:
                file.seek(0)
                yield iter((file,))
    except FileNotFoundError as error:
        raise FileUnusable(f"{path.name} is not there any more; choose another file.") from error
    except _DAMAGED as error:
        raise FileUnusable(f"{path.name} is damaged or encrypted; download it again.") from error
    except OSError as error:
        raise FileUnusable(f"{path.name} cannot be read ({error.strerror or 'damaged'}); choose another.") from error


def _members(file: BinaryIO, path: Path) -> Iterator[Bytes]:
    """The files of conversations in ChatGPT's archive, one after the other; nothing is unpacked.

    Raises FileUnusable, and what zipfile raises.
    """
    _check_directory(file, path)
    with zipfile.ZipFile(file) as archive:
        found = [info for info in archive.infolist() if _CONVERSATIONS.fullmatch(info.filename)]
        found.sort(key=attrgetter("filename"))
        if not found:
            raise FileUnusable(f"{path.name} holds no conversations.json; choose the archive that ChatGPT gives.")
        if sum(info.file_size for info in found) > MOST_BYTES:
            raise FileUnusable(
                f"The chats in {path.name} are too large; at most {MOST_BYTES // 2**20} MB are imported."
            )
        for info in found:
            with archive.open(info) as member:  # gives no more than `file_size`, whatever is in it
                yield member


def _check_directory(file: BinaryIO, path: Path) -> None:
    """Before zipfile takes it into memory, however large it says it is."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _END.size - _LONGEST_COMMENT))
    tail = file.read()
    place = tail.rfind(_END_MARK)
    if place < 0 or len(tail) - place < _END.size:
        raise FileUnusable(f"{path.name} is cut off; download it again.")
    _, _, _, _, num_members, num_bytes, _, _ = _END.unpack_from(tail, place)
    if num_members > MOST_MEMBERS or (num_bytes > _MOST_DIRECTORY_BYTES and num_bytes != 0xFFFFFFFF):
        raise FileUnusable(f"{path.name} has too many files in it; choose the archive that ChatGPT gives.")
    file.seek(0)
