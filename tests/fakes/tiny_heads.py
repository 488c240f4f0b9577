"""Tiny heads in files of their own, with random weights, that llama.cpp really loads: for `tiny_qwen3`, or, as layers
that predict several tokens, for `tiny_mtp`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from gguf import GGUFValueType, GGUFWriter
from gguf.gguf_writer import GGUFValue

from engine.values.targets import HeadMethod
from tests.fakes.tiny_models import _HEADS, _INNER, _NUM_SPM, _WIDTH, _add_sentencepiece, _begin, _Shapes, tiny_mtp

MASK = 0  # a token
RANK = 8  # of a DSpark's Markov head
_ARCHITECTURES = {HeadMethod.EAGLE3: "eagle3", HeadMethod.DFLASH: "dflash", HeadMethod.DSPARK: "dflash"}
_KINDS = {list: GGUFValueType.ARRAY, str: GGUFValueType.STRING, float: GGUFValueType.FLOAT32}


def tiny_head(
    path: Path,
    method: HeadMethod,
    values: Mapping[str, int | float | str | list[int] | None] | None = None,
    shapes: Mapping[str, tuple[int, ...] | None] | None = None,
    guessed: Sequence[int] | None = None,
) -> Path:
    """`values` and `shapes`, in numpy's order, replace those of a sound head, or, where None, take them away; keys are
    without the architecture unless they name another. `guessed`: the tokens that it guesses, if not all."""
    if method is HeadMethod.MTP:
        return tiny_mtp(path, without="blk.0.")
    architecture = _ARCHITECTURES[method]
    taps = [0, 1, 1] if method is HeadMethod.EAGLE3 else [0, 1]
    writer = _begin(architecture, num_layers=1)
    writer.add_head_count(_HEADS)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_key_length(_WIDTH // _HEADS)
    writer.add_value_length(_WIDTH // _HEADS)
    writer.add_array(f"{architecture}.target_layers", taps)
    if method is HeadMethod.EAGLE3:
        writer.add_uint32(f"{architecture}.target_hidden_size", _WIDTH)
    else:
        writer.add_uint32(f"{architecture}.block_size", 4)
        writer.add_mask_token_id(MASK)
    _add_sentencepiece(writer)
    for key, value in (values or {}).items():
        _set(writer, key if key.startswith(("tokenizer.", "general.")) else f"{architecture}.{key}", value)
    whole = _shapes(method, len(taps)) | ({} if guessed is None else {"output.weight": (len(guessed), _WIDTH)})
    kept = {name: shape for name, shape in (whole | dict(shapes or {})).items() if shape is not None}
    dice = np.random.default_rng(1)
    for name, shape in kept.items():
        writer.add_tensor(name, (dice.normal(0, 0.1, shape) + ("norm.weight" in name)).astype(np.float32))
    if guessed is not None:
        writer.add_tensor("d2t", np.array(guessed, np.int64))
    writer.write_header_to_file(path)
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _set(writer: GGUFWriter, key: str, value: int | float | str | list[int] | None) -> None:
    writer.kv_data[0].pop(key, None)
    if isinstance(value, int):
        kind = GGUFValueType.INT64 if not 0 <= value < 1 << 32 else GGUFValueType.UINT32
        writer.kv_data[0][key] = GGUFValue(value, kind)
    elif value is not None:
        writer.kv_data[0][key] = GGUFValue(value, _KINDS[type(value)])


def _shapes(method: HeadMethod, num_taps: int) -> _Shapes:
    norm, square, wide = (_WIDTH,), (_WIDTH, _WIDTH), (_INNER, _WIDTH)
    shapes: _Shapes = {"fc.weight": (_WIDTH, num_taps * _WIDTH), "output_norm.weight": norm}
    shapes |= {f"blk.0.{part}_norm.weight": norm for part in ("attn", "ffn")}
    shapes |= {f"blk.0.ffn_{part}.weight": wide for part in ("gate", "up")}
    shapes |= {"blk.0.ffn_down.weight": wide[::-1], "blk.0.attn_output.weight": square}
    inputs = 2 * _WIDTH if method is HeadMethod.EAGLE3 else _WIDTH
    shapes |= {f"blk.0.attn_{part}.weight": (_WIDTH, inputs) for part in ("q", "k", "v")}
    if method is HeadMethod.EAGLE3:
        return shapes | {"blk.0.attn_norm_2.weight": norm, "output.weight": (_NUM_SPM, _WIDTH)}
    shapes |= {f"blk.0.attn_{part}_norm.weight": (_WIDTH // _HEADS,) for part in ("q", "k")}
    shapes["enc.output_norm.weight"] = norm
    if method is HeadMethod.DSPARK:
        shapes |= {f"markov_w{number}.weight": (_NUM_SPM, RANK) for number in (1, 2)}
        shapes["conf_proj.weight"] = (1, _WIDTH + RANK)
    return shapes
