"""Checks that this CPU still has what llama.cpp was compiled for: an environment may be moved, or a virtual machine."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from engine.speculation.model.llama.extensions import lacking, usable_flags
from engine.values.errors import MendableError

RECORD = Path(
    sys.prefix, "llama-cpp-options"
)  # written by packaging/setup.sh; a bundle has none, it chooses at run time


def check_build() -> None:
    """Raises MendableError if the first pass would end the process. Says nothing of a build that was not made here,
    such as one that LLAMA_CPP_LIB_PATH names."""
    if "LLAMA_CPP_LIB_PATH" in os.environ:
        return
    options = ""
    with suppress(OSError):
        options = RECORD.read_text(encoding="utf-8")
    flags = usable_flags()
    if flags and (missing := lacking(options, flags)):  # without flags nothing is known
        raise MendableError(
            "llama.cpp was compiled for another processor; this one lacks {missing}. Run `make setup` in "
            "Slipstream's source folder to compile it for this one.",
            missing=", ".join(missing),
        )
