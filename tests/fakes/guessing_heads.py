"""Tiny models of random weights with heads, as llama.cpp knows them: a model with an MTP layer, and one with files of
EAGLE-3, DFlash, DFlash 2 and DSpark that were made for it.

Random heads are hardly ever right. So the models follow each token by one that depends mostly on it, and the heads of
an MTP layer, of EAGLE-3 and of DSpark are made to find that one: some of their guesses are right, and others wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from gguf import GGUFWriter

from tests.fakes.tiny_models import _add_sentencepiece, _begin

Weights = npt.NDArray[Any]

WIDTH, INNER, HEADS, LAYERS, VOCABULARY = 64, 128, 4, 4, 274
BLOCK = 6  # tokens that DFlash guesses at once, with the one before them
_HEAD = WIDTH // HEADS
_MASK = 0  # the unknown token stands for what is to be guessed
_UNWRITTEN = [0, 1, 2, *range(3 + 0x80, 3 + 0x100)]  # special ones, and bytes that alone are no text
_CANDIDATES, _RANK, _KERNEL, _GROUP = 4, 8, 2, 16  # of DFlash 2
_READ_LAYERS = (1, 2, 3)
_UNSURE = 3  # times the noise, where a head would nearly always be right
_NOISE = 0.06  # of a layer, beside the tokens' own 1: what comes next depends on more than the token


def seeing_target(path: Path) -> Path:
    """A Qwen 3 of four layers, whose inputs llama.cpp can tell."""
    writer = _begin("qwen3", LAYERS)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_key_length(_HEAD)
    writer.add_value_length(_HEAD)
    writer.add_layer_norm_rms_eps(1e-6)
    _add_sentencepiece(writer)
    return _write(path, writer, _body(LAYERS, np.random.default_rng(2)) | _ends())


def mtp_target(path: Path) -> Path:
    """A mixture of experts whose second layer guesses the token after the next."""
    dice = np.random.default_rng(3)
    writer = _begin("glm4moe", 2)
    writer.add_nextn_predict_layers(1)
    writer.add_head_count(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_leading_dense_block_count(1)
    writer.add_expert_count(2)
    writer.add_expert_used_count(1)
    writer.add_expert_shared_count(1)
    writer.add_expert_feed_forward_length(INNER)
    _add_sentencepiece(writer)
    weights = _feed_forward(0, dice) | _ends()
    del weights["blk.0.ffn_norm.weight"]
    for layer in range(2):
        parts = ("q", "k", "v", "output")
        weights |= {f"blk.{layer}.attn_{part}.weight": _noise((WIDTH, WIDTH), dice) for part in parts}
        weights |= {f"blk.{layer}.{part}_norm.weight": np.ones(WIDTH) for part in ("attn", "post_attention")}
    wide = (INNER, WIDTH)
    weights["blk.0.ffn_down.weight"] *= _UNSURE
    weights |= {"blk.1.ffn_gate_inp.weight": _noise((2, WIDTH), dice), "blk.1.exp_probs_b.bias": np.zeros(2)}
    for name, count in (("exps", (2,)), ("shexp", ())):
        weights |= {f"blk.1.ffn_{part}_{name}.weight": _noise((*count, *wide), dice) for part in ("gate", "up")}
        weights[f"blk.1.ffn_down_{name}.weight"] = _noise((*count, *wide[::-1]), dice)
    weights["blk.1.nextn.eh_proj.weight"] = _beside(np.eye(WIDTH), _noise((WIDTH, WIDTH), dice))
    weights |= {f"blk.1.nextn.{part}.weight": np.ones(WIDTH) for part in ("enorm", "hnorm", "shared_head_norm")}
    return _write(path, writer, weights)


def hybrid_mtp_target(path: Path) -> Path:
    """A Qwen 3.5 whose first three layers keep a state, with a layer that guesses the token after the next; its
    positions have several dimensions."""
    dice = np.random.default_rng(8)
    writer = _begin("qwen35", LAYERS + 1)
    writer.add_nextn_predict_layers(1)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_key_length(_HEAD)
    writer.add_value_length(_HEAD)
    writer.add_rope_dimension_sections([4, 2, 2, 0])
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_ssm_conv_kernel(_KERNEL)
    writer.add_ssm_inner_size(WIDTH)
    writer.add_ssm_state_size(_HEAD)
    writer.add_ssm_time_step_rank(HEADS)
    writer.add_ssm_group_count(HEADS)
    _add_sentencepiece(writer)
    weights = _ends()
    for layer in range(LAYERS + 1):
        block = _feed_forward(layer, dice)
        del block[f"blk.{layer}.ffn_norm.weight"]
        block |= {f"blk.{layer}.{part}_norm.weight": np.ones(WIDTH) for part in ("attn", "post_attention")}
        if layer + 1 < LAYERS:
            shapes = {"attn_qkv": (3 * WIDTH, WIDTH), "attn_gate": (WIDTH, WIDTH), "ssm_conv1d": (3 * WIDTH, _KERNEL)}
            shapes |= {"ssm_beta": (HEADS, WIDTH), "ssm_alpha": (HEADS, WIDTH), "ssm_out": (WIDTH, WIDTH)}
            block |= {f"blk.{layer}.{part}.weight": _noise(shape, dice) for part, shape in shapes.items()}
            block |= {f"blk.{layer}.ssm_norm.weight": np.ones(_HEAD), f"blk.{layer}.ssm_a": -np.ones(HEADS)}
            block[f"blk.{layer}.ssm_dt.bias"] = np.zeros(HEADS)
        else:
            shapes = {"q": (2 * WIDTH, WIDTH), "k": (WIDTH, WIDTH), "v": (WIDTH, WIDTH), "output": (WIDTH, WIDTH)}
            block |= {f"blk.{layer}.attn_{part}.weight": _noise(shape, dice) for part, shape in shapes.items()}
            block |= {f"blk.{layer}.attn_{part}_norm.weight": np.ones(_HEAD) for part in ("q", "k")}
        weights |= block
    weights[f"blk.{LAYERS}.nextn.eh_proj.weight"] = _beside(np.eye(WIDTH), _noise((WIDTH, WIDTH), dice))
    norms = ("enorm", "hnorm", "shared_head_norm")
    weights |= {f"blk.{LAYERS}.nextn.{part}.weight": np.ones(WIDTH) for part in norms}
    return _write(path, writer, weights)


def chain_mtp_target(path: Path) -> Path:
    """A Hunyuan 3 without experts, with two layers for guessing, each for one more token."""
    dice = np.random.default_rng(9)
    writer = _begin("hy_v3", LAYERS + 2)
    writer.add_nextn_predict_layers(2)
    writer.add_expert_feed_forward_length(INNER)
    _add_heads(writer)
    weights = _body(LAYERS + 2, dice) | _ends()
    for layer in (LAYERS, LAYERS + 1):
        weights[f"blk.{layer}.nextn.eh_proj.weight"] = _beside(np.eye(WIDTH), _noise((WIDTH, WIDTH), dice))
        norms = ("enorm", "hnorm", "shared_head_norm")
        weights |= {f"blk.{layer}.nextn.{part}.weight": np.ones(WIDTH) for part in norms}
    return _write(path, writer, weights)


def windowed_target(path: Path) -> Path:
    """A Gemma 4 of four layers, of which those but the last see the last tokens alone."""
    dice = np.random.default_rng(10)
    writer = _begin("gemma4", LAYERS)
    _add_windows(writer, [True, True, True, False])
    writer.add_uint32("gemma4.embedding_length_per_layer_input", 0)
    weights = _body(LAYERS, dice) | _ends()
    for layer in range(LAYERS):
        weights |= {f"blk.{layer}.post_{part}_norm.weight": np.ones(WIDTH) for part in ("attention", "ffw")}
    weights["rope_freqs.weight"] = np.ones(_HEAD // 2)
    return _write(path, writer, weights)


def assistant(path: Path) -> Path:
    """A head for `windowed_target`, which looks at what that holds of the text."""
    dice, narrow = np.random.default_rng(11), WIDTH // 2
    writer = _begin("gemma4-assistant", 2)
    del writer.kv_data[0]["gemma4-assistant.embedding_length"]
    writer.add_embedding_length(narrow)
    writer.add_uint32("gemma4-assistant.embedding_length_out", WIDTH)
    writer.add_nextn_predict_layers(2)
    _add_windows(writer, [True, False])
    ends = _ends()
    down = _noise((narrow, WIDTH), dice, WIDTH**-0.5)
    weights: dict[str, Weights] = {
        "token_embd.weight": ends["output.weight"] @ down.T,
        "output_norm.weight": np.ones(narrow),
        "nextn.pre_projection.weight": _beside(down, _noise((narrow, WIDTH), dice)),
        "nextn.post_projection.weight": down.T.copy(),
        "rope_freqs.weight": np.ones(_HEAD // 2),
    }
    for layer in range(2):
        norms = ("attn", "post_attention", "ffn", "post_ffw")
        weights |= {f"blk.{layer}.{part}_norm.weight": np.ones(narrow) for part in norms}
        weights |= {
            f"blk.{layer}.attn_q.weight": _noise((WIDTH, narrow), dice),
            f"blk.{layer}.attn_output.weight": _noise((narrow, WIDTH), dice),
            f"blk.{layer}.attn_q_norm.weight": np.ones(_HEAD),
            f"blk.{layer}.layer_output_scale.weight": np.ones(1),
            f"blk.{layer}.ffn_gate.weight": _noise((INNER, narrow), dice),
            f"blk.{layer}.ffn_up.weight": _noise((INNER, narrow), dice),
            f"blk.{layer}.ffn_down.weight": _noise((narrow, INNER), dice, 0.01),
        }
    return _write(path, writer, weights)


def _add_windows(writer: GGUFWriter, pattern: list[bool]) -> None:
    _add_heads(writer)
    writer.add_key_length_swa(_HEAD)
    writer.add_value_length_swa(_HEAD)
    writer.add_rope_freq_base_swa(10_000.0)
    writer.add_sliding_window(16)
    writer.add_sliding_window_pattern(pattern)


def eagle3(
    path: Path,
    target_layers: Sequence[int] = _READ_LAYERS,
    target_hidden_size: int = WIDTH,
    guessed: Sequence[int] = (),
) -> Path:
    """A head for `seeing_target`, which takes its tokens and its output from there. `guessed`: the tokens that it
    guesses, with an output of its own; if none, all of them."""
    dice = np.random.default_rng(4)
    writer = _begin("eagle3", 1)
    _add_heads(writer)
    writer.add_array("eagle3.target_layers", list(target_layers))
    writer.add_uint32("eagle3.target_hidden_size", target_hidden_size)
    wide = np.eye(WIDTH), _noise((WIDTH, WIDTH), dice)
    weights = {
        "fc.weight": _noise((WIDTH, len(target_layers) * target_hidden_size), dice),
        "output_norm.weight": np.ones(WIDTH),
        "blk.0.attn_norm.weight": np.ones(WIDTH),
        "blk.0.attn_norm_2.weight": np.ones(WIDTH),
        # Each token looks for itself, and passes on what it is.
        "blk.0.attn_q.weight": 3 * _beside(*wide),
        "blk.0.attn_k.weight": _beside(*wide),
        "blk.0.attn_v.weight": _beside(*wide),
        "blk.0.attn_output.weight": np.eye(WIDTH),
        **_feed_forward(0, dice),
    }
    if guessed:
        weights |= {"output.weight": _noise((len(guessed), WIDTH), dice), "d2t": np.array(guessed, np.int64)}
    return _write(path, writer, weights)


def dflash(path: Path, selects: bool = False) -> Path:
    """A head for `seeing_target` that guesses a block at once; `selects`: DFlash 2, whose guesses depend on the one
    before."""
    dice = np.random.default_rng(5)
    writer, weights = _dflash(dice)
    if selects:
        for key, value in (
            *(("conv_kernel_size", _KERNEL), ("conv_group_size", _GROUP)),
            *(("selector_rank", _RANK), ("selector_top_k", _CANDIDATES)),
        ):
            writer.add_uint32(f"dflash.{key}", value)
        weights["selector_predecessor.weight"] = _noise((VOCABULARY, _RANK), dice, 1)
        weights["selector_successor.weight"] = _noise((VOCABULARY, _RANK), dice, 1)
        weights["selector_hidden.weight"] = _noise((_RANK, WIDTH), dice, 1)
        for part in ("attn", "ffn"):
            weights[f"blk.0.{part}_conv_base"] = _noise((2, _KERNEL, WIDTH), dice, 1)
            weights[f"blk.0.{part}_conv_proj.weight"] = _noise((2 * _KERNEL * WIDTH // _GROUP, WIDTH), dice)
    return _write(path, writer, weights)


def dspark(path: Path, from_anchor: bool = True) -> Path:
    """The same with a head that looks at the guess before, and knows what usually follows it. `from_anchor`: the place
    of the token before the block makes a guess, too."""
    dice = np.random.default_rng(6)
    writer, weights = _dflash(dice)
    writer.add_bool("dflash.sample_from_anchor", from_anchor)
    ends = _ends()
    weights["markov_w1.weight"] = ends["token_embd.weight"]
    weights["markov_w2.weight"] = ends["output.weight"]
    weights["conf_proj.weight"] = _noise((1, 2 * WIDTH), dice)
    return _write(path, writer, weights)


def all_heads(folder: Path) -> dict[str, tuple[Path, Path | None]]:
    """Writes each model with its head, by llama.cpp's name of the method; None: the head is in the model's own file."""
    seeing = seeing_target(folder / "seeing.gguf")
    return {
        "draft-mtp": (mtp_target(folder / "mtp.gguf"), None),
        "draft-mtp of a hybrid": (hybrid_mtp_target(folder / "hybrid.gguf"), None),
        "draft-mtp of two layers": (chain_mtp_target(folder / "chain.gguf"), None),
        "draft-mtp of an assistant": (windowed_target(folder / "window.gguf"), assistant(folder / "assistant.gguf")),
        "draft-eagle3": (seeing, eagle3(folder / "eagle3.gguf")),
        "draft-eagle3 of few tokens": (seeing, eagle3(folder / "eagle3-few.gguf", guessed=range(3, 131))),
        "draft-dflash": (seeing, dflash(folder / "dflash.gguf")),
        "draft-dflash2": (seeing, dflash(folder / "dflash2.gguf", selects=True)),
        "draft-dspark": (seeing, dspark(folder / "dspark.gguf")),
        "draft-dspark beside its anchor": (seeing, dspark(folder / "dspark-beside.gguf", from_anchor=False)),
    }


def _dflash(dice: np.random.Generator) -> tuple[GGUFWriter, dict[str, Weights]]:
    writer = _begin("dflash", 1)
    _add_heads(writer)
    writer.add_array("dflash.target_layers", list(_READ_LAYERS))
    writer.add_uint32("dflash.block_size", BLOCK)
    writer.add_mask_token_id(_MASK)
    weights = _body(1, dice) | {"output_norm.weight": np.ones(WIDTH)}
    # All look for what is common to tokens, and so find the token before the block, beside weaker traces of the text.
    weights |= {"fc.weight": _noise((WIDTH, 3 * WIDTH), dice), "enc.output_norm.weight": np.full(WIDTH, 0.1)}
    weights |= {f"blk.0.attn_{part}.weight": np.tile(_common(), (WIDTH, 1)) for part in ("q", "k")}
    weights["blk.0.attn_v.weight"] = np.eye(WIDTH) - np.outer(_common(), _common())
    weights["blk.0.attn_output.weight"] = np.eye(WIDTH)
    weights["blk.0.ffn_down.weight"] *= 0.02
    return writer, weights


def _add_heads(writer: GGUFWriter) -> None:
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_key_length(_HEAD)
    writer.add_value_length(_HEAD)
    writer.add_rope_freq_base(10_000.0)
    writer.add_layer_norm_rms_eps(1e-6)
    _add_sentencepiece(writer)


def _ends() -> dict[str, Weights]:
    """Embeddings, and an output by which each token is likely followed by a certain other one."""
    dice = np.random.default_rng(7)
    tokens = dice.normal(0, 1, (VOCABULARY, WIDTH)) + 8 * _common()
    tokens[_MASK] = 8 * _common()
    output = 0.25 * tokens[np.argsort(dice.permutation(VOCABULARY))]
    output[_UNWRITTEN] = 0
    return {"token_embd.weight": tokens, "output.weight": output, "output_norm.weight": np.ones(WIDTH)}


def _common() -> Weights:
    """The direction that all tokens share, of length 1."""
    return np.full(WIDTH, WIDTH**-0.5)


def _body(num_layers: int, dice: np.random.Generator) -> dict[str, Weights]:
    weights: dict[str, Weights] = {}
    for layer in range(num_layers):
        weights |= {
            f"blk.{layer}.attn_{part}.weight": _noise((WIDTH, WIDTH), dice) for part in ("q", "k", "v", "output")
        }
        weights |= {f"blk.{layer}.attn_{part}_norm.weight": np.ones(_HEAD) for part in ("q", "k")}
        weights[f"blk.{layer}.attn_norm.weight"] = np.ones(WIDTH)
        weights |= _feed_forward(layer, dice)
    return weights


def _feed_forward(layer: int, dice: np.random.Generator) -> dict[str, Weights]:
    return {
        f"blk.{layer}.ffn_norm.weight": np.ones(WIDTH),
        f"blk.{layer}.ffn_gate.weight": _noise((INNER, WIDTH), dice, 0.1),
        f"blk.{layer}.ffn_up.weight": _noise((INNER, WIDTH), dice, 0.1),
        f"blk.{layer}.ffn_down.weight": _noise((WIDTH, INNER), dice, 0.1),
    }


def _beside(first: Weights, second: Weights) -> Weights:
    return np.concatenate((first, second), axis=1)


def _noise(shape: tuple[int, ...], dice: np.random.Generator, scale: float = _NOISE) -> Weights:
    return dice.normal(0, scale, shape)


def _write(path: Path, writer: GGUFWriter, weights: Mapping[str, Weights]) -> Path:
    for name, values in weights.items():
        writer.add_tensor(name, values if name == "d2t" else values.astype(np.float32))
    writer.write_header_to_file(path)
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
