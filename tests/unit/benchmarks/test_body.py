from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType as Form
from gguf import dequantize

from engine import StopSignal, TargetSettings
from engine.speculation.model.llama.llama_cpp import LlamaCppTarget
from tests.benchmarks.body import SHAPES, RandomBlocks, Shape, Tensor, tensors, write_body

TINY = Shape(layers=2, width=256, feed_forward=512, heads=4, key_heads=2, vocabulary=49_200, context=512)


@pytest.mark.starter
@pytest.mark.parametrize(("form", "tied"), [("Q4_0", True), ("Q4_K_M", False)])
def test_llama_cpp_runs_it_and_computes_numbers(
    tmp_path: Path, fresh_starter: LlamaCppTarget, form: str, tied: bool
) -> None:
    """Its tokens are the starter's, and the rest is unused."""
    path = tmp_path / "body.gguf"
    write_body(path, replace(TINY, tied=tied), form)
    target = LlamaCppTarget.load(path, "body", TargetSettings(256), lambda _progress: None, StopSignal())
    try:
        assert target.features, "what was read can be taken back"
        assert form.split("_K")[0] in target.description.summary
        assert len(target.vocabulary) == TINY.vocabulary
        known = fresh_starter.vocabulary
        assert target.vocabulary.pieces[: len(known)] == known.pieces
        assert target.vocabulary.end_of_generation == known.end_of_generation
        rows = target.evaluate(target.tokenize("Hello, how are you?"), 3, StopSignal())
        assert np.isfinite(rows).all()
        assert 0.1 < rows.std() < 10
    finally:
        target.close()


def test_the_forms_are_laid_out_as_llama_cpp_lays_them_out() -> None:
    def of(form: str, shape: Shape) -> Counter[str]:
        return Counter(f"{tensor.name.split('.')[-1]} {tensor.form.name}" for tensor in tensors(shape, form))

    small = of("Q4_K_M", SHAPES["1B"])
    assert small["token_embd Q6_K"] == 1
    assert small["attn_v Q6_K"] == small["ffn_down Q6_K"] == 8, "half of 16 layers"
    assert small["attn_q Q4_K"] == small["ffn_up Q4_K"] == 16
    large = of("Q4_0", SHAPES["8B"])
    assert (large["token_embd Q4_0"], large["output Q6_K"], large["attn_v Q4_0"]) == (1, 1, 32)
    assert {tensor.form.name for tensor in tensors(SHAPES["3B"], "Q8_0")} == {"Q8_0"}


def test_the_same_seed_makes_the_same_weights() -> None:
    matrix = Tensor("blk.0.ffn_down", 4, 512, Form.Q4_K)
    first, same, other = (RandomBlocks(seed).make(matrix) for seed in (0, 0, 1))
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("form", [Form.Q4_0, Form.Q4_1, Form.Q8_0, Form.Q4_K, Form.Q6_K])
def test_weights_spread_as_far_as_their_number_asks(form: Form) -> None:
    weights = dequantize(RandomBlocks(0).make(Tensor("blk.0.attn_q", 64, 1024, form)), form)
    assert weights.shape == (64, 1024)
    assert weights.std() == pytest.approx(1 / 32, rel=0.1)
    assert abs(weights.mean()) < 0.15 / 32  # 4 bits of Q4_0 reach from -8 to 7
