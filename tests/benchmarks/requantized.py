"""Writes the starter with its weights in another quantization, to measure with.

python -m tests.benchmarks.requantized starter-q4_0.gguf
"""

from __future__ import annotations

import sys
from pathlib import Path

from llama_cpp import llama_cpp as lib

from engine import starter_path


def requantize(out: Path) -> None:
    """As Q4_0, from weights that are 4-bit already, and so a little worse than the starter."""
    parameters = lib.llama_model_quantize_default_params()
    parameters.ftype = lib.LLAMA_FTYPE_MOSTLY_Q4_0
    parameters.allow_requantize = True
    result = lib.llama_model_quantize(str(starter_path()).encode(), str(out).encode(), parameters)
    if result != 0:
        raise SystemExit(f"llama.cpp could not write {out}.")


if __name__ == "__main__":
    requantize(Path(sys.argv[1]))
