"""Reads the shape of a Llama-type model from the config.json of a Hugging Face checkpoint."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.speculation.drafter.files import read_json
from engine.speculation.drafter.shape import Llama3Stretch, LlamaShape, Rope
from engine.values.errors import DrafterUnusable
from engine.values.sentences import say

_LLAMA_TYPES = ("llama", "mistral", "qwen2")  # the same layers, except for a sliding window and biases
MIN_POSITIONS = 64

NUM_OUTPUTS = "num_output_tokens"  # Slipstream's own: a trimmed head can guess only so many tokens, the first ones

# Far beyond any drafter; a config that asks for more is damaged, or meant to exhaust the memory.
_MAX = {
    NUM_OUTPUTS: 524_288,
    "vocab_size": 524_288,  # twice the largest known
    "hidden_size": 32_768,
    "num_hidden_layers": 128,  # the largest known has 126
    "num_attention_heads": 512,
    "num_key_value_heads": 512,
    "head_dim": 1024,
    "intermediate_size": 262_144,
    "max_position_embeddings": 100_000_000,
}
# Multiples of the hidden size: else small weights would compute with much memory. In known models the heads have 2 at
# most, and the layers after them 8.
_MAX_WIDTH = {"num_attention_heads": 8, "intermediate_size": 32}
_MAX_SCALE = 1e9  # of positions
_LONGEST_WORD = 40  # characters that a sentence repeats


def read_config(folder: Path) -> dict[str, Any]:
    """Raises DrafterUnusable when there is none or it is no JSON object."""
    if not folder.is_dir():
        raise DrafterUnusable(
            "There is no folder {folder}; choose the folder of a drafter in Hugging Face's format.", folder=folder
        )
    config = read_json(folder / "config.json")
    if config is None:
        raise DrafterUnusable(
            "{folder} holds no config.json; choose the folder of a drafter in Hugging Face's format.", folder=folder
        )
    return config


def shape_of(config: Mapping[str, Any], name: str) -> LlamaShape:
    """Raises DrafterUnusable, with the `name` of the drafter, for other models than Llama-type ones."""
    kind = config.get("model_type")
    if kind not in _LLAMA_TYPES:
        raise DrafterUnusable(
            "{name} is a model of type “{kind}”; a drafter must be a Llama-type model.", name=name, kind=word(kind)
        )
    if config.get("quantization_config") is not None:
        raise _differs(name, say("its weights are quantized in an unknown way"))
    if config.get("hidden_act", "silu") != "silu":
        raise _differs(name, say("it has a different activation, “{kind}”", kind=word(config["hidden_act"])))
    slides = {"llama": False, "mistral": True, "qwen2": config.get("use_sliding_window", False)}[kind]
    if slides and config.get("sliding_window", 4096) is not None:
        raise _differs(name, say("it uses sliding-window attention"))
    hidden = _number(config, "hidden_size", name)
    num_heads = _number(config, "num_attention_heads", name)
    num_kv_heads = _number(config, "num_key_value_heads", name, num_heads if kind == "llama" else None)
    head_dim = _number(config, "head_dim", name, hidden // num_heads)
    feed_forward = _number(config, "intermediate_size", name)
    for key, width in (("num_attention_heads", num_heads * head_dim), ("intermediate_size", feed_forward)):
        if width > _MAX_WIDTH[key] * hidden:
            raise _wrong(name, key)
    if num_heads % num_kv_heads or head_dim % 2:
        raise DrafterUnusable(
            "The config.json of {name} contradicts itself about attention heads; download it again.", name=name
        )
    max_positions = _number(config, "max_position_embeddings", name, 2048)
    if max_positions < MIN_POSITIONS:
        raise DrafterUnusable(
            "{name} holds only {tokens} tokens; a drafter must hold at least {least}.",
            name=name,
            tokens=max_positions,
            least=MIN_POSITIONS,
        )
    epsilon: Any = config.get("rms_norm_eps", 1e-6)
    if not _is_number(epsilon) or not 0 < epsilon < 1:
        raise _wrong(name, "rms_norm_eps")
    vocabulary = _number(config, "vocab_size", name)
    return LlamaShape(
        vocabulary=vocabulary,
        outputs=min(vocabulary, _number(config, NUM_OUTPUTS, name, vocabulary)),
        hidden=hidden,
        num_layers=_number(config, "num_hidden_layers", name),
        num_heads=num_heads,
        num_kv_heads=num_kv_heads,
        head_dim=head_dim,
        feed_forward=feed_forward,
        max_positions=max_positions,
        norm_epsilon=float(epsilon),
        rope=_rope_of(config, name, head_dim),
        tied=bool(config.get("tie_word_embeddings", False)),
        qkv_bias=kind == "qwen2" or (kind == "llama" and bool(config.get("attention_bias"))),
        attention_out_bias=kind == "llama" and bool(config.get("attention_bias")),
        mlp_bias=kind == "llama" and bool(config.get("mlp_bias")),
    )


def _rope_of(config: Mapping[str, Any], name: str, head_dim: int) -> Rope:
    """transformers 5 writes `rope_parameters`, older versions `rope_theta` and `rope_scaling`."""
    given = config.get("rope_parameters") or config.get("rope_scaling") or {}
    if not isinstance(given, Mapping):
        raise _wrong(name, "rope_parameters")
    theta: Any = given.get("rope_theta", config.get("rope_theta", 10_000.0))
    if not _is_number(theta) or theta <= 1:
        raise _wrong(name, "rope_theta")
    if given.get("partial_rotary_factor", config.get("partial_rotary_factor", 1.0)) != 1.0:
        raise _differs(name, say("only part of its {count} dimensions is rotated by position", count=head_dim))
    kind = given.get("rope_type", given.get("type", "default"))
    try:
        if kind == "default":
            return Rope(float(theta))
        if kind == "linear":
            return Rope(float(theta), position_divisor=_positive(given, "factor"))
        if kind == "llama3":
            stretch = Llama3Stretch(
                factor=_positive(given, "factor"),
                low_frequency_factor=_positive(given, "low_freq_factor"),
                high_frequency_factor=_positive(given, "high_freq_factor"),
                original_positions=int(_positive(given, "original_max_position_embeddings")),
            )
            if stretch.high_frequency_factor <= stretch.low_frequency_factor:
                raise ValueError
            return Rope(float(theta), stretch=stretch)
    except ValueError as error:
        raise _wrong(name, "rope_scaling") from error
    raise _differs(name, say("its positions are scaled by “{kind}”", kind=word(kind)))


def _positive(given: Mapping[str, Any], key: str) -> float:
    value: Any = given.get(key)
    if not _is_number(value) or not 0 < value <= _MAX_SCALE:
        raise ValueError(key)
    return float(value)


def _is_number(value: Any) -> bool:
    """True for a number; an int may be larger than any float."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _number(config: Mapping[str, Any], key: str, name: str, default: int | None = None) -> int:
    value: Any = config.get(key)
    if value is None:
        value = default
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MAX[key]:
        raise _wrong(name, key)
    return int(value)


def word(value: Any) -> str:
    """Text of a config, fit for a sentence."""
    text = value if isinstance(value, str) else "unknown"
    return "".join(filter(str.isprintable, text[:_LONGEST_WORD]))


def _wrong(name: str, key: str) -> DrafterUnusable:
    return DrafterUnusable(
        "The config.json of {name} has no sensible value for {key}; download it again.", name=name, key=key
    )


def _differs(name: str, how: str) -> DrafterUnusable:
    return DrafterUnusable(
        "{name} cannot be a drafter because {how}; choose another Llama-type model.", name=name, how=how
    )
