"""A GGUF file read piece by piece holds what transformers makes of the whole."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from engine.lab.distillation.cut import CutShape, GgufSource, check_cut, cut_drafter
from engine.speculation.model.files.sources import starter_path
from engine.values.errors import TargetUnsupported


@pytest.fixture(scope="module")
def source(starter_weights: GgufSource) -> GgufSource:
    return starter_weights


@pytest.mark.starter
def test_weights_are_those_that_transformers_reads(source: GgufSource) -> None:
    path = starter_path()
    whole = AutoModelForCausalLM.from_pretrained(str(path.parent), gguf_file=path.name, dtype=torch.float32)
    assert torch.equal(source.embedding, whole.model.embed_tokens.weight)
    assert torch.equal(source.head, whole.lm_head.weight)
    assert torch.equal(source.norm, whole.model.norm.weight)
    for index in (0, 29):
        layer = source.layer(index)
        expected = whole.model.layers[index].state_dict()
        assert layer.keys() == expected.keys()
        for name in layer:
            assert torch.equal(layer[name], expected[name]), name
    assert source.num_weights == sum(weight.numel() for weight in whole.parameters())


@pytest.mark.starter
def test_a_cut_keeps_what_it_says_with_the_most_frequent_tokens_first(source: GgufSource) -> None:
    cut = cut_drafter(source, CutShape((3,), 2000, 600, feed_forward=100), ["the the the drafter drafts"])
    vocabulary = cut.tokenizer["model"]["vocab"]
    assert cut.num_outputs == 600
    assert (vocabulary["\u0120the"], len(vocabulary)) == (3, 2000)  # after the special ones; " the" came most often
    weights = cut.model.model.embed_tokens.weight
    assert torch.equal(weights[3], source.embedding[source.vocabulary["\u0120the"]])
    assert cut.model.lm_head.weight.data_ptr() == weights.data_ptr()
    (layer,) = cut.model.model.layers
    assert torch.equal(layer.self_attn.q_proj.weight, source.layer(3)["self_attn.q_proj.weight"])
    assert layer.mlp.down_proj.weight.shape == (576, 100)
    original = {tuple(row.tolist()) for row in source.layer(3)["mlp.gate_proj.weight"]}
    assert all(tuple(row.tolist()) in original for row in layer.mlp.gate_proj.weight)


@pytest.mark.starter
def test_a_drafter_to_start_from_gives_its_layers_and_the_tokens_it_has(source: GgufSource) -> None:
    texts = ["some words that are counted"]
    first = cut_drafter(source, CutShape((0, 29), 1000, 500), texts)
    with torch.no_grad():
        for weight in first.model.parameters():
            weight.mul_(0.5)
    second = cut_drafter(source, CutShape((0, 29), 1500, 500), texts, first)
    old, new = (cut.tokenizer["model"]["vocab"] for cut in (first, second))
    for piece in ("\u0120that", "a"):
        assert torch.equal(
            second.model.model.embed_tokens.weight[new[piece]], first.model.model.embed_tokens.weight[old[piece]]
        )
    (fresh, *_) = new.keys() - old.keys()
    assert torch.equal(second.model.model.embed_tokens.weight[new[fresh]], source.embedding[source.vocabulary[fresh]])
    assert torch.equal(second.model.model.layers[1].mlp.up_proj.weight, first.model.model.layers[1].mlp.up_proj.weight)


@pytest.mark.starter
def test_a_cut_may_keep_the_whole_vocabulary(source: GgufSource) -> None:
    """Tokens have the target's numbers; what a drafter knows to start from is found by their text."""
    small = cut_drafter(source, CutShape((0,), 1000, 500), ["some words"])
    with torch.no_grad():
        small.model.model.embed_tokens.weight.mul_(0.5)
    cut = cut_drafter(source, CutShape((0,), None, 500), [], small)
    assert cut.num_outputs == cut.model.config.vocab_size == len(source.embedding)
    assert cut.tokenizer["model"]["vocab"] == source.vocabulary
    assert cut.end_of_turn == source.tokenizer.eos_token
    assert cut.chat_template == source.tokenizer.chat_template
    assert cut.model.config.eos_token_id == source.tokenizer.eos_token_id
    weights, token = cut.model.model.embed_tokens.weight, source.vocabulary["\u0120the"]
    assert torch.equal(
        weights[token], small.model.model.embed_tokens.weight[small.tokenizer["model"]["vocab"]["\u0120the"]]
    )
    rare = max(source.vocabulary.values())
    assert torch.equal(weights[rare], source.embedding[rare])


@pytest.mark.starter
def test_layers_that_are_not_there_are_refused(source: GgufSource) -> None:
    assert check_cut(source, CutShape(None, 1000, 500)) == (0, 29)
    with pytest.raises(TargetUnsupported, match="layers 0 to 29"):
        check_cut(source, CutShape((0, 30), 1000, 500))


def test_a_file_that_is_no_model_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(TargetUnsupported, match="--start built-in"):
        GgufSource(path)
