"""Heads in a folder: what they compute, and what is refused before it is read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from gguf import GGUFReader
from safetensors.torch import load

from engine.speculation.drafter.choice import check_drafter, drafter_source
from engine.speculation.drafter.heads import HeadWeights, TargetMatrices, TorchHeads, load_heads, save_heads
from engine.speculation.drafter.heads_folder import FOLDER, WEIGHTS, HeadsConfig, find_heads
from engine.speculation.drafter.matrices import Int8Rows
from engine.speculation.model.files.identity import file_identity
from engine.values.drafters import DrafterRunner
from engine.values.errors import DrafterUnusable
from tests.fakes.tiny_models import tiny_llama, tiny_qwen2

NUM_HEADS, NUM_OUTPUTS = 2, 40


def weights(hidden: int) -> HeadWeights:
    random = torch.Generator().manual_seed(1)
    matrix = torch.randn(NUM_HEADS * hidden, 2 * hidden, generator=random) / hidden**0.5
    bias = torch.randn(NUM_HEADS * hidden, generator=random)
    return HeadWeights(Int8Rows.of(matrix), bias, torch.arange(NUM_OUTPUTS, dtype=torch.int32) * 3, 1.5)


def write(folder: Path, target: Path, made: HeadWeights) -> HeadsConfig:
    config = HeadsConfig(file_identity(target), target.stem, NUM_HEADS, made.hidden, NUM_OUTPUTS, made.scale)
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config.content))
    (folder / WEIGHTS).write_bytes(save_heads(made))
    return config


@pytest.mark.parametrize(("make", "output"), [(tiny_llama, "token_embd"), (tiny_qwen2, "output")])
def test_they_compute_what_their_docstring_says(make: object, output: str, tmp_path: Path) -> None:
    assert callable(make)
    target = make(tmp_path / "tiny.gguf")
    found = {tensor.name: tensor.data for tensor in GGUFReader(target).tensors}
    outputs, embeddings = found[f"{output}.weight"], found["token_embd.weight"]
    hidden = outputs.shape[1]
    made = weights(hidden)
    write(tmp_path / "heads", target, made)
    state = np.asarray(np.random.default_rng(2).normal(size=hidden), np.float32)
    state.flags.writeable = False  # as what llama.cpp tells
    known = embeddings[7] / np.sqrt((embeddings[7] ** 2).mean())
    inner = made.matrix.dense().numpy() @ np.concatenate((state / 1.5, known)) + made.bias.numpy()
    states = state + 1.5 * (inner / (1 + np.exp(-inner))).reshape(NUM_HEADS, hidden)
    logits = states @ outputs[np.arange(NUM_OUTPUTS) * 3].T
    probabilities = np.exp(logits - logits.max(1, keepdims=True))
    probabilities /= probabilities.sum(1, keepdims=True)
    tokens, sure = load_heads(tmp_path / "heads", target).guess(state, 7)
    for head in range(NUM_HEADS):
        assert tokens[head][0] == 3 * logits[head].argmax()
        np.testing.assert_allclose(sure[head][0], probabilities[head].max(), rtol=0.15)
        assert sure[head] == sorted(sure[head], reverse=True)


def test_they_are_found_for_their_target_and_no_other(tmp_path: Path) -> None:
    target, other = tiny_llama(tmp_path / "tiny.gguf"), tiny_qwen2(tmp_path / "other.gguf")
    assert find_heads(tmp_path, target) == []
    write(tmp_path / FOLDER / "mine", target, weights(64))
    (tmp_path / FOLDER / "mine.work").mkdir()
    (found,) = find_heads(tmp_path, target)
    assert (found.path, found.runner) == (tmp_path / FOLDER / "mine", DrafterRunner.HEADS)
    assert find_heads(tmp_path, other) == []
    assert drafter_source(str(found.path), tmp_path) == found
    check_drafter(str(found.path), tmp_path)
    with pytest.raises(DrafterUnusable, match="were made for tiny"):
        load_heads(found.path, other)


def test_what_is_damaged_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tiny_llama(tmp_path / "tiny.gguf")
    made = weights(64)
    config = write(tmp_path / "heads", target, made)

    def refused(config: HeadsConfig, made: HeadWeights) -> bool:
        (tmp_path / "heads" / "config.json").write_text(json.dumps(config.content))
        (tmp_path / "heads" / WEIGHTS).write_bytes(save_heads(made))
        try:
            load_heads(tmp_path / "heads", target)
        except DrafterUnusable:
            return True
        return False

    assert not refused(config, made)
    assert refused(replace(config, num_heads=3), made)
    assert refused(replace(config, hidden_size=32), made)
    assert refused(replace(config, num_outputs=10**9), made)
    assert refused(replace(config, scale=float("nan")), made)
    assert refused(config, replace(made, outputs=made.outputs + 10_000))
    assert refused(config, replace(made, outputs=made.outputs.to(torch.int64)))
    assert refused(config, replace(made, bias=made.bias * float("inf")))
    (tmp_path / "heads" / "config.json").write_text(json.dumps(config.content))
    (tmp_path / "heads" / WEIGHTS).write_bytes(save_heads(made)[:-9])
    with pytest.raises(DrafterUnusable):
        load_heads(tmp_path / "heads", target)
    with (tmp_path / "heads" / WEIGHTS).open("ab") as file:
        file.truncate(1 << 34)  # as long as a memory is large
    read: list[int] = []

    def watched(data: bytes) -> dict[str, torch.Tensor]:
        read.append(len(data))
        return load(data)

    monkeypatch.setattr("engine.speculation.drafter.heads.load", watched)
    with pytest.raises(DrafterUnusable):
        load_heads(tmp_path / "heads", target)
    assert read[0] < 1 << 20


def test_matrices_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    target = tiny_llama(tmp_path / "tiny.gguf")
    assert TorchHeads(weights(64), TargetMatrices(target)).hidden == 64
    nothing = tmp_path / "nothing.gguf"
    data = target.read_bytes().replace(b"token_embd.weight", b"token_embx.weight")
    nothing.write_bytes(data)
    with pytest.raises(DrafterUnusable, match=r"nothing\.gguf"):
        TargetMatrices(nothing)
