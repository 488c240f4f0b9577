"""Conversations that were read and are not written yet, kept on the disk: those of a large archive would fill the
memory."""

from __future__ import annotations

import base64
import binascii
import os
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import NamedTuple

from pydantic import TypeAdapter

from engine.values.conversations import ConversationTree
from engine.values.errors import FileUnusable
from engine.values.pictures import MOST_BYTES, Picture
from engine.values.prompts import pictures_in

_IN_MEMORY = 2**24  # bytes; more than most files of chats take
_MOST_PICTURES = 5_000  # that are looked at, which takes minutes; others count as absent

_TREE = TypeAdapter(ConversationTree)

SizesOf = Callable[[Iterable[bytes]], Sequence[tuple[int, int] | None]]


class PicturePiece(NamedTuple):
    """Where a piece of a picture is kept."""

    place: int
    size: int


@dataclass(frozen=True, slots=True)
class _KeptPictures:
    """Those of a tree that are sound, one after the other."""

    _find: Callable[[str], Picture]
    _digests: Sequence[str]

    def __iter__(self) -> Iterator[Picture]:
        return map(self._find, self._digests)


class KeptTrees:
    """Trees in the order in which they were added, as often as they are iterated. The file has no name that another
    program could open, and goes with this object."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 (closed by the next line)
        weakref.finalize(self, self._file.close)
        self._trees: list[PicturePiece] = []
        self._pictures: dict[str, Sequence[PicturePiece]] = {}  # by digest
        self._sizes: dict[str, tuple[int, int]] = {}  # widths and heights of those that are sound

    def __len__(self) -> int:
        return len(self._trees)

    def add(self, tree: ConversationTree, pictures: Mapping[str, Sequence[PicturePiece]]) -> None:
        """`pictures`: by digest, in pieces that `put_aside` returned. Raises FileUnusable where the disk is full."""
        self._trees.append(self._written(_TREE.dump_json(tree, exclude={"pictures"})))
        for digest in pictures_in(message.text for message in tree.messages):
            pieces = pictures.get(digest, ())
            if 0 < sum(piece.size for piece in pieces) <= MOST_BYTES and len(self._pictures) < _MOST_PICTURES:
                self._pictures.setdefault(digest, pieces)

    def put_aside(self, text: str) -> PicturePiece | None:
        """Part of a picture, in base 64; None for what is not. Raises FileUnusable where the disk is full."""
        try:
            return self._written(base64.b64decode(text, validate=True))
        except (binascii.Error, ValueError):
            return None

    def look_at_pictures(self, sizes_of: SizesOf) -> None:
        """Only those that have a width and a height come with their trees. To be called when all trees were added."""
        sizes = sizes_of(map(self._data_of, self._pictures))
        self._sizes = {digest: size for digest, size in zip(self._pictures, sizes, strict=True) if size}

    def __iter__(self) -> Iterator[ConversationTree]:
        for piece in self._trees:
            tree = _TREE.validate_json(self._read(piece))
            digests = [each for each in pictures_in(one.text for one in tree.messages) if each in self._sizes]
            yield replace(tree, pictures=_KeptPictures(self._picture, digests)) if digests else tree

    def _picture(self, digest: str) -> Picture:
        return Picture(digest, self._data_of(digest), *self._sizes[digest])

    def _data_of(self, digest: str) -> bytes:
        """Empty where it is not what its digest says."""
        data = b"".join(map(self._read, self._pictures[digest]))
        return data if sha256(data).hexdigest() == digest else b""

    def _read(self, piece: PicturePiece) -> bytes:
        self._file.seek(piece.place)
        return self._file.read(piece.size)

    def _written(self, data: bytes) -> PicturePiece:
        try:
            return PicturePiece(self._file.seek(0, os.SEEK_END), self._file.write(data))
        except OSError as error:
            raise FileUnusable(
                "The disk for temporary files is full ({reason}); free some space and try again.",
                reason=error.strerror,
            ) from error
