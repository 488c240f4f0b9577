"""Headers that are sound, cut short, damaged, or made to do harm: a sentence each, at once."""

from __future__ import annotations

import struct
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.speculation.model.files.facts import quantization_of
from engine.speculation.model.files.gguf_header import ListOf, read_header
from engine.speculation.model.files.sources import starter_path
from engine.values.errors import MendableError, TargetMissing, TargetUnusable
from tests.fakes.gguf import TINY, Value, gguf

VOCABULARIES = Path(__file__).parents[7] / "shared" / "data" / "vocabs"
SHARED_TMP = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)


def written(folder: Path, content: bytes) -> Path:
    path = folder / "model.gguf"
    path.write_bytes(content)
    return path


def refused(folder: Path, content: bytes) -> str:
    with pytest.raises(TargetUnusable) as caught:
        read_header(written(folder, content))
    return str(caught.value)


def header(values: bytes, num_values: int = 1, num_tensors: int = 0) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, num_tensors, num_values) + values


def key(name: str = "k") -> bytes:
    return struct.pack("<Q", len(name)) + name.encode()


def test_values_lists_and_tensors_are_read(tmp_path: Path) -> None:
    more: dict[str, Value] = {"llama.rope.freq_base": 1e4, "llama.layers": [1, 2, 0], "flag": True}
    found = read_header(written(tmp_path, gguf({**TINY, **more}, {"a": (32, 4), "b": (3,)})))
    assert found.text("general.name") == "Tiny"
    assert found.number("llama.block_count") == 2
    assert found.number("general.name") == 0
    assert found.values["llama.rope.freq_base"] == 1e4
    assert found.values["flag"] is True
    assert found.length("tokenizer.ggml.tokens") == 3
    assert found.numbers("llama.layers", 2) == (1, 2)
    assert found.numbers("llama.block_count", 3) == (2, 2, 2)
    assert (found.num_tensors, found.num_weights, found.type_bytes) == (2, 131, {0: 524})


def test_texts_longer_than_the_buffer_are_walked_over(tmp_path: Path) -> None:
    values: dict[str, Value] = {"list": ["x" * 700_000, "y" * 900_000, "", "z"], "after": 7}
    found = read_header(written(tmp_path, gguf(values)))
    assert (found.length("list"), found.number("after")) == (4, 7)


@pytest.mark.parametrize("content", [b"", b"GG", b"PK\x03\x04", b"hello" * 100])
def test_another_format(tmp_path: Path, content: bytes) -> None:
    assert refused(tmp_path, content) == "model.gguf is not in the GGUF format; choose another model file."


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"tjgg\3\0\0\0" + bytes(100), "is in a format older than GGUF; download the model anew"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1", "only says where the model is stored"),
        (b"<!doctype html><title>Log in</title>", "is a web page that was saved in place of the model"),
    ],
)
def test_what_people_take_for_a_model_is_named(tmp_path: Path, content: bytes, sentence: str) -> None:
    assert sentence in refused(tmp_path, content)


@pytest.mark.parametrize("version", [0, 1, 4, 0x03000000])
def test_versions_that_llama_cpp_does_not_read(tmp_path: Path, version: int) -> None:
    assert "version of the GGUF format" in refused(tmp_path, b"GGUF" + struct.pack("<IQQ", version, 0, 0))


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(TargetMissing):
        read_header(tmp_path / "nowhere.gguf")
    with pytest.raises(TargetMissing):
        read_header(tmp_path)


def test_a_file_that_ends_before_its_weights(tmp_path: Path) -> None:
    assert refused(tmp_path, gguf()[:-1]) == "model.gguf is cut short; download it again."


def outcome(path: Path) -> str:
    try:
        read_header(path)
    except MendableError as error:
        return str(error)
    return "It was read."


HUGE = 2**64 - 1


