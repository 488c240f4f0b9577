"""What bad model files get: one sentence each, and a process that goes on."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest

from engine.speculation.model.files.sources import starter_path
from engine.speculation.model.llama.llama_cpp import LlamaCppTarget
from engine.speculation.model.llama.preflight import preflight
from engine.values.config import TargetSettings
from engine.values.errors import (
    Cancelled,
    MendableError,
    TargetMissing,
    TargetUnsupported,
    TargetUnusable,
)
from engine.values.stop_signal import StopSignal

pytestmark = pytest.mark.starter


def altered(folder: Path, key: bytes, value: bytes) -> Path:
    """The starter's file with the value of one metadata key overwritten, whatever its type."""
    data = bytearray(starter_path().read_bytes())
    place = data.index(struct.pack("<Q", len(key)) + key) + 8 + len(key)
    kind = struct.unpack_from("<I", data, place)[0]
    skip = {8: 12, 9: 8}.get(kind, 4)  # strings and arrays have a length in front of their value
    data[place + skip : place + skip + len(value)] = value
    path = folder / "altered.gguf"
    path.write_bytes(data)
    return path


def with_content(folder: Path, content: bytes) -> Path:
    path = folder / "model.gguf"
    path.write_bytes(content)
    return path


def refused(path: Path) -> MendableError:
    with pytest.raises(MendableError) as caught:
        preflight(path, StopSignal())
    return caught.value


def test_a_sound_file_passes() -> None:
    preflight(starter_path(), StopSignal())


def test_a_missing_file(tmp_path: Path) -> None:
    error = refused(tmp_path / "nowhere.gguf")
    assert isinstance(error, TargetMissing)
    assert "nowhere.gguf" in str(error)


def test_a_folder(tmp_path: Path) -> None:
    assert "is not a file" in str(refused(tmp_path))


@pytest.mark.parametrize("content", [b"", b"GG", b"PK\x03\x04 a zip", b"hello" * 100])
def test_another_format(tmp_path: Path, content: bytes) -> None:
    error = refused(with_content(tmp_path, content))
    assert str(error) == "model.gguf is not in the GGUF format; choose another model file."


@pytest.mark.parametrize("length", [20, 100_000, 5_000_000])
def test_a_file_that_is_cut_short(tmp_path: Path, length: int) -> None:
    error = refused(with_content(tmp_path, starter_path().read_bytes()[:length]))
    assert isinstance(error, TargetUnusable)
    assert "download it again" in str(error)


def test_a_vocabulary_without_weights(tmp_path: Path) -> None:
    head = bytearray(starter_path().read_bytes()[:200_000])
    head[8:16] = struct.pack("<Q", 0)
    error = refused(with_content(tmp_path, bytes(head)))
    assert str(error) == "model.gguf holds a vocabulary but no weights; choose the model itself."


def test_an_architecture_that_llama_cpp_does_not_know(tmp_path: Path) -> None:
    error = refused(altered(tmp_path, b"general.architecture", b"lxama"))
    assert isinstance(error, TargetUnsupported)
    assert "“lxama”" in str(error)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"llama.block_count", struct.pack("<I", 0)),  # ends the process in an assertion
        (b"llama.attention.layer_norm_rms_epsilon", struct.pack("<I", 0x7FFFFFFF)),  # not a number; likewise
        (b"tokenizer.ggml.tokens", struct.pack("<Q", 1)),
        (b"llama.attention.head_count", struct.pack("<I", 0)),
    ],
)
def test_hostile_metadata_ends_another_process_than_ours(tmp_path: Path, key: bytes, value: bytes) -> None:
    error = refused(altered(tmp_path, key, value))
    assert isinstance(error, TargetUnusable)
    assert "damaged" in str(error)


def load(path: Path, settings: TargetSettings | None = None, stop: StopSignal | None = None) -> LlamaCppTarget:
    return LlamaCppTarget.load(path, "name", settings or TargetSettings(), progress.append, stop or StopSignal())


progress: list[float] = []


def test_loading_tells_its_progress_to_the_end(tmp_path: Path) -> None:
    progress.clear()
    file = tmp_path / "copy.gguf"  # a file that is open elsewhere is there at once
    shutil.copyfile(starter_path(), file)
    load(file, TargetSettings(context_size=64)).close()
    assert progress == sorted(progress)
    assert progress[-1] == 1.0
    assert len(progress) > 10


def test_loading_can_be_cancelled() -> None:
    stop = StopSignal()
    stop.set()
    with pytest.raises(Cancelled, match=r"^Loading .* was cancelled"):
        load(starter_path(), stop=stop)
    with pytest.raises(Cancelled, match=r"^Loading .* was cancelled"):
        preflight(starter_path(), stop)


def test_a_context_that_does_not_fit_into_memory_is_refused() -> None:
    with pytest.raises(TargetUnusable, match="choose a smaller context size"):
        load(starter_path(), TargetSettings(context_size=16_000_000))
