"""Small checkpoints with random weights, written by transformers as anybody's would be."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import torch
from tokenizers import Tokenizer
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel

from tests.unit.engine.speculation.drafter.tokenizers_made import byte_level

Model = TypeVar("Model", bound=PreTrainedModel)

SMALL: dict[str, Any] = {
    "vocab_size": 512,
    "hidden_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "intermediate_size": 80,
    "max_position_embeddings": 640,
    "tie_word_embeddings": True,
    "eos_token_id": 2,
}
# The numbers of JackFram/llama-68m.
LLAMA_68M: dict[str, Any] = {
    "vocab_size": 32_000,
    "hidden_size": 768,
    "num_hidden_layers": 2,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "rms_norm_eps": 1e-6,
    "max_position_embeddings": 2048,
    "tie_word_embeddings": False,
    "bos_token_id": 0,
    "eos_token_id": 2,
}


def random_llama(**changes: Any) -> LlamaForCausalLM:
    """The small one, with `changes`; its weights are large enough for the logits to differ."""
    return scattered(LlamaForCausalLM(LlamaConfig(**(SMALL | changes))))


def scattered(model: Model) -> Model:
    torch.manual_seed(1)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "norm" in name:
                weight.uniform_(0.5, 1.5)
            else:
                weight.normal_(0.0, 0.3 if name.endswith("bias") else 0.08)
    model.train(False)
    return model


def save(model: PreTrainedModel, folder: Path, tokenizer: Tokenizer | None = None, **how: Any) -> Path:
    model.save_pretrained(folder, **how)
    (tokenizer or byte_level()).save(str(folder / "tokenizer.json"))
    return folder


def reference_logits(model: PreTrainedModel, tokens: list[int]) -> torch.Tensor:
    """As transformers computes them, shape (tokens, vocabulary)."""
    with torch.no_grad():
        logits: torch.Tensor = model(torch.tensor([tokens])).logits[0].float()
    return logits