@pytest.mark.parametrize(
    "content",
    [
        header(b"", num_values=HUGE),
        header(b"", num_values=0, num_tensors=HUGE),
        header(struct.pack("<Q", HUGE)),  # a key
        header(key() + struct.pack("<IQ", 8, HUGE)),  # a text
        header(key() + struct.pack("<IIQ", 9, 8, HUGE)),  # a list of texts
        header(key() + struct.pack("<IIQ", 9, 4, HUGE)),  # of numbers
        header(key() + struct.pack("<IIQ", 9, 4, 7_999_999)),
        header(key() + struct.pack("<IIQ", 9, 8, 7_999_999) + bytes(1000)),
        header(key() + struct.pack("<IIQIQ", 9, 9, 1, 9, 1)),  # a list in a list
        header(key() + struct.pack("<II", 99, 1)),  # no such type
        header(key() + struct.pack("<IIQ", 9, 99, 1)),
        header(key("general.alignment") + struct.pack("<II", 4, 0)),
        header(key() + struct.pack("<I", HUGE >> 32), 0, 1),  # dimensions
        header(key() + struct.pack("<I4QIQ", 4, HUGE, HUGE, HUGE, HUGE, 0, 0), 0, 1),
        header(key() + struct.pack("<IQIQ", 1, 1, 0, HUGE), 0, 1),  # an offset
    ],
)
def test_numbers_that_are_made_to_do_harm(tmp_path: Path, content: bytes) -> None:
    begun = time.thread_time()
    assert refused(tmp_path, content).endswith("; download it again.")
    assert time.thread_time() - begun < 2


def test_lists_without_end_are_neither_walked_through_nor_stored(tmp_path: Path) -> None:
    numbers = struct.pack("<IIQ", 9, 0, 4096) + bytes(4096)
    found = read_header(written(tmp_path, header(b"".join(key(f"{each:04}") + numbers for each in range(500)), 500)))
    stored = sum(len(each.items) for each in found.values.values() if isinstance(each, ListOf) and each.items)
    assert stored <= 65_536
    assert all(found.length(name) == 4096 for name in found.values)
    texts = struct.pack("<IIQ", 9, 8, (1 << 20) + 1) + bytes(8 * ((1 << 20) + 1))
    assert "is damaged" in refused(tmp_path, header(key() + texts))


def test_a_file_full_of_holes_is_no_reason_to_read_on_and_on(tmp_path: Path) -> None:
    path = written(tmp_path, header(key() + struct.pack("<IIQ", 9, 8, 1000) + struct.pack("<Q", 2**30)))
    with path.open("r+b") as file:
        file.truncate(2**40)
    with pytest.raises(TargetUnusable, match="is damaged"):
        read_header(path)


@SHARED_TMP
@given(st.binary(max_size=300))
def test_any_bytes_end_in_a_header_or_a_sentence(tmp_path: Path, data: bytes) -> None:
    for content in (data, header(data, num_values=3), header(data, num_values=0, num_tensors=3)):
        assert outcome(written(tmp_path, content)).endswith(".")


@SHARED_TMP
@given(st.data())
def test_a_sound_file_with_damage_ends_in_a_header_or_a_sentence(tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(gguf())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = written(tmp_path, bytes(content[: data.draw(st.integers(0, len(content)))]))
    assert outcome(path).endswith(".")


def test_every_shortening_is_noticed(tmp_path: Path) -> None:
    content = gguf()
    for length in range(0, len(content), 7):
        refused(tmp_path, content[:length])


@pytest.mark.parametrize(
    ("file_type", "type_bytes", "name"),
    [(15, {0: 5}, "Q4_K_M"), (1024, {0: 5, 12: 9}, "Q4_K"), (None, {0: 5}, "F32"), (None, {}, ""), (999, {}, "")],
)
def test_quantization_is_as_told_or_what_takes_most_room(
    file_type: int | None, type_bytes: dict[int, int], name: str
) -> None:
    assert quantization_of(file_type, type_bytes) == name


@pytest.mark.starter
def test_the_starter_is_read_in_a_moment() -> None:
    begun = time.thread_time()
    found = read_header(starter_path())
    assert time.thread_time() - begun < 1
    assert (found.num_weights, found.length("tokenizer.ggml.tokens")) == (134_515_008, 49_152)


@pytest.mark.shared_data
@pytest.mark.skipif(not VOCABULARIES.exists(), reason="the shared measuring data is not here")
def test_large_vocabularies_are_counted_in_a_moment() -> None:
    for name, size in {"llama-bpe": 128_256, "qwen2": 151_936, "deepseek-llm": 102_400, "llama-spm": 32_000}.items():
        begun = time.thread_time()
        found = read_header(VOCABULARIES / f"ggml-vocab-{name}.gguf")
        assert found.length("tokenizer.ggml.tokens") == size
        assert time.thread_time() - begun < 1
