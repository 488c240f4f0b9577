"""Writes the starter with its weights in another form, to measure with.

python -m tests.benchmarks.requantized starter-q4_0.gguf [--form Q4_0]
"""

from __future__ import annotations

import argparse
from pathlib import Path

from llama_cpp import llama_cpp as lib

from engine import starter_path

FORMS = ("Q4_0", "Q4_1", "Q4_K_M", "IQ4_NL", "Q8_0")


def requantize(out: Path, form: str = "Q4_0") -> None:
    """From weights that are 4-bit already, and so a little worse than the starter, except as Q8_0."""
    parameters = lib.llama_model_quantize_default_params()
    parameters.ftype = getattr(lib, f"LLAMA_FTYPE_MOSTLY_{form}")
    parameters.allow_requantize = True
    result = lib.llama_model_quantize(str(starter_path()).encode(), str(out).encode(), parameters)
    if result != 0:
        raise SystemExit(f"llama.cpp could not write {out}.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--form", choices=FORMS, default="Q4_0")
    options = parser.parse_args()
    requantize(options.out, options.form)
