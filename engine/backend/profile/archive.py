"""The outer form of a profile, and why one cannot be used: a zip whose members are stored as they are.

Nothing is compressed: numbers hardly shrink, and so no small file can grow into a large one. Members are only read into
memory, one at a time, never unpacked into a folder.
"""

from __future__ import annotations

import os
import re
import stat
import struct
import weakref
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from engine.values.errors import FileUnusable
from engine.values.sentences import say
from engine.values.whole_file import whole_file

MOST_BYTES = 512 * 2**20  # of a profile
MOST_MEMBER_BYTES = 48 * 2**20  # an adapter of the starter takes 20; several copies are in memory for a moment
MOST_MEMBERS = 1000

_MOST_DIRECTORY_BYTES = 256 * MOST_MEMBERS
_MEMBER_NAME = re.compile(r"[a-z0-9]+(/[a-z0-9]+)?\.(json|safetensors)")
_AGAIN = say("copy it again from where it came from, or export it again")
_ENCRYPTED = 0x1 | 0x40 | 0x2000  # of a member's flags
_NO_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest that zip knows: the same content makes the same file

# At the end of a file: where its directory of members is. Larger archives have another record before it.
_END = struct.Struct("<4s4H2LH")
_END_MARK = b"PK\x05\x06"
_LARGE_MARK = b"PK\x06\x07"
_LARGE_BYTES = 20

# What zipfile raises for files that are no archives, or not whole.
_DAMAGED = (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, ValueError, RuntimeError, LookupError, struct.error)


def write_archive(path: Path, members: Mapping[str, bytes], overwrite: bool = False) -> None:
    """Whole or not at all, and readable by this user alone. Raises FileUnusable."""
    sizes = [len(content) for content in members.values()]
    if sum(sizes) > MOST_BYTES or max(sizes, default=0) > MOST_MEMBER_BYTES or len(members) > MOST_MEMBERS:
        raise too_much()
    _check_free(path, overwrite)
    try:
        with whole_file(path) as file:
            _write(file, members)
            _check_free(path, overwrite)
    except OSError as error:
        raise FileUnusable(
            "The profile cannot be written to {path} ({reason}); name a file in a folder that exists and has room.",
            path=path,
            reason=error.strerror,
        ) from error


class Archive(Mapping[str, bytes]):
    """The members of a profile by their names. Each is read when it is asked for, as all of them may be more than fits
    into the memory. Raises FileUnusable where that fails."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path = path
        weakref.finalize(self, file.close)
        size = os.fstat(file.fileno()).st_size
        if size > MOST_BYTES + _MOST_DIRECTORY_BYTES:
            raise damaged(path, say("it is larger than {most} MB", most=MOST_BYTES // 10**6))
        _check_end(path, file, size)
        with _reading(path):
            self._archive = zipfile.ZipFile(file)
            self._infos = _infos(path, self._archive, size)

    def __getitem__(self, name: str) -> bytes:
        info = self._infos[name]
        with _reading(self._path), self._archive.open(info) as member:
            content = member.read(info.file_size + 1)
        if len(content) != info.file_size:
            raise damaged(self._path, say("a member is shorter than it claims"))
        return content

    def __iter__(self) -> Iterator[str]:
        return iter(self._infos)

    def __len__(self) -> int:
        return len(self._infos)


def read_archive(path: Path) -> Archive:
    """All members by their names. Raises FileUnusable for an invalid file."""
    with _reading(path):
        if not stat.S_ISREG(path.stat().st_mode):  # reading a pipe might never end
            raise not_used(path, say("is not a file"), say("name a profile that was exported"))
        archive = Archive(path, path.open("rb"))
        for name in archive:
            archive[name]  # may raise
        return archive


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except _DAMAGED as error:
        raise damaged(path, say("its members cannot be read")) from error
    except FileNotFoundError as error:
        raise FileUnusable("There is no file {path}; name a profile that was exported.", path=path) from error
    except OSError as error:
        raise FileUnusable(
            "The file {path} cannot be read ({reason}); name a profile that you may read.",
            path=path,
            reason=error.strerror,
        ) from error


def _check_free(path: Path, overwrite: bool) -> None:
    if path.is_dir():
        raise FileUnusable("A folder stands where the profile {path} should be; name a file.", path=path)
    if path.exists() and not overwrite:
        raise FileUnusable(
            "The file {path} already exists; choose another name, or add --force to overwrite it.", path=path
        )


def _write(file: BinaryIO, members: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=False) as archive:
        for name, content in members.items():
            assert _MEMBER_NAME.fullmatch(name)
            archive.writestr(zipfile.ZipInfo(name, _NO_DATE), content)


def _check_end(path: Path, file: BinaryIO, size: int) -> None:
    """Checks what zipfile would trust: it takes the directory into memory, however large that says it is."""
    file.seek(max(0, size - _END.size - _LARGE_BYTES))
    tail = file.read()
    if len(tail) < _END.size:
        raise damaged(path, say("it is not a zip file"))
    mark, disk, first_disk, here, in_all, num_bytes, begin, comment = _END.unpack(tail[-_END.size :])
    if mark != _END_MARK or comment:
        raise damaged(path, say("it is not a zip file, or was cut off"))
    if tail.startswith(_LARGE_MARK):
        raise damaged(path, say("it does not end the way Slipstream writes profiles"))
    if in_all > MOST_MEMBERS + 1 or num_bytes > _MOST_DIRECTORY_BYTES:
        raise damaged(path, say("it has too many members"))
    if disk or first_disk or here != in_all or begin + num_bytes + _END.size != size:
        raise damaged(path, say("it does not end the way Slipstream writes profiles"))


def _infos(path: Path, archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    infos = archive.infolist()
    found = {info.orig_filename: info for info in infos}
    if len(found) < len(infos):
        raise damaged(path, say("two members have the same name"))
    for name, info in found.items():
        if not _MEMBER_NAME.fullmatch(name):
            raise damaged(path, say("a member has a name that Slipstream never uses"))
        if info.flag_bits & _ENCRYPTED:
            raise damaged(path, say("a member is encrypted"))
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            raise damaged(path, say("a member is compressed"))
        if info.file_size > MOST_MEMBER_BYTES:
            raise damaged(path, say("a member is larger than any that Slipstream writes"))
    if sum(info.file_size for info in infos) > size:
        raise damaged(path, say("its members claim to be larger than the file"))
    return found


def not_used(path: Path, why: str, what_to_do: str = _AGAIN) -> FileUnusable:
    """`why` continues the sentence that begins with the path."""
    return FileUnusable("The profile {path} {why}; {what_to_do}.", path=path, why=why, what_to_do=what_to_do)


def damaged(path: Path, what: str) -> FileUnusable:
    """`what` is wrong with it. Never in words of the file itself, which are anybody's."""
    return not_used(path, say("is damaged or was not written by Slipstream ({what})", what=what))


def too_much() -> FileUnusable:
    return FileUnusable(
        "What was learned does not fit into a profile; export it without recall, or forget what was learned."
    )
