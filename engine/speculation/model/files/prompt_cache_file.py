"""A file with one part of a prompt cache: what a target holds of some tokens, for which model and tokens that is, and a
digest of it all. llama.cpp trusts the bytes that it restores, so they are bounded and checked here before it sees them.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from engine.speculation.model.interface import SavedPart
from engine.values.whole_file import plain_file, whole_file

_MAGIC = b"SLPREAD1"
_HEAD = struct.Struct("<8s16s16s16sIIQ")  # magic, model, layout, what it follows, start, tokens, bytes
_DIGEST_BYTES = 32
_MOST_TOKENS = 1 << 24
_MOST_BYTES = 1 << 36

Tokens = npt.NDArray[np.int32]  # shape (tokens,)


class PartUnusable(Exception):
    """The file is damaged, cut off, or of something else."""


@dataclass(frozen=True, slots=True)
class CacheKey:
    """What a cached part is for: digests of the model's identity and of the target's layout."""

    model: bytes
    layout: bytes

    @classmethod
    def of(cls, identity: str, layout: str) -> CacheKey:
        return cls(_digest(identity.encode()), _digest(layout.encode()))

    @property
    def root(self) -> bytes:
        """What the first part of every chat follows."""
        return _digest(self.model + self.layout)


def digest_of(follows: bytes, tokens: Sequence[int] | Tokens) -> bytes:
    """Names what ends with these tokens: all tokens before them count by the digest that they follow."""
    return _digest(follows + np.asarray(tokens, np.int32).tobytes())


def write_part(path: Path, key: CacheKey, follows: bytes, tokens: Sequence[int], part: SavedPart) -> int:
    """Returns the bytes written. Raises OSError."""
    head = _HEAD.pack(_MAGIC, key.model, key.layout, follows, part.start, len(tokens), len(part.data))
    digest = hashlib.sha256()
    with whole_file(path) as file:
        for piece in (head, np.asarray(tokens, np.int32).tobytes(), part.data.data):
            digest.update(piece)
            file.write(piece)
        file.write(digest.digest())
        return file.tell()


def read_tokens(path: Path, key: CacheKey, follows: bytes) -> Tokens:
    """Of the part in this file, by reading its beginning alone. Raises PartUnusable."""
    try:
        with plain_file(path) as file:
            _, count, _ = _checked(file.read(_HEAD.size), os.fstat(file.fileno()).st_size, key, follows)
            return np.frombuffer(file.read(4 * count), np.int32)
    except OSError as error:
        raise PartUnusable(error.strerror) from error


def read_part(path: Path, key: CacheKey, follows: bytes) -> SavedPart:
    """All of it is checked. Raises PartUnusable."""
    try:
        with plain_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            start, count, _ = _checked(file.read(_HEAD.size), size, key, follows)
            file.seek(0)
            content = np.fromfile(file, np.uint8, size)
    except (OSError, MemoryError) as error:
        raise PartUnusable(str(error)) from error
    if (
        len(content) != size
        or hashlib.sha256(content[:-_DIGEST_BYTES].data).digest() != content[-_DIGEST_BYTES:].tobytes()
    ):
        raise PartUnusable("its bytes have changed")
    return SavedPart(content[_HEAD.size + 4 * count : -_DIGEST_BYTES], start, start + count)


def _checked(head: bytes, size: int, key: CacheKey, follows: bytes) -> tuple[int, int, int]:
    """The start, and the numbers of tokens and bytes, that fit the size of the file."""
    if len(head) < _HEAD.size:
        raise PartUnusable("it is cut off")
    magic, model, layout, before, start, count, num_bytes = _HEAD.unpack(head)
    if (magic, model, layout, before) != (_MAGIC, key.model, key.layout, follows):
        raise PartUnusable("it is of something else")
    is_bounded = start <= _MOST_TOKENS and 0 < count <= _MOST_TOKENS and num_bytes <= _MOST_BYTES
    if not is_bounded or size != _HEAD.size + 4 * count + num_bytes + _DIGEST_BYTES:
        raise PartUnusable("its size does not fit")
    return start, count, num_bytes


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()[:16]
