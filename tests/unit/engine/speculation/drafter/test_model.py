from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import MistralConfig, MistralForCausalLM, PreTrainedModel, Qwen2Config, Qwen2ForCausalLM

from engine.speculation.drafter.checkpoint import load_drafter
from engine.speculation.drafter.matrices import WeightForm
from engine.speculation.drafter.model import LlamaDrafter
from tests.unit.engine.speculation.drafter.checkpoints import (
    LLAMA_68M,
    SMALL,
    random_llama,
    reference_logits,
    save,
    scattered,
)

_CLOSE = 2e-4
_LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 10_000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}


def _mistral() -> PreTrainedModel:
    return scattered(MistralForCausalLM(MistralConfig(**SMALL, sliding_window=None)))


def _qwen2() -> PreTrainedModel:
    return scattered(Qwen2ForCausalLM(Qwen2Config(**SMALL, use_sliding_window=False)))


MODELS: dict[str, Callable[[], PreTrainedModel]] = {
    "small": random_llama,
    "llama-68m": lambda: random_llama(**LLAMA_68M, num_key_value_heads=12),
    "biases": lambda: random_llama(attention_bias=True, mlp_bias=True),
    "wide heads": lambda: random_llama(head_dim=16, tie_word_embeddings=False),
    "rope theta": lambda: random_llama(rope_parameters={"rope_type": "default", "rope_theta": 100_000.0}),
    "rope linear": lambda: random_llama(rope_parameters={"rope_type": "linear", "factor": 4.0, "rope_theta": 10_000.0}),
    "rope llama3": lambda: random_llama(rope_parameters=_LLAMA3),
    "mistral": _mistral,
    "qwen2": _qwen2,
}


@pytest.fixture(scope="module", params=list(MODELS))
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[PreTrainedModel, Path]:
    model = MODELS[request.param]()
    return model, save(model, tmp_path_factory.mktemp("drafter"))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> LlamaDrafter:
    return load_drafter(save(random_llama(), tmp_path_factory.mktemp("small")), "cpu", form=WeightForm.DENSE).model


def _tokens(count: int, seed: int = 0) -> list[int]:
    found: list[int] = np.random.default_rng(seed).integers(3, 500, count).tolist()
    return found


def test_reads_a_prompt_and_single_tokens_as_transformers_does(pair: tuple[PreTrainedModel, Path]) -> None:
    model, folder = pair
    drafter = load_drafter(folder, "cpu", form=WeightForm.DENSE).model
    tokens = _tokens(300)
    expected = reference_logits(model, tokens).numpy()
    for cuts in ([270], [1, 256, 270], [100, 101, 105, 270]):
        drafter.roll_back(0)
        for start, end in zip([0, *cuts], [*cuts, len(tokens)], strict=True):
            np.testing.assert_allclose(drafter.read(tokens[start:end]), expected[end - 1], atol=_CLOSE)
    drafter.roll_back(250)
    for place in range(250, 260):
        np.testing.assert_allclose(drafter.read(tokens[place : place + 1]), expected[place], atol=_CLOSE)


def test_after_rolling_back_another_text_is_read_as_if_nothing_had_been(pair: tuple[PreTrainedModel, Path]) -> None:
    model, folder = pair
    drafter = load_drafter(folder, "cpu", form=WeightForm.DENSE).model
    tokens = _tokens(40)
    drafter.read(tokens)
    drafter.roll_back(17)
    assert drafter.num_held == 17
    other = tokens[:17] + _tokens(9, seed=5)
    np.testing.assert_allclose(drafter.read(other[17:]), reference_logits(model, other)[-1].numpy(), atol=_CLOSE)


_LINEAR = {"rope_type": "linear", "factor": 4.0, "rope_theta": 10_000.0}


