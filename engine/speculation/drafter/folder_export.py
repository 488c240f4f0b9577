"""Writes a drafter as a folder in Hugging Face's format, as vLLM and transformers load it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from engine.speculation.drafter.config_file import NUM_OUTPUTS
from engine.speculation.drafter.files import read_json
from engine.speculation.drafter.from_gguf import GgufWeights
from engine.speculation.drafter.merged import MergedDrafter
from engine.speculation.drafter.shape import LlamaShape
from engine.speculation.model.files.gguf_header import read_header
from engine.values.errors import DrafterUnusable

_TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "generation_config.json",
)
_ENDS = ("bos_token_id", "eos_token_id")
_NUMBERS = torch.float16  # keeps three more bits of what was learned than bfloat16
_LARGEST = torch.finfo(_NUMBERS).max


def write_folder(folder: Path, drafter: MergedDrafter, source: Path, card: str) -> None:
    """Writes into a folder that exists. `source`: the folder or GGUF file that the drafter came from, for its
    tokenizer. Raises DrafterUnusable and OSError."""
    if source.is_dir():
        for name in _TOKENIZER_FILES:
            if (source / name).is_file():
                shutil.copyfile(source / name, folder / name)
    else:
        _save_tokenizer(source, folder)
    config = config_of(drafter, _ends(source))
    (folder / "config.json").write_text(json.dumps(config, indent=2), "utf-8")
    (folder / "README.md").write_text(card, "utf-8")
    tensors = {name: _in_16_bits(name, weight) for name, weight in drafter.named()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def config_of(drafter: MergedDrafter, ends: dict[str, int]) -> dict[str, Any]:
    """The content of the config.json. Raises DrafterUnusable for a shape that other programs do not know."""
    shape = drafter.shape
    kind, name = _architecture(shape)
    config: dict[str, Any] = {
        "architectures": [name],
        "model_type": kind,
        "dtype": "float16",
        "torch_dtype": "float16",  # as older versions call it
        "vocab_size": drafter.num_tokens,
        "hidden_size": shape.hidden,
        "intermediate_size": shape.feed_forward,
        "num_hidden_layers": shape.num_layers,
        "num_attention_heads": shape.num_heads,
        "num_key_value_heads": shape.num_kv_heads,
        "head_dim": shape.head_dim,
        "hidden_act": "silu",
        "max_position_embeddings": shape.max_positions,
        "rms_norm_eps": shape.norm_epsilon,
        "rope_theta": shape.rope.theta,
        "tie_word_embeddings": drafter.is_tied,
        **ends,
    }
    if kind == "llama":
        config |= {"attention_bias": shape.qkv_bias, "mlp_bias": shape.mlp_bias}
    if shape.rope.position_divisor != 1:
        config["rope_scaling"] = {"rope_type": "linear", "factor": shape.rope.position_divisor}
    if (stretch := shape.rope.stretch) is not None:
        config["rope_scaling"] = {
            "rope_type": "llama3",
            "factor": stretch.factor,
            "low_freq_factor": stretch.low_frequency_factor,
            "high_freq_factor": stretch.high_frequency_factor,
            "original_max_position_embeddings": stretch.original_positions,
        }
    if shape.outputs < shape.vocabulary:
        config[NUM_OUTPUTS] = shape.outputs
    return config


def _architecture(shape: LlamaShape) -> tuple[str, str]:
    if shape.qkv_bias == shape.attention_out_bias:
        return "llama", "LlamaForCausalLM"
    if shape.qkv_bias and not shape.mlp_bias:
        return "qwen2", "Qwen2ForCausalLM"
    raise DrafterUnusable("This drafter has biases where other programs expect none; export another one.")


def _ends(source: Path) -> dict[str, Any]:
    """The ids of the tokens that begin and end texts, where they are known."""
    if source.is_dir():
        config = read_json(source / "config.json") or {}
        return {name: config[name] for name in _ENDS if isinstance(config.get(name), int | list)}
    values = read_header(source).values
    found = {name: values.get(f"tokenizer.ggml.{name}") for name in _ENDS}
    return {name: token for name, token in found.items() if isinstance(token, int)}


def _save_tokenizer(gguf: Path, folder: Path) -> None:
    try:
        GgufWeights(gguf).tokenizer.save_pretrained(folder)
    except Exception as error:  # transformers may raise anything for a file that it does not know
        raise DrafterUnusable(
            "transformers cannot read the vocabulary of {name}; export it for llama.cpp, or another drafter.",
            name=gguf.name,
        ) from error


def _in_16_bits(name: str, weight: torch.Tensor) -> torch.Tensor:
    if float(weight.abs().max()) > _LARGEST:
        raise DrafterUnusable(
            "The weight “{name}” is too large for 16 bits; export this drafter for llama.cpp.", name=name
        )
    return weight.to("cpu", _NUMBERS).contiguous()
