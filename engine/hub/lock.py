"""Keeps two that would write the same file apart, also in two programs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock

from engine.errors import FetchFailed


@contextmanager
def alone(lock: Path, busy: str) -> Iterator[None]:
    """Raises FetchFailed with the sentence `busy` while another one is inside."""
    try:
        with filelock.FileLock(lock, timeout=0):
            yield
    except filelock.Timeout as error:
        raise FetchFailed(busy) from error
