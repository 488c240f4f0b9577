"""Numbers come back as they went; whatever else calls itself safetensors is refused."""

from __future__ import annotations

import json
import struct
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save

from engine.backend.profile.members import (
    TensorsBroken,
    check_weights,
    pack,
    pack_ngrams,
    pack_texts,
    unpack,
    unpack_ngrams,
    unpack_texts,
)
from engine.values.learned import NgramRecord

COLUMNS: dict[str, Any] = {
    "tokens": np.array([1, 2, 3], np.int32),
    "lengths": np.array([1, 2], np.int32),
    "token": np.array([7, 8], np.int32),
    "count": np.array([1, 2], np.int64),
    "doubts": np.array([0, 0], np.int64),
    "last_use": np.array([0, 9], np.int64),
}
ids = st.integers(0, 2**31 - 1)
counters = st.integers(0, 2**40)
ngrams = st.builds(
    NgramRecord,
    string=st.lists(ids | st.integers(0, 3), min_size=1, max_size=5).map(tuple),
    token=ids,
    count=st.integers(1, 2**40),
    doubts=counters,
    last_use=counters,
)


def with_header(header: dict[str, Any] | bytes, data: bytes = b"") -> bytes:
    head = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(head)) + head + data


def tensor(shape: list[int], begin: int = 0, end: int = 4, dtype: str = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


@given(st.lists(ngrams, min_size=1, max_size=10, unique_by=lambda ngram: ngram.string))
def test_ngrams_come_back(records: list[NgramRecord]) -> None:
    assert unpack_ngrams(pack_ngrams(records)) == tuple(sorted(records, key=lambda ngram: ngram.string))
    assert pack_ngrams(records) == pack_ngrams(records[::-1])


@given(st.lists(st.lists(ids, min_size=1, max_size=5), min_size=1, max_size=5))
def test_texts_come_back(texts: list[list[int]]) -> None:
    found = unpack_texts(pack_texts([np.array(text, np.int32) for text in texts]))
    assert [text.tolist() for text in found] == texts
    assert {text.dtype.name for text in found} == {"int32"}


def test_counts_beyond_what_travels_are_cut() -> None:
    (found,) = unpack_ngrams(pack_ngrams([NgramRecord((1,), 2, 2**62, 2**62, 2**62)]))
    assert found == NgramRecord((1,), 2, 2**40, 2**40, 2**40)


def test_the_columns_above_are_in_order() -> None:
    assert unpack_ngrams(pack(COLUMNS)) == (NgramRecord((1,), 7, 1, 0, 0), NgramRecord((2, 3), 8, 2, 0, 9))


@pytest.mark.parametrize(
    "changed",
    [
        {"tokens": np.array([1, 2], np.int32)},
        {"tokens": np.array([1, 2, -3], np.int32)},
        {"tokens": np.array([1, 2, 3], np.int64)},
        {"tokens": np.array([[1, 2, 3]], np.int32)},
        {"tokens": np.array([], np.int32), "lengths": np.array([], np.int32)},
        {"tokens": np.array([1, 1], np.int32), "lengths": np.array([1, 1], np.int32)},
        {"lengths": np.array([3, 0], np.int32)},
        {"lengths": np.array([4, -1], np.int32)},
        {"lengths": np.array([2**31 - 1, 2**31 - 1], np.int32)},
        {"lengths": np.array([3], np.int32)},
        {"token": np.array([7, -8], np.int32)},
        {"token": np.array([7], np.int32)},
        {"count": np.array([1, 0], np.int64)},
        {"count": np.array([1, 2**40 + 1], np.int64)},
        {"count": np.array([1.0, 2.0], np.float64)},
        {"doubts": np.array([0, -1], np.int64)},
        {"last_use": np.array([0, 2**63 - 1], np.int64)},
        {"more": np.array([1], np.int32)},
        {"count": None},
    ],
)
def test_columns_that_are_no_ngrams_are_refused(changed: dict[str, Any]) -> None:
    columns = {name: column for name, column in (COLUMNS | changed).items() if column is not None}
    with pytest.raises(TensorsBroken):
        unpack_ngrams(pack(columns))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"1234567",
        bytes(8),
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 2**64 - 1) + b"{}",
        with_header({}),
        with_header({"__metadata__": {"what": "is this"}}),
        with_header(b"[" * 100_000),
        with_header(b'{"a":' * 100_000),
        with_header(b" " * 2**21),
        with_header(b"\xff\xfe"),
        with_header({"a": tensor([2**40, 2**40])}, bytes(4)),
        with_header({"a": tensor([2**63, 2], 0, 0)}),
        with_header({"a": tensor([-1])}, bytes(4)),
        with_header({"a": tensor([1], 0, 8)}, bytes(4)),
        with_header({"a": tensor([1], 4, 8)}, bytes(8)),
        with_header({"a": tensor([1])}, bytes(5)),
        with_header({"a": tensor([1]), "b": tensor([1])}, bytes(4)),
        with_header({"a": tensor([0], 0, 0)}),
        with_header({"a": tensor([0, 2**60], 0, 0)}),
        with_header({"a": tensor([1], dtype="PICKLE")}, bytes(4)),
        with_header({"a": tensor([4], dtype="BOOL")}, bytes(4)),
        with_header({"a": tensor([1])}, struct.pack("<f", float("nan"))),
        with_header({"a": tensor([1])}, struct.pack("<f", float("inf"))),
        with_header({"a": tensor([2], dtype="F16")}, bytes([0, 0, 0, 0x7C])),
        with_header({"a": tensor([2], dtype="BF16")}, bytes([0, 0, 0x80, 0xFF])),
        with_header({"a": tensor([1], 0, 8, dtype="F64")}, struct.pack("<d", float("inf"))),
    ],
)
def test_what_can_be_no_weights_is_refused(content: bytes) -> None:
    with pytest.raises(TensorsBroken):
        check_weights(content)
    with pytest.raises(TensorsBroken):
        unpack(content, i32=("a",))


@pytest.mark.parametrize(
    "content",
    [
        save({"a": np.zeros((2, 3), np.float32), "b": np.array(1.0, np.float16)}),
        with_header({"a": tensor([2], dtype="BF16")}, bytes([0, 0, 0x80, 0x3F])),
        save({"steps": np.array([7], np.int64), "a": np.ones(1, np.float64)}),
    ],
)
def test_weights_are_taken(content: bytes) -> None:
    check_weights(content)


@given(st.data())
def test_no_damage_raises_anything_else(data: st.DataObject) -> None:
    content = bytearray(data.draw(st.sampled_from([pack(COLUMNS), save({"a": np.ones(3, np.float16)})])))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    damaged = bytes(content[: data.draw(st.integers(0, len(content)))]) if data.draw(st.booleans()) else bytes(content)
    for read in (check_weights, unpack_ngrams, unpack_texts):
        with suppress(TensorsBroken):
            read(damaged)
