"""Other quantizations of tiny models: whole or not at all, beside the original and never over a file."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
from gguf import GGUFWriter

from engine.speculation.model.files.facts import facts_of
from engine.speculation.model.llama.llama_cpp import LlamaCppTarget
from engine.speculation.model.llama.quantizations import (
    QUANTIZATIONS,
    USUAL_QUANTIZATIONS,
    make_quantization,
    quantization_path,
    quantization_sizes,
)
from engine.values.config import TargetSettings
from engine.values.errors import Cancelled, NotPossible
from engine.values.stop_signal import StopSignal
from tests.fakes import tiny_models
from tests.fakes.tiny_models import tiny_llama


def load(path: Path) -> None:
    LlamaCppTarget.load(path, "x", TargetSettings(context_size=64), lambda _share: None, StopSignal()).close()


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("SmolLM2-135M-Instruct.Q4_1.gguf", "SmolLM2-135M-Instruct-Q8_0.gguf"),
        ("tiny-q4_k_m.gguf", "tiny-Q8_0.gguf"),
        ("tiny-fp16.gguf", "tiny-Q8_0.gguf"),
        ("Q4_0-of-mine.gguf", "Q4_0-of-mine-Q8_0.gguf"),
        ("tiny-UD-IQ3_XXS-00001-of-00003.gguf", "tiny-Q8_0.gguf"),
        ("Q4_0.gguf", "Q4_0-Q8_0.gguf"),
        ("..gguf", ".-Q8_0.gguf"),
        ("-rf $(x)\n'%s'.gguf", "-rf $(x)\n'%s'-Q8_0.gguf"),
        ("ein Modell – größer.gguf", "ein Modell – größer-Q8_0.gguf"),
    ],
)
def test_a_quantization_is_named_after_its_original_and_lies_beside_it(
    name: str, expected: str, tmp_path: Path
) -> None:
    assert quantization_path(tmp_path / name, "Q8_0") == tmp_path / expected
    assert quantization_path(tmp_path / name, "Q8_0", tmp_path / "x") == tmp_path / "x" / expected


def test_the_longest_name_leaves_room_for_the_ending_of_a_file_that_is_being_written(tmp_path: Path) -> None:
    original = tiny_llama(tmp_path / f"{'ü' * 120}.gguf")
    made = quantization_path(original, "Q4_K_M")
    make_quantization(original, "Q4_K_M", made, StopSignal())
    assert made.exists()


@pytest.mark.parametrize("name", ["tiny.gguf", "-rf $(x)\n'%s'.gguf", "größer – {0}.gguf"])
def test_a_quantization_is_what_was_asked_for_and_the_original_stays(tmp_path: Path, name: str) -> None:
    original = tiny_llama(tmp_path / name)
    before, shares = digest(original), [0.0]
    made = quantization_path(original, "Q8_0")
    expected = quantization_sizes(original, ("Q8_0",), StopSignal())["Q8_0"].num_bytes
    make_quantization(original, "Q8_0", made, StopSignal(), shares.append)
    details = facts_of(made).details
    assert details is not None
    assert details.quantization == "Q8_0"
    assert made.stat().st_size == pytest.approx(expected, abs=20_000), (
        "told before it was made, to a hundredth of a MiB"
    )
    assert shares == sorted(shares)
    assert shares[-1] == 1
    load(made)
    assert digest(original) == before
    assert sorted(tmp_path.iterdir()) == sorted([original, made])


def test_all_quantizations_can_be_made_of_weights_that_were_made_smaller_before(tmp_path: Path) -> None:
    original = tiny_llama(tmp_path / "tiny.gguf")
    small = quantization_path(original, "Q4_0")
    make_quantization(original, "Q4_0", small, StopSignal())
    sizes = quantization_sizes(small, tuple(QUANTIZATIONS), StopSignal())
    assert not any(size.complaint for size in sizes.values())
    assert sizes["F16"].num_bytes > sizes["Q8_0"].num_bytes > sizes["Q4_0"].num_bytes > 0
    assert set(USUAL_QUANTIZATIONS) <= set(QUANTIZATIONS)


def test_a_model_in_parts_becomes_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        tiny_models, "GGUFWriter", lambda path, architecture: GGUFWriter(path, architecture, split_max_tensors=4)
    )
    tiny_llama(tmp_path / "tiny.gguf")
    first = tmp_path / "tiny-00001-of-00003.gguf"
    make_quantization(first, "Q8_0", tmp_path / "made.gguf", StopSignal())
    one, whole = facts_of(tmp_path / "made.gguf").details, facts_of(first).details
    assert one is not None
    assert whole is not None
    assert one.num_parameters == whole.num_parameters
    load(tmp_path / "made.gguf")


def test_a_model_in_parts_is_loaded_whatever_the_letters_of_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        tiny_models, "GGUFWriter", lambda path, architecture: GGUFWriter(path, architecture, split_max_tensors=4)
    )
    tiny_llama(tmp_path / "tiny.gguf")
    for part in sorted(tmp_path.glob("*.gguf")):
        part.rename(part.with_name(part.name.replace("-of-", "-OF-").replace(".gguf", ".GGUF")))
    load(tmp_path / "tiny-00001-OF-00003.GGUF")


def test_a_file_that_is_there_stays(tmp_path: Path) -> None:
    original = tiny_llama(tmp_path / "tiny.gguf")
    taken = tmp_path / "taken.gguf"
    taken.write_bytes(b"mine")
    with pytest.raises(NotPossible, match="already exists"):
        make_quantization(original, "Q8_0", taken, StopSignal())

    late = tmp_path / "late.gguf"

    def take(_share: float) -> None:
        late.write_bytes(b"mine")

    with pytest.raises(NotPossible, match="already exists"):
        make_quantization(original, "Q8_0", late, StopSignal(), take)
    assert taken.read_bytes() == late.read_bytes() == b"mine"
    assert sorted(tmp_path.iterdir()) == [late, taken, original]


def test_cancelling_leaves_nothing(tmp_path: Path) -> None:
    original = tiny_llama(tmp_path / "tiny.gguf")
    stop = StopSignal()
    with pytest.raises(Cancelled):
        make_quantization(original, "Q8_0", tmp_path / "made.gguf", stop, lambda _share: stop.set())
    assert list(tmp_path.iterdir()) == [original]


class Usage(NamedTuple):
    free: int


def test_a_quantization_that_has_no_room_is_not_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = tiny_llama(tmp_path / "tiny.gguf")
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: Usage(1000))
    with pytest.raises(NotPossible, match="free some space"):
        make_quantization(original, "Q8_0", tmp_path / "made.gguf", StopSignal())
    assert list(tmp_path.iterdir()) == [original]


def fails(_path: Path, _quantization: str, out: Path) -> str:
    """Runs in the child, in place of llama.cpp on a full disk."""
    out.write_bytes(b"half of it")
    return "basic_ios::clear: iostream error"


def test_a_disk_that_fills_up_meanwhile_is_told_and_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = tiny_llama(tmp_path / "tiny.gguf")
    free = iter([1 << 40, 1000])
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: Usage(next(free)))
    monkeypatch.setattr("engine.speculation.model.llama.quantizations._quantize", fails)
    with pytest.raises(NotPossible, match="free some space"):
        make_quantization(original, "Q8_0", tmp_path / "made.gguf", StopSignal())
    assert list(tmp_path.iterdir()) == [original]


def test_what_llama_cpp_objects_to_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = tiny_llama(tmp_path / "tiny.gguf")
    monkeypatch.setattr("engine.speculation.model.llama.quantizations._quantize", fails)
    with pytest.raises(NotPossible, match="iostream error"):
        make_quantization(original, "Q8_0", tmp_path / "made.gguf", StopSignal())
    assert list(tmp_path.iterdir()) == [original]


def test_a_quantization_that_needs_statistics_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(NotPossible, match=r"IQ2_XXS cannot be made here; choose one of .*Q8_0"):
        make_quantization(tiny_llama(tmp_path / "tiny.gguf"), "IQ2_XXS", tmp_path / "made.gguf", StopSignal())


@pytest.mark.parametrize("content", [b"", b"GGUF", b"no model at all" * 100])
def test_a_file_that_is_no_model_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(content)
    with pytest.raises(NotPossible):
        make_quantization(path, "Q8_0", tmp_path / "made.gguf", StopSignal())
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    original = tiny_llama(tmp_path / "tiny.gguf")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NotPossible):
        make_quantization(original, "Q8_0", tmp_path / "file" / "made.gguf", StopSignal())
