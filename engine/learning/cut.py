"""A small drafter cut out of a target: a few of its layers, and the first merges of its tokenizer.

The GGUF file is dequantized by transformers. The vocabulary that remains is a real byte-level BPE tokenizer of its
own (any prefix of a list of merges is one), and most of the target's other tokens are merges of its tokens.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers.pre_tokenizers import ByteLevel
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

from engine.chat_template import CHATML
from engine.errors import TargetUnsupported

# In the drafter's own chat format (ChatML); they open the vocabulary.
SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")

_KEPT_OF_CONFIG = frozenset(
    {
        "attention_bias",
        "head_dim",
        "hidden_act",
        "hidden_size",
        "intermediate_size",
        "max_position_embeddings",
        "mlp_bias",
        "num_attention_heads",
        "num_key_value_heads",
        "rms_norm_eps",
        "rope_parameters",
    }
)


@dataclass(frozen=True, slots=True)
class Cut:
    model: LlamaForCausalLM
    tokenizer: dict[str, Any]  # the content of a tokenizer.json
    chat_template: str


def cut_drafter(target: Path, layers: Sequence[int], vocabulary_size: int) -> Cut:
    """Keeps `layers` of the target and `vocabulary_size` of its tokens. Raises TargetUnsupported when the target is no
    Llama-type model with byte-level BPE, or has no such layers."""
    options: dict[str, Any] = {"gguf_file": target.name, "trust_remote_code": False, "local_files_only": True}
    try:
        tokenizer = AutoTokenizer.from_pretrained(str(target.parent), **options)
        model = AutoModelForCausalLM.from_pretrained(str(target.parent), dtype=torch.float32, **options)
    except Exception as error:  # what it raises for files it does not know is not limited to any kind
        raise TargetUnsupported(f"transformers cannot read {target.name}; a drafter cannot be cut from it.") from error
    if not isinstance(model, LlamaForCausalLM):
        raise TargetUnsupported(f"A drafter can only be cut from a Llama-type model, and {target.name} is none.")
    if not all(0 <= layer < len(model.model.layers) for layer in layers):
        raise TargetUnsupported(f"{target.name} has layers 0 to {len(model.model.layers) - 1}; choose among these.")
    whole = json.loads(tokenizer.backend_tokenizer.to_str())["model"]
    if whole["type"] != "BPE" or not whole["merges"]:
        raise TargetUnsupported(f"{target.name} does not use byte-pair merges, from which a vocabulary could be cut.")
    pieces = _first_pieces(whole, vocabulary_size)
    sources = [whole["vocab"].get(piece, 0) for piece in pieces]  # a byte that the target knows only in merges is new
    return Cut(_cut_model(model, layers, sources), _tokenizer_json(pieces, whole["merges"]), CHATML)


def _first_pieces(whole: dict[str, Any], size: int) -> list[str]:
    merged = ("".join(merge if isinstance(merge, list) else merge.split(" ")) for merge in whole["merges"])
    return [*SPECIALS, *sorted(ByteLevel.alphabet()), *dict.fromkeys(merged)][:size]


def _cut_model(model: LlamaForCausalLM, layers: Sequence[int], sources: Sequence[int]) -> LlamaForCausalLM:
    # The rest of the target's configuration speaks of its file.
    shape = {name: value for name, value in model.config.to_dict().items() if name in _KEPT_OF_CONFIG}
    shape.update(
        num_hidden_layers=len(layers),
        vocab_size=len(sources),
        tie_word_embeddings=True,
        bos_token_id=SPECIALS.index("<|im_start|>"),
        eos_token_id=SPECIALS.index("<|im_end|>"),
        pad_token_id=None,
    )
    small = LlamaForCausalLM(LlamaConfig(**shape))
    with torch.no_grad():
        small.model.embed_tokens.weight.copy_(model.model.embed_tokens.weight[torch.tensor(sources)])
        small.model.norm.load_state_dict(model.model.norm.state_dict())
        for kept, layer in zip(small.model.layers, layers, strict=True):
            kept.load_state_dict(model.model.layers[layer].state_dict())
    small.tie_weights()
    return small


def _tokenizer_json(pieces: Sequence[str], merges: Sequence[Any]) -> dict[str, Any]:
    vocabulary = {piece: token for token, piece in enumerate(pieces)}
    pairs = [merge if isinstance(merge, list) else merge.split(" ") for merge in merges]
    return {
        "version": "1.0",
        "added_tokens": [
            {
                "id": token,
                "content": piece,
                "special": True,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
            }
            for token, piece in enumerate(SPECIALS)
        ],
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Digits", "individual_digits": True},
                {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
            ],
        },
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "vocab": vocabulary,
            "merges": [
                pair
                for pair in pairs
                if "".join(pair) in vocabulary and pair[0] in vocabulary and pair[1] in vocabulary
            ],
        },
    }