@pytest.mark.parametrize("parameters", [{"rope_type": "default", "rope_theta": 10_000.0}, _LINEAR, _LLAMA3])
def test_what_moves_forward_is_as_if_it_had_been_read_there(parameters: dict[str, Any], tmp_path: Path) -> None:
    """With one layer: in later ones, keys keep what was seen of the dropped tokens."""
    model = random_llama(num_hidden_layers=1, rope_parameters=parameters)
    drafter = load_drafter(save(model, tmp_path), "cpu", form=WeightForm.DENSE).model
    assert drafter.can_drop
    tokens = _tokens(200)
    for start, end in ((3, 90), (10, 30), (0, 7)):
        drafter.roll_back(0)
        drafter.read(tokens)
        drafter.drop(start, end)
        assert drafter.num_held == len(tokens) - (end - start)
        left = [*tokens[:start], *tokens[end:], 7, 8]
        np.testing.assert_allclose(drafter.read(left[-2:]), reference_logits(model, left)[-1].numpy(), atol=_CLOSE)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.floats(0, 1), st.integers(1, 40) | st.just(290)), min_size=1, max_size=6), st.randoms())
def test_any_sequence_of_reading_and_rolling_back_ends_as_one_fresh_read(
    small: LlamaDrafter, steps: list[tuple[float, int]], random: Any
) -> None:
    small.roll_back(0)
    held: list[int] = []
    row = np.zeros(0, np.float32)
    for kept, count in steps:
        held = held[: int(kept * len(held))]
        small.roll_back(len(held))
        new = [random.randrange(512) for _ in range(min(count, small.max_held - len(held)))]
        if not new:
            continue
        held += new
        row = small.read(new).copy()
        assert small.num_held == len(held)
    if held and len(row):
        small.roll_back(0)
        np.testing.assert_allclose(row, small.read(held), atol=_CLOSE)


def test_holds_as_many_tokens_as_it_says_and_not_one_more(small: LlamaDrafter) -> None:
    small.roll_back(0)
    small.read(_tokens(small.max_held))
    assert small.max_held == SMALL["max_position_embeddings"]
    with pytest.raises(ValueError, match="cannot read 1 tokens"):
        small.read([5])
    assert small.num_held == small.max_held


def test_a_smaller_memory_can_be_asked_for(tmp_path: Path) -> None:
    model = random_llama()
    drafter = load_drafter(save(model, tmp_path), "cpu", max_held=10, form=WeightForm.DENSE).model
    assert drafter.max_held == 10
    tokens = _tokens(10)
    np.testing.assert_allclose(drafter.read(tokens), reference_logits(model, tokens)[-1].numpy(), atol=_CLOSE)


@pytest.mark.parametrize("tokens", [[], [-1], [512]])
def test_what_cannot_be_read_changes_nothing(small: LlamaDrafter, tokens: list[int]) -> None:
    small.roll_back(0)
    small.read([5, 6])
    with pytest.raises(ValueError, match="token"):
        small.read(tokens)
    assert small.num_held == 2


def test_rolling_back_to_more_than_is_held_is_refused(small: LlamaDrafter) -> None:
    small.roll_back(0)
    with pytest.raises(ValueError, match="cannot keep 1"):
        small.roll_back(1)


def test_logits_are_a_view_in_32_bits(small: LlamaDrafter) -> None:
    small.roll_back(0)
    first = small.read([5])
    assert first.dtype == np.float32
    assert first.shape == (512,)
    assert np.shares_memory(first, small.read([6]))


def test_a_step_uses_the_threads_that_suit_it_and_all_else_the_others(
    small: LlamaDrafter, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen, torchs = list[int](), torch.set_num_threads

    def watch(num_threads: int) -> None:
        chosen.append(num_threads)
        torchs(num_threads)

    monkeypatch.setattr(small, "most_threads", 2)
    monkeypatch.setattr(small, "_num_threads", 2)
    monkeypatch.setattr(torch, "set_num_threads", watch)
    small.roll_back(0)
    small.read([1, 2, 3])
    several = small.read([4]).copy()
    assert chosen == []
    small.use_threads(1)
    small.roll_back(0)
    small.read([1, 2, 3])
    assert chosen == [], "a prompt is read with all of them"
    alone = small.read([4]).copy()
    assert chosen == [1, 2], "what learns keeps them all"
    assert alone == pytest.approx(several, abs=1e-3)
    with pytest.raises(ValueError, match="outside"):
        small.read([-1])
    assert chosen[-1] == 2


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")
def test_on_a_gpu_the_logits_are_about_the_same(tmp_path: Path) -> None:
    model = random_llama()
    drafter = load_drafter(save(model, tmp_path), "cuda").model
    tokens = _tokens(30)
    np.testing.assert_allclose(drafter.read(tokens), reference_logits(model, tokens)[-1].numpy(), atol=0.1)
