"""llama.cpp's functions and numpy's dequantize to the same numbers."""

from __future__ import annotations

import numpy as np
import pytest
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize

from engine.speculation.model.llama.dequantizing import dequantized, function_for

_OF_LLAMA_CPP = ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS")


@pytest.mark.parametrize("name", [*_OF_LLAMA_CPP, "F16", "BF16", "F32"])
def test_both_find_the_same(name: str) -> None:
    kind = GGMLQuantizationType[name]
    assert (function_for(kind) is not None) == (name != "F32")
    weights, num_bytes = GGML_QUANT_SIZES[kind]
    # Small bytes, so that no scale is infinite.
    rows = np.random.default_rng(0).integers(0, 60, (3, 512 // weights * num_bytes), np.uint8)
    found = dequantized(rows[:, ::1], kind)
    np.testing.assert_array_equal(found, dequantize(rows, kind).astype(np.float32))
    assert found.shape == (3, 512)
    assert found.std() > 0


def test_bytes_that_are_no_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="multiple"):
        dequantized(np.zeros((2, 19), np.uint8), GGMLQuantizationType.Q4_0)
