"""The archive in which ChatGPT gives its export; only the conversations in it are read, and never unpacked."""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from engine.errors import ChatsUnreadable
from engine.exchange.json_stream import MOST_BYTES, Bytes

MOST_MEMBERS = 200_000  # pictures are in it too
_MOST_DIRECTORY_BYTES = 64 * 2**20

_CONVERSATIONS = re.compile(r"(.*/)?conversations(-\d+)?\.json")
_END = struct.Struct("<4s4H2LH")  # at the end of a file, before a comment: where its directory of members is
_END_MARK = b"PK\x05\x06"
_LONGEST_COMMENT = 2**16


def open_members(file: BinaryIO, path: Path) -> Iterator[Bytes]:
    """The files of conversations, one after the other. Raises ChatsUnreadable, and what zipfile raises."""
    _check_directory(file, path)
    with zipfile.ZipFile(file) as archive:
        found = sorted((info for info in archive.infolist() if _CONVERSATIONS.fullmatch(info.filename)), key=_name)
        if not found:
            raise ChatsUnreadable(f"{path.name} holds no conversations.json; choose the archive that ChatGPT gives.")
        if sum(info.file_size for info in found) > MOST_BYTES:
            raise ChatsUnreadable(
                f"The chats in {path.name} are too large; at most {MOST_BYTES // 2**20} MB are imported."
            )
        for info in found:
            with archive.open(info) as member:  # gives no more than `file_size`, whatever is in it
                yield member


def _name(info: zipfile.ZipInfo) -> str:
    return info.filename


def _check_directory(file: BinaryIO, path: Path) -> None:
    """Before zipfile takes it into memory, however large it says it is."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _END.size - _LONGEST_COMMENT))
    tail = file.read()
    place = tail.rfind(_END_MARK)
    if place < 0 or len(tail) - place < _END.size:
        raise ChatsUnreadable(f"{path.name} is cut off; download it again.")
    _, _, _, _, num_members, num_bytes, _, _ = _END.unpack_from(tail, place)
    if num_members > MOST_MEMBERS or (num_bytes > _MOST_DIRECTORY_BYTES and num_bytes != 0xFFFFFFFF):
        raise ChatsUnreadable(f"{path.name} has too many files in it; choose the archive that ChatGPT gives.")
    file.seek(0)
