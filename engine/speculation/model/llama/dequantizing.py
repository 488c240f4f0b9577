"""Dequantizes tensors with llama.cpp's own functions, which take a tenth of the time of numpy's."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from gguf import GGMLQuantizationType
from gguf.quants import dequantize, quant_shape_from_byte_shape
from llama_cpp import llama_cpp as lib

_OF_FLOATS = {
    GGMLQuantizationType.F16: "ggml_fp16_to_fp32_row",
    GGMLQuantizationType.BF16: "ggml_bf16_to_fp32_row",
}


def dequantized(data: npt.NDArray[np.uint8], kind: GGMLQuantizationType) -> npt.NDArray[np.float32]:
    """float32 [rows, inputs] from rows of bytes. Raises ValueError where they are no rows of that kind."""
    function = function_for(kind)
    if function is None:
        return dequantize(data, kind).astype(np.float32, copy=False)
    data = np.ascontiguousarray(data)
    found = np.empty(quant_shape_from_byte_shape(data.shape, kind), np.float32)
    function(data.ctypes.data, found.ctypes.data, found.size)
    return found


@cache
def function_for(kind: GGMLQuantizationType) -> Any:
    """llama.cpp's function (from, to, number of weights); None where it has none for the kind."""
    name = kind.name.lower()
    spelled = name[:-1] + "K" if name.endswith("_k") else name
    try:
        function = _library()[_OF_FLOATS.get(kind, f"dequantize_row_{spelled}")]
    except (OSError, AttributeError):
        return None
    function.argtypes, function.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64], None
    return function


def _library() -> ctypes.CDLL:
    """That has the functions: on Windows, a library lends none of those that it needs itself."""
    library: ctypes.CDLL = lib._lib
    return ctypes.CDLL(str(Path(library._name).with_name("ggml-base.dll"))) if sys.platform == "win32" else library
