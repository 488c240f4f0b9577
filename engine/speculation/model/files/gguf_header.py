"""Reads the header of a GGUF file: its keys and its tensors, without knowing what they mean.

Files come from anywhere, so every count and length is compared with the size of the file before it is used. The long
lists of a vocabulary are skipped and only counted: a header of 150,000 tokens takes a tenth of a second.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import BinaryIO

from gguf.constants import GGML_QUANT_SIZES

from engine.speculation.model.files.model_files import part_paths
from engine.values.errors import TargetMissing, TargetUnusable
from engine.values.sentences import say

Scalar = int | float | bool | str

_MAGIC = b"GGUF"
_OLDER = frozenset((b"lmgg", b"fmgg", b"tjgg", b"algg"))  # as they stand in the file
_POINTER = b"version https://git-lfs"[:4]
_VERSIONS = (2, 3)  # as llama.cpp reads them
_MOST_KEYS = 10_000
_MOST_TENSORS = 200_000
# Items of a list, and of all lists together; the largest vocabularies have 300,000 tokens and twice as many merges.
_MOST_IN_LIST, _MOST_ITEMS = 1 << 20, 1 << 22
_LONGEST_HEADER = 1 << 27  # bytes; five times the longest that was seen
_LONGEST_KEY = 65_535
_LONGEST_TEXT = 1 << 20  # stored of a text; chat templates are the longest there are
_MOST_TEXT = 1 << 25  # bytes of all that is stored
_LONGEST_LIST = 4096  # of numbers that are stored: one for each layer
_MOST_NUMBERS = 1 << 16  # that are stored of all lists; models have a few lists of a hundred
_MOST_DIMENSIONS = 4
_MOST_WEIGHTS = 1 << 50
_BUFFER_BYTES = 1 << 20
_STRING, _LIST = 8, 9
_LAYER, _INPUT, _OUTPUT = "blk.", "token_embd.weight", "output.weight"  # names of tensors, or how they begin
_FORMATS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_LENGTH = struct.Struct("<Q")
_BLOCKS = {int(kind): sizes for kind, sizes in GGML_QUANT_SIZES.items()}  # of a block: its weights, its bytes


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list, whose items are kept only if they are few numbers."""

    length: int
    items: tuple[int | float | bool, ...] | None
    start: int = field(default=0, compare=False)  # byte of its first item, in the file
    num_bytes: int = 0  # of all items


@dataclass(frozen=True, slots=True)
class TensorPlace:
    """The place of a tensor in its file."""

    shape: tuple[int, ...]  # as the file has it: the inputs of a matrix first
    kind: int  # of its numbers, as in `gguf.GGMLQuantizationType`
    start: int  # byte
    num_bytes: int  # 0 for a kind that we do not know


@dataclass(frozen=True, slots=True)
class GgufHeader:
    values: dict[str, Scalar | ListOf]
    num_tensors: int
    num_weights: int  # parameters, of all tensors
    type_bytes: dict[int, int]  # of every type of tensor that we know, the bytes that tensors of it take
    layer_bytes: int = 0  # of these, in the layers that repeat
    output_bytes: int = 0  # and in the matrix after them, or, if there is none, the one before them
    has_own_output: bool = True  # whether there is one after them
    tensors: Mapping[str, TensorPlace] = field(default_factory=dict)  # by name

    def text(self, key: str) -> str:
        value = self.values.get(key)
        return value if isinstance(value, str) else ""

    def number(self, key: str) -> int:
        """The number under a key; 0 if there is none, or it makes no sense."""
        value = self.values.get(key)
        return value if isinstance(value, int) and value > 0 else 0

    def numbers(self, key: str, count: int) -> tuple[int, ...]:
        """The number for each of `count` layers: a list as it is, or one number repeated."""
        value = self.values.get(key)
        if isinstance(value, ListOf):
            items = (value.items or ())[:count]
            return tuple(item if isinstance(item, int) and item > 0 else 0 for item in items)
        return (self.number(key),) * count

    def length(self, key: str) -> int:
        value = self.values.get(key)
        return value.length if isinstance(value, ListOf) else 0


def read_header(path: Path) -> GgufHeader:
    """Raises TargetMissing or TargetUnusable, also for a file that ends before its tensors do."""
    try:
        if not path.is_file():
            raise TargetMissing("There is no file {path}; choose another model file.", path=path)
        with path.open("rb") as file:
            return _HeaderReader(file, path.stat().st_size, path.name).read()
    except (OSError, ValueError) as error:  # ValueError: a name no file can have
        reason = error.strerror if isinstance(error, OSError) else say("no file can have such a name")
        raise TargetUnusable(
            "{path} cannot be read ({reason}); check its permissions.", path=path, reason=reason
        ) from error


