"""`slipstream models tune` with a tiny model, from the command line to the file."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engine import data_dir, open_repository
from engine.backend.library.tuning.measuring import Extent
from engine.opening import llama_cpp_build
from engine.values.config import EngineConfig
from engine.values.quantizations import Distance, QuantizationFigures, TuneReport
from tests.fakes.tiny_models import tiny_llama
from tests.unit.app.commands.test_models import NAME, Models, hub, models

pytestmark = pytest.mark.usefixtures("sound_models")

__all__ = ["hub", "models"]


@pytest.fixture(autouse=True)
def _brief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "engine.backend.library.tuning.tuning_service.USUAL", Extent(num_turns=1, num_prompts=2, reply_tokens=8)
    )


def test_figures_of_each_quantization_are_shown_and_the_quantizations_removed(models: Models, tmp_path: Path) -> None:
    path = tiny_llama(tmp_path / "tiny.gguf")
    code, output = models("tune", path, "--form", "q8_0, Q4_0")
    assert code == 0
    rows = {line.split()[0]: line for line in output.splitlines() if "GB" in line}
    assert "(as it is)" in rows["F32"]
    assert "1.00×" in rows["F32"]
    assert rows["Q8_0"].count("×") == rows["Q4_0"].count("×") == 2
    assert "%" in rows["Q4_0"]
    assert "Distances are means over" in output
    assert list(tmp_path.glob("*.gguf")) == [path]


def test_figures_as_json_are_one_object(models: Models, tmp_path: Path) -> None:
    path = tiny_llama(tmp_path / "tiny.gguf")
    code, output = models("tune", path, "--form", "Q8_0", "--json")
    assert code == 0
    found = json.loads(output)
    assert [each["form"] for each in found["forms"]] == ["F32", "Q8_0"]
    assert found["forms"][0]["distance"] is None
    assert found["forms"][1]["distance"]["num_tokens"] > 0
    assert set(found["forms"][1]["passes"]) == {"1", "2", "4", "8"}
    assert found["build"] == llama_cpp_build()
    assert set(found["advice"]) == {"form", "speed", "drafting_speed", "is_free", "faster"}


def test_a_quantization_that_is_kept_is_in_the_library_under_its_name(models: Models, tmp_path: Path) -> None:
    path = tiny_llama(tmp_path / "tiny.gguf")
    code, output = models("tune", path, "--form", "Q8_0", "--keep")
    assert code == 0
    assert f"Kept and in the library: {tmp_path / 'tiny-Q8_0.gguf'}" in output.replace("\n", "")
    assert any(line.split()[:3] == ["tiny-Q8_0", "0M", "Q8_0"] for line in models("list")[1].splitlines())
    assert models("tune", "tiny-Q8_0", "--form", "Q4_0")[0] == 0, "by its name"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere"], "There is no model nowhere"),
        (["tiny.gguf", "--form", "IQ1_S"], "IQ1_S cannot be made here"),
        (["tiny.gguf", "--quick"], "for the starter"),
        (["starter", "--undo", "--keep"], "for the starter"),
    ],
)
def test_what_goes_wrong_is_told_and_exit_code_2(
    models: Models, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], sentence: str
) -> None:
    tiny_llama(tmp_path / "tiny.gguf")
    monkeypatch.chdir(tmp_path)
    code, output = models("tune", *arguments)
    assert code == 2
    assert sentence in output


def save(*quantizations: tuple[str, float]) -> None:
    """As if these had been measured, with V(1) in milliseconds."""
    far = Distance(0.1, 0.0, 0.9, 100)
    first, *others = (
        QuantizationFigures(quantization, f"file:{quantization}", 1000, ((1, ms / 1000),), 0.0, far)
        for quantization, ms in quantizations
    )
    repository = open_repository(EngineConfig(data_dir()))
    report = TuneReport(llama_cpp_build(), 2, datetime.now(UTC), first, tuple(others))
    repository.save_tune_report("file:x", report)
    repository.close()


@pytest.mark.usefixtures("hub")
def test_files_of_the_hub_are_marked_by_what_was_measured_here(models: Models) -> None:
    assert "speed here" not in models("download", NAME)[1], "nothing was measured"
    save(("Q8_0", 10.0), ("Q4_K_M", 8.0), ("Q4_0", 5.0))
    lines = models("download", NAME)[1].splitlines()
    assert "speed here" in lines[0]
    assert {line.split()[1]: line.split()[-1] for line in lines[1:3]} == {"Q4_K_M": "fastest", "Q8_0": "0.80"}
