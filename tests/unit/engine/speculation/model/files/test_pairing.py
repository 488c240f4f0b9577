"""Which drafter a model brings along: layers of its own, or a file beside it or in the library."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from engine.loading import load_target
from engine.speculation.model.files.pairing import Brought, BroughtHead, brought_by
from engine.speculation.model.files.projectors import projector_of
from engine.speculation.model.files.sources import file_source
from engine.values.config import TargetSettings
from engine.values.stop_signal import StopSignal
from engine.values.targets import HeadMethod
from tests.fakes.tiny_heads import tiny_head
from tests.fakes.tiny_models import tiny_llama, tiny_mtp, tiny_qwen3
from tests.projector import width_of, write_projector

EAGLE3, DFLASH, DSPARK, MTP = HeadMethod.EAGLE3, HeadMethod.DFLASH, HeadMethod.DSPARK, HeadMethod.MTP


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("parts")
    heads = {method.name.lower(): tiny_head(folder / f"{method.name}.gguf", method) for method in HeadMethod}
    return {"qwen": tiny_qwen3(folder / "q.gguf"), "own": tiny_mtp(folder / "own.gguf"), **heads}


def placed(folder: Path, parts: dict[str, Path], **files: str) -> dict[str, Path]:
    """Copies parts into the folder, under the names that these files are given."""
    folder.mkdir(parents=True, exist_ok=True)
    return {part: Path(shutil.copy(parts[part], folder / name)) for part, name in files.items()}


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        ({"eagle3": "any.gguf"}, "eagle3"),  # whatever its name
        ({"dflash": "dflash-Qwen3-Q8_0.gguf"}, "dflash"),
        ({"eagle3": "a.gguf", "dflash": "b.gguf", "dspark": "c.gguf"}, "dspark"),
        ({"eagle3": "a.gguf", "dflash": "b.gguf", "mtp": "mtp-Qwen3.gguf"}, "dflash"),  # of another kind of model
        ({}, None),
    ],
)
def test_the_head_beside_a_model_is_found(
    names: dict[str, str], wanted: str | None, parts: dict[str, Path], tmp_path: Path
) -> None:
    files = placed(tmp_path, parts, qwen="Qwen3-Q4_0.gguf", **names)
    found = brought_by(files["qwen"])
    assert found.head == (None if wanted is None else BroughtHead(HeadMethod[wanted.upper()], files[wanted]))
    assert found.problem == ""


def test_layers_of_its_own_come_first(parts: dict[str, Path], tmp_path: Path) -> None:
    files = placed(tmp_path, parts, own="GLM.gguf", mtp="mtp-GLM.gguf")
    assert brought_by(files["own"]) == Brought(BroughtHead(MTP))
    assert brought_by(files["own"]).file is None


def test_of_several_the_one_with_the_likest_name_and_weights_is_taken(parts: dict[str, Path], tmp_path: Path) -> None:
    model = placed(tmp_path, parts, qwen="Qwen3-1B-Q4_K_M.gguf")["qwen"]
    for name in ("Qwen2-eagle3-Q4_0", "eagle3-Qwen3-1B-F16", "eagle3-Qwen3-1B-Q5_0"):
        placed(tmp_path, parts, eagle3=f"{name}.gguf")
    assert brought_by(model).file == tmp_path / "eagle3-Qwen3-1B-Q5_0.gguf"


def test_a_head_in_the_library_drafts_from_elsewhere_unless_one_is_beside(
    parts: dict[str, Path], tmp_path: Path
) -> None:
    model = placed(tmp_path / "models", parts, qwen="Qwen3.gguf")["qwen"]
    head = placed(tmp_path / "heads", parts, eagle3="some.gguf")["eagle3"]
    assert brought_by(model).file is None
    library = (model, head, tiny_llama(tmp_path / "other.gguf"), tmp_path / "gone.gguf")
    assert brought_by(model, library).file == head
    nearer = placed(tmp_path / "models", parts, eagle3="other.gguf")["eagle3"]
    assert brought_by(model, library).file == nearer


def test_in_a_repository_it_may_be_above_the_folder_of_a_quantization(parts: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "owner--Qwen3-GGUF"
    model = placed(folder / "Q8_0", parts, qwen="Qwen3-Q8_0-00001-of-00001.gguf")["qwen"]
    head = placed(folder, parts, dspark="dspark-Qwen3.gguf")["dspark"]
    assert brought_by(model).file == head


@pytest.mark.parametrize(
    ("name", "share", "wanted"),
    [
        ("eagle3.gguf", 0.5, "eagle3.gguf is cut short; download it again."),
        ("eagle3-Qwen3.gguf", 0.9, "eagle3-Qwen3.gguf is cut short; download it again."),
        ("eagle3.gguf", 0.0, ""),  # no one can tell what that was to be
    ],
)
def test_a_broken_head_beside_its_model_is_named(
    name: str, share: float, wanted: str, parts: dict[str, Path], tmp_path: Path
) -> None:
    files = placed(tmp_path, parts, qwen="Qwen3.gguf", eagle3=name)
    data = files["eagle3"].read_bytes()
    files["eagle3"].write_bytes(data[: int(share * len(data))])
    assert brought_by(files["qwen"]) == Brought(problem=wanted)


def test_the_head_of_another_model_in_the_folder_is_not_complained_of(parts: dict[str, Path], tmp_path: Path) -> None:
    placed(tmp_path, parts, qwen="Qwen3.gguf", eagle3="Qwen3-eagle3.gguf")
    llama, twin = tiny_llama(tmp_path / "Llama.gguf"), tiny_llama(tmp_path / "Qwen3-small.gguf")
    assert brought_by(llama) == Brought()
    assert "other layers than Qwen3-small" in brought_by(twin).problem


def test_a_head_beside_a_model_does_not_hide_whose_projector_is_there(parts: dict[str, Path], tmp_path: Path) -> None:
    model = placed(tmp_path, parts, qwen="any.gguf", eagle3="head.gguf")["qwen"]
    projector = write_projector(tmp_path / "sight.gguf", width_of(model))
    assert projector_of(model) == projector


def test_a_target_beside_unfit_heads_is_loaded_all_the_same(parts: dict[str, Path], tmp_path: Path) -> None:
    files = placed(tmp_path, parts, qwen="Qwen3.gguf", eagle3="eagle3-Qwen3.gguf", mtp="mtp-Qwen3.gguf")
    files["eagle3"].write_bytes(files["eagle3"].read_bytes()[:5000])
    source = replace(file_source(files["qwen"]), trusted=True)
    load_target(source, TargetSettings(), lambda _progress: None, StopSignal()).close()