def read_texts(path: Path, found: Scalar | ListOf | None) -> tuple[bytes, ...]:
    """The texts of a list in the header of a file, for what the header has under its key; none if that is no such list.
    Raises TargetUnusable."""
    if not isinstance(found, ListOf) or found.items is not None:
        return ()
    try:
        return texts_in(read_list(path, found))
    except ValueError:
        raise TargetUnusable("{name} is damaged; download it again.", name=path.name) from None


def read_list(path: Path, listed: ListOf) -> bytes:
    """A list as it stands in a file."""
    with path.open("rb") as file:
        file.seek(listed.start)
        return file.read(listed.num_bytes)


def texts_in(listed: bytes) -> tuple[bytes, ...]:
    """The texts of a list. Raises ValueError if the last one is cut off."""
    texts, at = [], 0
    while at < len(listed):
        begin = at + _LENGTH.size
        at = begin + int.from_bytes(listed[at:begin], "little")
        if at > len(listed):
            raise ValueError("it is cut off")
        texts.append(listed[begin:at])
    return tuple(texts)


def read_model(path: Path) -> GgufHeader:
    """The header of a model: that of its first part, with the tensors of all parts, whose places are within their own
    files. Raises TargetMissing or TargetUnusable."""
    paths = part_paths(path)
    header = read_header(paths[0])
    for place, part in enumerate(paths[1:], start=2):
        if not part.exists():
            raise TargetUnusable(
                "Part {place} of {count} of {name} is missing; download it again.",
                place=place,
                count=len(paths),
                name=path.name,
            )
        header = _joined(header, read_header(part))
    return header


def _joined(header: GgufHeader, more: GgufHeader) -> GgufHeader:
    is_output = more.has_own_output or not header.has_own_output  # else it is the matrix before the layers
    return replace(
        header,
        num_tensors=header.num_tensors + more.num_tensors,
        num_weights=header.num_weights + more.num_weights,
        type_bytes=Counter(header.type_bytes) + Counter(more.type_bytes),
        layer_bytes=header.layer_bytes + more.layer_bytes,
        output_bytes=(more.output_bytes if is_output else 0) or header.output_bytes,
        has_own_output=header.has_own_output or more.has_own_output,
        tensors={**header.tensors, **more.tensors},
    )


