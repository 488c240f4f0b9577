from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine.loading import load_target
from engine.speculation.model.files.projectors import projector_of
from engine.speculation.model.files.sources import file_source
from engine.speculation.model.interface import Target, TargetFeature
from engine.values.config import TargetSettings
from engine.values.errors import TargetUnsupported
from engine.values.stop_signal import StopSignal
from tests.fakes.tiny_models import tiny_llama
from tests.projector import width_of, write_projector


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return tiny_llama(tmp_path_factory.mktemp("model") / "tiny.gguf").read_bytes()


@pytest.mark.parametrize(
    ("name", "others", "wanted"),
    [
        ("ggml-model-Q4_K_M.gguf", ("mmproj-model-f16.gguf",), "mmproj-model-f16.gguf"),
        ("any-name.gguf", ("sight.gguf",), "sight.gguf"),
        ("gemma-3-Q4_0.gguf", ("gemma-3-Q8_0.gguf", "mmproj-F16.gguf"), "mmproj-F16.gguf"),  # forms of one model
        ("gemma-3-Q4_0.gguf", ("Qwen3-Q4_0.gguf", "mmproj-model-f16.gguf"), None),  # whose is it?
        ("gemma-3-Q4_0.gguf", ("Qwen3-Q4_0.gguf", "mmproj-gemma-3-f16.gguf"), "mmproj-gemma-3-f16.gguf"),
        ("Qwen3-Q4_0.gguf", ("gemma-3-Q4_0.gguf", "mmproj-gemma-3-f16.gguf"), None),
        ("gemma-3-1b.gguf", ("gemma-3-4b.gguf", "gemma-3-4b-mmproj.gguf"), None),
        ("a-Q4_0.gguf", ("mmproj-a-F32.gguf", "mmproj-a-f16.gguf", "mmproj-a-Q8_0.gguf"), "mmproj-a-f16.gguf"),
        ("a-7b-Q4_0.gguf", ("mmproj-a-7b-BF16.gguf", "mmproj-a-13b-F16.gguf"), "mmproj-a-7b-BF16.gguf"),
        ("a.gguf", (), None),
    ],
)
def test_the_projector_beside_a_model_is_found_where_it_is_clear_whose_it_is(
    name: str, others: tuple[str, ...], wanted: str | None, model: bytes, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(model)
    for other in others:
        if "mmproj" in other or "sight" in other:
            write_projector(tmp_path / other, width_of(path))
        else:
            (tmp_path / other).write_bytes(model)
    assert projector_of(path) == (None if wanted is None else tmp_path / wanted)


def test_one_of_another_width_or_a_broken_one_is_left_alone(model: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(model)
    write_projector(tmp_path / "mmproj-a-F16.gguf", 2 * width_of(path), "gemma3")
    data = write_projector(tmp_path / "mmproj-a-Q8_0.gguf", width_of(path)).read_bytes()
    (tmp_path / "mmproj-a-Q8_0.gguf").write_bytes(data[: len(data) // 2])
    assert projector_of(path) is None


def test_in_a_repository_it_may_be_above_the_folder_of_a_form(model: bytes, tmp_path: Path) -> None:
    path = tmp_path / "owner--a-GGUF" / "Q4_0" / "a-Q4_0-00001-of-00002.gguf"
    path.parent.mkdir(parents=True)
    path.write_bytes(model)
    projector = write_projector(path.parent.parent / "mmproj-F16.gguf", width_of(path))
    assert projector_of(path) == projector


def load(path: Path) -> Target:
    source = replace(file_source(path), trusted=True)
    return load_target(source, TargetSettings(), lambda _progress: None, StopSignal())


def test_a_target_is_loaded_with_its_projector_which_is_none_itself(model: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(model)
    projector = write_projector(tmp_path / "sight.gguf", width_of(path))
    target = load(path)
    assert TargetFeature.PICTURES in target.features
    target.close()
    with pytest.raises(TargetUnsupported, match="only lets another model see pictures; choose that model itself"):
        load(projector)
