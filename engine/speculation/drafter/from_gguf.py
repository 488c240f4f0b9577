"""Makes a drafter's folder out of a Llama-type model in a GGUF file, so that it runs in torch, where it can learn.

It is made once and kept in the data folder. Weights of 4 bits stay what they are where their groups are the same here,
and all others become int8 rows.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import torch
from gguf import GGMLQuantizationType
from safetensors import SafetensorError
from safetensors.torch import save_file

from engine.speculation.drafter.choice import MARKER, is_fetched
from engine.speculation.drafter.gguf_shape import EMBEDDING, HEAD, NORM, VARIANTS, read_rows
from engine.speculation.drafter.loading import SCALES
from engine.speculation.drafter.matrices import GROUP_SIZE, Int8Rows
from engine.speculation.drafter.shape import PLAIN
from engine.speculation.model.files.gguf_header import TensorPlace, read_header
from engine.speculation.model.files.identity import file_identity
from engine.speculation.model.files.model_files import part_paths
from engine.values.errors import Cancelled, DrafterUnusable
from engine.values.sentences import say
from engine.values.whole_file import whole_file

_VERSION = 1  # of what is written
_MOST_KEPT = 3  # folders; the oldest ones go first
_PARTED = ("llama", "mistral")  # types of model whose heads llama.cpp stores in another order
_POSITIONS = "rope_freqs.weight"
OF_LAYER = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


class GgufWeights:
    """Config, tokenizer and weights of a GGUF file, as transformers has them. A weight is read when it is asked for."""

    def __init__(self, path: Path) -> None:
        """May raise anything for an unknown file."""
        # Imported here because that takes two seconds and is needed only once.
        from transformers import TOKENIZER_MAPPING, AutoConfig, PreTrainedTokenizerFast

        folder = str(path.parent)
        options: dict[str, Any] = {"gguf_file": path.name, "local_files_only": True}
        self.config: Any = AutoConfig.from_pretrained(folder, trust_remote_code=False, **options)
        # AutoTokenizer chooses the same, but reads the config again for that, which takes as long again.
        kind: Any = TOKENIZER_MAPPING.get(type(self.config), PreTrainedTokenizerFast)
        self.tokenizer: Any = kind.from_pretrained(folder, **options)
        self._path = path
        self._tensors: Mapping[str, TensorPlace] = read_header(path).tensors

    @property
    def tensor_names(self) -> set[str]:
        return set(self._tensors)

    @property
    def num_weights(self) -> int:
        return sum(prod(place.shape) for place in self._tensors.values())

    @property
    def is_tied(self) -> bool:
        """True if the head is the embedding."""
        return HEAD not in self._tensors

    @property
    def scales_positions(self) -> bool:
        """True if a table in the file scales positions, as in Llama 3.1: transformers does not read it."""
        return _POSITIONS in self._tensors

    @property
    def embedding(self) -> torch.Tensor:
        """float32 [vocabulary, hidden]"""
        return self._tensor(EMBEDDING)

    @property
    def head(self) -> torch.Tensor:
        """float32 [vocabulary, hidden]"""
        return self.embedding if self.is_tied else self._tensor(HEAD)

    @property
    def norm(self) -> torch.Tensor:
        """float32 [hidden]"""
        return self._tensor(NORM)

    def layer(self, index: int) -> dict[str, torch.Tensor]:
        """The weights of a layer, float32, with their names within a layer."""
        layer = {f"{name}.weight": self._tensor(f"blk.{index}.{part}.weight") for name, part in OF_LAYER.items()}
        return {name: self._in_order(name, weight) for name, weight in layer.items()}

    def stored(self) -> Iterator[dict[str, torch.Tensor]]:
        """One weight after the other, as `drafter.loading` reads it. Raises KeyError where one is missing."""
        for name, found in self._names():
            groups = _groups(self._path, self._tensors[found])
            if groups is not None:
                values, scales = (self._in_order(name, part) for part in groups)
                yield {name: values.contiguous(), name + SCALES: scales.contiguous()}
                continue
            weight = self._in_order(name, self._tensor(found))
            if weight.ndim == 1:
                yield {name: weight}
            else:
                rows = Int8Rows.of(weight)
                yield {name: rows.values, name + SCALES: rows.scales}

    def _names(self) -> Iterator[tuple[str, str]]:
        """The name of every weight in transformers, and that in the file."""
        yield "model.embed_tokens.weight", EMBEDDING
        yield "model.norm.weight", NORM
        if not self.is_tied:
            yield "lm_head.weight", HEAD
        for index in range(self.config.num_hidden_layers):
            for name, part in OF_LAYER.items():
                yield f"model.layers.{index}.{name}.weight", f"blk.{index}.{part}.weight"
                if f"blk.{index}.{part}.bias" in self._tensors:
                    yield f"model.layers.{index}.{name}.bias", f"blk.{index}.{part}.bias"

    def _in_order(self, name: str, rows: torch.Tensor) -> torch.Tensor:
        """Reorders queries and keys, of which llama.cpp interleaves the halves that are rotated together; transformers
        separates them. `rows` is [outputs, …]."""
        kind, heads = name.rpartition("_proj.")[0][-1:], self.config.num_attention_heads
        if kind not in ("q", "k") or self.config.model_type not in _PARTED:
            return rows
        num_heads = heads if kind == "q" else self.config.num_key_value_heads or heads
        return rows.view(num_heads, -1, 2, *rows.shape[1:]).transpose(1, 2).reshape(rows.shape)

    def _tensor(self, name: str) -> torch.Tensor:
        place = self._tensors[name]
        num_rows = place.shape[1] if len(place.shape) == 2 else 1
        return torch.from_numpy(read_rows(self._path, place, [(0, num_rows)]).reshape(place.shape[::-1]))


def _groups(path: Path, place: TensorPlace) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Values and scales of a matrix in 4 bits whose groups are those of `Int4Groups`; None for others. A group in the
    file is a step, in Q4_1 also what 0 stands for (both float16), and the values; in Q4_0 the value 8 stands for 0."""
    sizes: dict[int, int] = {GGMLQuantizationType.Q4_0: 1, GGMLQuantizationType.Q4_1: 2}
    num_scales = sizes.get(place.kind)
    if num_scales is None or len(place.shape) != 2:
        return None
    num_outputs, num_groups = place.shape[1], place.shape[0] // GROUP_SIZE
    data = np.fromfile(path, np.uint8, place.num_bytes, offset=place.start).reshape(
        num_outputs, num_groups, 2 * num_scales + GROUP_SIZE // 2
    )
    found = data[..., : 2 * num_scales].copy().view(np.float16).astype(np.float32)
    step = found[..., 0]
    middle = found[..., 1] + 8 * step if num_scales == 2 else np.zeros_like(step)
    values = data[..., 2 * num_scales :].reshape(num_outputs, -1)
    return torch.from_numpy(values), torch.from_numpy(np.stack((step, middle), -1).astype(np.float16))