class _HeaderReader:
    """Reads the header of one file from start to end, through a buffer of the file's bytes, and checks every count and
    length before it uses it."""

    def __init__(self, file: BinaryIO, size: int, name: str) -> None:
        self._file = file
        self._size = size
        self._name = name
        self._buffer = b""
        self._start = 0  # of the buffer, in the file
        self._at = 0  # in the buffer
        self._num_items = self._num_stored = 0
        self._stored_bytes = 0

    def read(self) -> GgufHeader:
        if self._size < len(_MAGIC) or (magic := self._take(len(_MAGIC))) != _MAGIC:
            raise self._of_other_format(magic if self._size >= len(_MAGIC) else b"")
        version = self._number(4)
        if version not in _VERSIONS:
            raise TargetUnusable(
                "{name} is in a version of the GGUF format that cannot be read here; download a newer file.",
                name=self._name,
            )
        num_tensors, num_keys = self._number(8), self._number(8)
        if num_keys > _MOST_KEYS or num_tensors > _MOST_TENSORS:
            raise self._damaged()
        values: dict[str, Scalar | ListOf] = {}
        for _ in range(num_keys):
            key = self._text(_LONGEST_KEY, must_fit=True)
            values[key] = self._value(self._number(4))
        return self._with_tensors(values, num_tensors)

    def _with_tensors(self, values: dict[str, Scalar | ListOf], num_tensors: int) -> GgufHeader:
        num_weights = end = layer_bytes = 0
        type_bytes: dict[int, int] = {}
        ends: dict[str, int] = {}  # bytes of the matrices before and after the layers
        tensors: dict[str, TensorPlace] = {}
        for _ in range(num_tensors):
            name = self._text(_LONGEST_KEY, must_fit=True)
            num_dimensions = self._number(4)
            if num_dimensions > _MOST_DIMENSIONS:
                raise self._damaged()
            shape = tuple(self._number(8) for _ in range(num_dimensions))
            weights = prod(shape)
            kind, offset = self._number(4), self._number(8)
            num_weights += weights
            if num_weights > _MOST_WEIGHTS:
                raise self._damaged()
            block, block_bytes = _BLOCKS.get(kind, (1, 0))
            size = weights // block * block_bytes
            if size:
                type_bytes[kind] = type_bytes.get(kind, 0) + size
            if name.startswith(_LAYER):
                layer_bytes += size
            elif name in (_INPUT, _OUTPUT):
                ends[name] = size
            end = max(end, offset + size)
            tensors[name] = TensorPlace(shape, kind, offset, size)
        alignment = values.get("general.alignment", 32)
        if not isinstance(alignment, int) or not 0 < alignment <= _BUFFER_BYTES:
            raise self._damaged()
        start = -(-(self._start + self._at) // alignment) * alignment
        if num_tensors and start + end > self._size:
            raise self._cut_short()
        tensors = {name: replace(place, start=start + place.start) for name, place in tensors.items()}
        output_bytes = ends.get(_OUTPUT, ends.get(_INPUT, 0))
        return GgufHeader(
            values, num_tensors, num_weights, type_bytes, layer_bytes, output_bytes, _OUTPUT in ends, tensors
        )

    def _value(self, kind: int) -> Scalar | ListOf:
        if kind == _STRING:
            return self._text(_LONGEST_TEXT)
        if kind == _LIST:
            return self._list()
        return self._scalars(kind, 1)[0]

    def _list(self) -> ListOf:
        kind, length = self._number(4), self._number(8)
        self._num_items += length
        if length > _MOST_IN_LIST or self._num_items > _MOST_ITEMS:
            raise self._damaged()
        start = self._start + self._at
        items = None
        if kind == _STRING:
            self._skip_texts(length)
        elif length <= min(_LONGEST_LIST, _MOST_NUMBERS - self._num_stored):
            self._num_stored += length
            items = self._scalars(kind, length)
        else:
            self._skip(length * struct.calcsize(self._format(kind)))
        return ListOf(length, items, start, self._start + self._at - start)

    def _scalars(self, kind: int, count: int) -> tuple[int | float | bool, ...]:
        code = self._format(kind)
        size = struct.calcsize(code)
        return struct.unpack(f"<{count}{code[1]}", self._take(count * size)) if count else ()

    def _format(self, kind: int) -> str:
        if kind not in _FORMATS:  # also a list of lists, which no program writes
            raise self._damaged()
        return _FORMATS[kind]

    def _number(self, size: int) -> int:
        return int.from_bytes(self._take(size), "little")

    def _text(self, longest: int, must_fit: bool = False) -> str:
        """The next text, at most `longest` bytes of it."""
        length = self._number(8)
        if must_fit and length > longest:
            raise self._damaged()
        data = self._take(min(length, longest))
        self._stored_bytes += len(data)
        if self._stored_bytes > _MOST_TEXT:
            raise self._damaged()
        self._skip(length - len(data))
        return data.decode("utf-8", "replace")

    def _skip_texts(self, count: int) -> None:
        """Skips texts: the inner loop of every reading, with local variables for speed."""
        unpack, start, buffer, at = _LENGTH.unpack_from, self._start, self._buffer, self._at
        last = len(buffer) - 8
        for _ in range(count):
            if at > last:
                self._move(start + at, 8)
                start, buffer, at = self._start, self._buffer, 0
                last = len(buffer) - 8
            at += 8 + unpack(buffer, at)[0]
        self._move(start + at, 0)

    def _take(self, count: int) -> bytes:
        if self._at + count > len(self._buffer):
            self._move(self._start + self._at, count)
        data = self._buffer[self._at : self._at + count]
        self._at += count
        return data

    def _skip(self, count: int) -> None:
        if self._at + count <= len(self._buffer):
            self._at += count
        else:
            self._move(self._start + self._at + count, 0)

    def _move(self, place: int, needed: int) -> None:
        """Moves the buffer to a place in the file, which at least `needed` bytes must follow."""
        if place + needed > self._size:
            raise self._cut_short()
        if place > _LONGEST_HEADER:
            raise self._damaged()
        self._file.seek(place)
        self._buffer = self._file.read(min(max(needed, _BUFFER_BYTES), self._size - place))
        self._start, self._at = place, 0
        if len(self._buffer) < needed:  # the file shrank meanwhile
            raise self._cut_short()

    def _of_other_format(self, magic: bytes) -> TargetUnusable:
        if magic in _OLDER:
            return TargetUnusable(
                "{name} is in a format older than GGUF; download the model anew, as GGUF.", name=self._name
            )
        if magic == _POINTER:
            return TargetUnusable(
                "{name} only says where the model is stored (Git LFS); download the file itself.", name=self._name
            )
        if magic.lstrip()[:1] == b"<":
            return TargetUnusable(
                "{name} is a web page that was saved in place of the model; download the model again.", name=self._name
            )
        return TargetUnusable("{name} is not in the GGUF format; choose another model file.", name=self._name)

    def _cut_short(self) -> TargetUnusable:
        return TargetUnusable("{name} is cut short; download it again.", name=self._name)

    def _damaged(self) -> TargetUnusable:
        return TargetUnusable("{name} is damaged; download it again.", name=self._name)
