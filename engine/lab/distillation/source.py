"""The weights and the tokenizer of a Llama-type target in a GGUF file, read one by one.

A weight is dequantized only when it is read: of a target with billions of weights a drafter takes two layers and some
rows.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf import GGUFReader, dequantize
from transformers import AutoConfig, AutoTokenizer, LlamaConfig, MistralConfig

from engine.errors import TargetUnsupported

_EMBEDDING, _HEAD, _NORM = "token_embd.weight", "output.weight", "output_norm.weight"
_POSITIONS = "rope_freqs.weight"
_SPACE = "Ġ"  # as byte-level BPE writes it
_INSTEAD = "train the built-in drafter on for it (--start built-in)."
_OF_LAYER = {
    "input_layernorm.weight": "attn_norm",
    "self_attn.q_proj.weight": "attn_q",
    "self_attn.k_proj.weight": "attn_k",
    "self_attn.v_proj.weight": "attn_v",
    "self_attn.o_proj.weight": "attn_output",
    "post_attention_layernorm.weight": "ffn_norm",
    "mlp.gate_proj.weight": "ffn_gate",
    "mlp.up_proj.weight": "ffn_up",
    "mlp.down_proj.weight": "ffn_down",
}


class GgufSource:
    """All weights are float32 and under the names that transformers has for them."""

    def __init__(self, path: Path) -> None:
        """Raises TargetUnsupported when it is no Llama-type model with byte-level BPE."""
        options: dict[str, Any] = {"gguf_file": path.name, "trust_remote_code": False, "local_files_only": True}
        try:
            config = AutoConfig.from_pretrained(str(path.parent), **options)
            tokenizer: Any = AutoTokenizer.from_pretrained(str(path.parent), **options)
            spelling = json.loads(tokenizer.backend_tokenizer.to_str())["model"]
            self._tensors = {tensor.name: tensor for tensor in GGUFReader(path).tensors}
        except Exception as error:  # they may raise anything for an unknown file
            raise TargetUnsupported(f"transformers cannot read {path.name}; {_INSTEAD}") from error
        last_layer = (f"blk.{config.num_hidden_layers - 1}.{part}.weight" for part in _OF_LAYER.values())
        wanted = [_EMBEDDING, _NORM, *last_layer]
        if not isinstance(config, LlamaConfig | MistralConfig) or not all(name in self._tensors for name in wanted):
            raise TargetUnsupported(
                f"A drafter can only be cut from a Llama-type model, and {path.name} is none; {_INSTEAD}"
            )
        if spelling["type"] != "BPE" or not spelling["merges"] or _SPACE not in spelling["vocab"]:
            raise TargetUnsupported(
                f"{path.name} does not use byte-level merges, from which to cut a vocabulary; {_INSTEAD}"
            )
        numbers: Any = config  # Mistral's has the same ones
        self.config: LlamaConfig = numbers
        self.merges = [merge if isinstance(merge, list) else merge.split(" ") for merge in spelling["merges"]]
        self.vocabulary: dict[str, int] = spelling["vocab"]

    @property
    def num_weights(self) -> int:
        return sum(int(tensor.n_elements) for tensor in self._tensors.values())

    @property
    def is_tied(self) -> bool:
        """Whether the head is the embedding."""
        return _HEAD not in self._tensors

    @property
    def scales_positions(self) -> bool:
        """Whether a table in the file scales positions, as in Llama 3.1: transformers does not read it."""
        return _POSITIONS in self._tensors

    @property
    def embedding(self) -> torch.Tensor:
        """[vocabulary, hidden]"""
        return self._tensor(_EMBEDDING)

    @property
    def head(self) -> torch.Tensor:
        """[vocabulary, hidden]"""
        return self.embedding if self.is_tied else self._tensor(_HEAD)

    @property
    def norm(self) -> torch.Tensor:
        """[hidden]"""
        return self._tensor(_NORM)

    def layer(self, index: int) -> dict[str, torch.Tensor]:
        layer = {name: self._tensor(f"blk.{index}.{part}.weight") for name, part in _OF_LAYER.items()}
        num_heads = self.config.num_attention_heads
        for part, count in (("q", num_heads), ("k", self.config.num_key_value_heads or num_heads)):
            name = f"self_attn.{part}_proj.weight"
            layer[name] = _halves_apart(layer[name], count)
        return layer

    def _tensor(self, name: str) -> torch.Tensor:
        tensor = self._tensors[name]
        values = dequantize(tensor.data, tensor.tensor_type).astype(np.float32, copy=False)
        return torch.from_numpy(np.array(values.reshape(tensor.shape[::-1].tolist())))


def _halves_apart(weight: torch.Tensor, num_heads: int) -> torch.Tensor:
    """llama.cpp interleaves the two halves of a head that are rotated together; transformers separates them."""
    pairs = weight.view(num_heads, -1, 2, weight.shape[1])
    return pairs.transpose(1, 2).reshape(weight.shape)
