"""The identity of a target, wherever its file is.

Its identity keys its settings, last use and statistics, and the user's choice of a target. The fingerprint of its
vocabulary (`Vocabulary.fingerprint`) keys recall, n-grams, lessons and adapters: they serve every target with the same
tokens.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from engine.speculation.model.files.model_files import part_paths

_HEADER_BYTES = 8 << 20  # hashed from the start of the first part; the longest headers known are about as long
_SAMPLE_BYTES = 64 << 10
_STAMP_LENGTH = 32  # characters
_NUM_SAMPLES = 16  # of the weights, evenly spread over all parts, and at least one of each


def file_identity(path: Path) -> str:
    """`file:` and a digest of the header, the sizes of all parts and samples of the weights.

    Reads some MiB at most, so that the largest file takes a few hundredths of a second. Empty if a part is missing or
    cannot be read.
    """
    digest = hashlib.sha256()
    parts = part_paths(path)
    try:
        for part in parts:
            if not part.is_file():
                return ""
            with part.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                digest.update(size.to_bytes(8, "little"))
                header_bytes = _HEADER_BYTES if part is parts[0] else 0
                for start, count in _ranges(size, header_bytes, max(1, _NUM_SAMPLES // len(parts))):
                    file.seek(start)
                    digest.update(file.read(count))
    except OSError:
        return ""
    return f"file:{digest.hexdigest()}"


def file_stamp(path: Path) -> str:
    """A stamp that shows a file untouched without reading all of it: a digest of the sizes of all parts and of the
    times at which they and their entries were last changed. The second kind of time cannot be set back, where the
    system keeps it. Empty if a part is missing or cannot be read."""
    try:
        states = [part.stat() for part in part_paths(path)]
    except (OSError, ValueError):
        return ""
    times = [(state.st_size, state.st_mtime_ns, state.st_ctime_ns) for state in states]
    return hashlib.sha256(repr(times).encode()).hexdigest()[:_STAMP_LENGTH]


def _ranges(size: int, header_bytes: int, num_samples: int) -> Iterator[tuple[int, int]]:
    """The places to read, and how many bytes: the header, then samples of the rest, the last one at its end."""
    yield 0, header_bytes
    rest = max(0, size - header_bytes - _SAMPLE_BYTES)
    for number in range(1, num_samples + 1):
        yield header_bytes + rest * number // num_samples, _SAMPLE_BYTES
