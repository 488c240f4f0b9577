"""An adapter as a file that llama.cpp applies to a running drafter, and additions made outside llama.cpp: if a model's
head is its embedding, llama.cpp would end the process over an addition to it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFWriter
from gguf.quants import quantize

from engine.speculation.drafter.gguf_shape import EMBEDDING, GgufModel
from engine.speculation.drafter.interface import LogitRow
from engine.speculation.model.files.gguf_header import read_header
from engine.values.errors import AdapterUnusable
from engine.values.whole_file import private_folder

FOLDER = "adapters"  # in the data folder: files are there for as long as llama.cpp reads them
_DOWN, _UP = ".lora_a", ".lora_b"
_MAX_RANK = 512

Floats = npt.NDArray[np.float32]
_Stored = tuple[GGMLQuantizationType, npt.NDArray[Any]]  # of a tensor: its kind, and what the file has of it


@dataclass(frozen=True, slots=True, eq=False)
class HeadAddition:
    down: Floats  # [rank, hidden]
    up: Floats  # [vocabulary, rank]

    def added(self, logits: LogitRow, state: Floats) -> LogitRow:
        """The logits plus the addition; `state`, [hidden], is what they were computed from."""
        return logits + self.up @ (self.down @ state)


@dataclass(frozen=True, slots=True, eq=False)
class Addition:
    """The learned additions, ready for llama.cpp."""

    architecture: str
    tensors: Mapping[str, Floats]  # of the adapter, checked
    head: HeadAddition | None  # where llama.cpp cannot add to the head


def adapter_tensors(model: GgufModel, parts: Mapping[str, tuple[Floats, Floats]]) -> dict[str, Floats]:
    """The tensors of a GGUF adapter, from additions (down [rank, inputs], up [outputs, rank]) by the names of
    `drafter.adapter.matrix_sizes`. Additions without effect are left out, as each costs time in every step."""
    tensors: dict[str, Floats] = {}
    for matrix, (down, up) in parts.items():
        if model.shape.tied and matrix == "head":
            continue
        first = 0
        for name in model.tensor_names(matrix):
            num_outputs = model.tensors[name].shape[1]
            own = up[first : first + num_outputs]
            first += num_outputs
            if own.any():
                tensors[name + _DOWN] = np.ascontiguousarray(down)
                tensors[name + _UP] = np.ascontiguousarray(model.in_file_order(name, own))
    return tensors


def check_tensors(model: GgufModel, tensors: Mapping[str, Floats]) -> None:
    """Refuses what llama.cpp would abort over or apply wrongly. Raises AdapterUnusable."""
    names = {name.removesuffix(_DOWN).removesuffix(_UP) for name in tensors}
    for name in names:
        place, down, up = model.tensors.get(name), tensors.get(name + _DOWN), tensors.get(name + _UP)
        fits = (
            place is not None
            and len(place.shape) == 2
            and name != EMBEDDING
            and down is not None
            and up is not None
            and 0 < len(down) <= _MAX_RANK
            and down.shape == (len(down), place.shape[0])
            and up.shape == (place.shape[1], len(down))
        )
        if not fits:
            raise AdapterUnusable("What was learned belongs to another drafter; this one starts learning from scratch.")
    if not all(tensor.dtype == np.float32 and np.isfinite(tensor).all() for tensor in tensors.values()):
        raise AdapterUnusable(
            "What the drafter had learned is damaged (it contains no numbers); it starts learning from scratch."
        )


@contextmanager
def adapter_file(folder: Path, architecture: str, tensors: Mapping[str, Floats]) -> Iterator[Path]:
    """A file that exists inside the block, read back and compared. Raises AdapterUnusable, and OSError."""
    private_folder(folder)
    handle, name = tempfile.mkstemp(suffix=".gguf", dir=folder)
    os.close(handle)
    path = Path(name)
    try:
        stored = {name: _stored(name, tensor) for name, tensor in tensors.items()}
        _write(path, architecture, stored)
        _check_file(path, tensors, stored)
        yield path
    finally:
        path.unlink(missing_ok=True)


def _write(path: Path, architecture: str, tensors: Mapping[str, _Stored]) -> None:
    writer = GGUFWriter(path, architecture)
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", 1.0)
    for name, (kind, stored) in tensors.items():
        writer.add_tensor(name, stored, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _stored(name: str, tensor: Floats) -> _Stored:
    """8 bits wherever rows are made of whole blocks: a step reads all of it."""
    # llama.cpp multiplies with alpha, and divides by the rank of each addition.
    scaled = tensor * tensor.shape[1] if name.endswith(_UP) else tensor
    is_whole = tensor.shape[1] % GGML_QUANT_SIZES[GGMLQuantizationType.Q8_0][0] == 0
    kind = GGMLQuantizationType.Q8_0 if is_whole else GGMLQuantizationType.F32
    return kind, quantize(scaled, kind)


def _check_file(path: Path, tensors: Mapping[str, Floats], written: Mapping[str, _Stored]) -> None:
    header, data = read_header(path), np.fromfile(path, np.uint8)
    is_whole = header.text("general.type") == "adapter" and header.tensors.keys() == tensors.keys()
    for name, place in header.tensors.items():
        kind, wanted = written[name]
        stored = data[place.start : place.start + place.num_bytes]
        is_whole &= (place.kind, place.shape) == (kind, tensors[name].shape[::-1])
        is_whole &= stored.tobytes() == wanted.tobytes()
    if not is_whole:
        raise AdapterUnusable("{path} was not written correctly; check the disk.", path=path)
