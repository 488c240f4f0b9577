"""GGUF files for tests: well-formed, with meaningless weights."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path

Value = int | float | bool | str | list[str] | list[int] | list[float]

TINY: dict[str, Value] = {
    "general.architecture": "llama",
    "general.type": "model",
    "general.name": "Tiny",
    "general.license": "mit",
    "general.file_type": 7,
    "llama.context_length": 4096,
    "llama.block_count": 2,
    "llama.embedding_length": 64,
    "llama.feed_forward_length": 128,
    "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2,
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "smollm",
    "tokenizer.ggml.tokens": ["a", "b", "c"],
    "tokenizer.chat_template": "{{ messages }}",
}
_F32 = 0


class Int32s(list[int]):
    """Numbers with a sign, as token types are."""


def gguf(values: Mapping[str, Value] = TINY, tensors: Mapping[str, tuple[int, ...]] | None = None) -> bytes:
    """A file with these values and, in F32, these tensors."""
    tensors = {"weight": (32, 4)} if tensors is None else tensors
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values))
    head += b"".join(_text(key) + _value(value) for key, value in values.items())
    offset = 0
    for name, shape in tensors.items():
        head += _text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, _F32, offset)
        size = 4
        for length in shape:
            size *= length
        offset += -(-size // 32) * 32
    return head + bytes(-len(head) % 32) + bytes(offset)


def write(path: Path, changes: Mapping[str, Value] | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gguf({**TINY, **(changes or {})}))
    return path


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _value(value: Value) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + _text(value)
    if value and isinstance(value[0], float):
        return struct.pack(f"<IIQ{len(value)}f", 9, 6, len(value), *value)
    if isinstance(value, Int32s):
        return struct.pack(f"<IIQ{len(value)}i", 9, 5, len(value), *value)
    if value and isinstance(value[0], int):
        return struct.pack(f"<IIQ{len(value)}I", 9, 4, len(value), *value)
    return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(_text(str(each)) for each in value)
