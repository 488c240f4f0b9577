"""A build of llama.cpp that this CPU cannot run is noticed before it is loaded."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import engine.speculation.model
from app.application import run
from engine.speculation.model.llama import build
from engine.speculation.model.llama.build import check_build
from engine.speculation.model.llama.extensions import flags_of, options_for
from engine.values.config import SpeculationSettings
from engine.values.errors import MendableError

AVX512 = flags_of("AVX512_VNNI", "AVX512_VBMI")


@pytest.fixture
def moved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Compiled where there is AVX-512, and started where there is none."""
    record = tmp_path / "llama-cpp-options"
    record.write_text(options_for(AVX512) + "\n")
    monkeypatch.setattr(build, "RECORD", record)
    monkeypatch.setattr(build, "usable_flags", lambda: flags_of("AVX2"))
    monkeypatch.delenv("LLAMA_CPP_LIB_PATH", raising=False)


@pytest.mark.usefixtures("moved")
def test_a_cpu_that_lacks_what_the_build_needs_is_told_what_to_do() -> None:
    with pytest.raises(MendableError, match=r"this one lacks avx512_vnni, .*avx512vl, bmi2\. Run `make setup` in"):
        check_build()


@pytest.mark.usefixtures("moved")
def test_nothing_of_the_target_can_be_imported_there() -> None:
    """Its modules load llama.cpp's library as they are imported."""
    with pytest.raises(MendableError, match="make setup"):
        importlib.reload(engine.speculation.model)


@pytest.mark.usefixtures("moved")
def test_the_window_does_not_open_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.application.check_machine", lambda: None)
    with pytest.raises(MendableError, match="make setup"):
        run(None, tmp_path / "picture.png", SpeculationSettings())
    assert not (tmp_path / "picture.png").exists()


@pytest.mark.usefixtures("moved")
def test_another_build_is_not_judged_by_the_record(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LLAMA_CPP_LIB_PATH", str(tmp_path))
    check_build()


@pytest.mark.usefixtures("moved")
def test_unknown_flags_refuse_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "usable_flags", frozenset[str])
    check_build()


@pytest.mark.usefixtures("moved")
def test_a_cpu_that_has_it_all_and_a_build_without_a_record_are_fine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(build, "usable_flags", lambda: AVX512 | {"amx_tile"})
    check_build()
    monkeypatch.setattr(build, "usable_flags", lambda: flags_of("SSE42"))
    monkeypatch.setattr(build, "RECORD", tmp_path / "missing")
    check_build()