def torch_folder(gguf: Path, data_dir: Path, is_cancelled: Callable[[], bool] = lambda: False) -> Path:
    """The folder of the drafter made from this file; makes it if it is missing, which takes seconds.

    Raises DrafterUnusable if that is not possible, what reading the header raises (TargetMissing, TargetUnusable), and
    Cancelled when `is_cancelled` says so between two weights.
    """
    identity = file_identity(gguf).removeprefix("file:")
    name = f"from-gguf-{_VERSION}-{identity[:16]}"
    folder = data_dir / "drafters" / name
    if identity and is_fetched(folder):
        return folder
    weights = _opened(gguf)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder, weights, is_cancelled)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, KeyError | ValueError):
            raise _not_possible(gguf, say("lacks weights of a Llama-type model")) from error
        if isinstance(error, OSError | SafetensorError):
            raise DrafterUnusable(
                "{folder} cannot be written ({reason}); make room on the disk.",
                folder=folder,
                reason=getattr(error, "strerror", None) or error,
            ) from error
        raise
    _drop_oldest(folder)
    return folder


def _opened(gguf: Path) -> GgufWeights:
    header = read_header(gguf)
    architecture = header.text("general.architecture")
    if VARIANTS.get(architecture) != PLAIN:
        raise _not_possible(gguf, say("has the architecture “{architecture}”", architecture=architecture))
    if len(part_paths(gguf)) > 1:
        raise _not_possible(gguf, say("is in several parts"))
    if header.num_weights > psutil.virtual_memory().available // 2:  # a byte each, and the pages of the file
        raise _not_possible(
            gguf,
            say("has {billions:.1f} billion weights, too many for this computer,", billions=header.num_weights / 1e9),
        )
    try:
        weights = GgufWeights(gguf)
    except Exception as error:  # transformers may raise anything
        raise _not_possible(gguf, say("cannot be read by transformers")) from error
    if weights.scales_positions:
        raise _not_possible(gguf, say("scales its positions by a table"))
    return weights


def _write(folder: Path, weights: GgufWeights, is_cancelled: Callable[[], bool]) -> None:
    """Writes the list of files last: with it the folder is complete."""
    (folder / MARKER).unlink(missing_ok=True)
    tensors: dict[str, torch.Tensor] = {}
    for stored in weights.stored():
        if is_cancelled():
            raise Cancelled("Making the drafter was cancelled.")
        tensors |= stored
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    weights.tokenizer.save_pretrained(folder)
    config = weights.config.to_dict() | {"tie_word_embeddings": weights.is_tied}
    (folder / "config.json").write_text(json.dumps(config, indent=2), "utf-8")
    sizes = {file.name: file.stat().st_size for file in folder.iterdir() if file.is_file()}
    with whole_file(folder / MARKER) as file:
        file.write(json.dumps({"files": sizes}).encode())


def _drop_oldest(newest: Path) -> None:
    others = [folder for folder in newest.parent.glob("from-gguf-*") if folder != newest]
    others.sort(key=lambda folder: folder.stat().st_mtime, reverse=True)
    for folder in others[_MOST_KEPT - 1 :]:
        shutil.rmtree(folder, ignore_errors=True)


def _not_possible(gguf: Path, why: str) -> DrafterUnusable:
    return DrafterUnusable(
        "{name} {why} and cannot run in torch; choose the file itself as the drafter.", name=gguf.name, why=why
    )
