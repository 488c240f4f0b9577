from __future__ import annotations

from pathlib import Path

import pytest

from engine.speculation.model.llama.cpu import ALL_NAMES, libraries

NEHALEM = "sse sse2 ssse3 sse4_1 sse4_2 popcnt"
HASWELL = f"{NEHALEM} avx xsave f16c fma avx2 bmi2"
SKYLAKE_SERVER = f"{HASWELL} avx512f avx512cd avx512vl avx512dq avx512bw"
ZEN4 = f"{SKYLAKE_SERVER} avx512vbmi avx512_vnni avx512_bf16"
SAPPHIRE_RAPIDS = f"{ZEN4} avx_vnni amx_tile amx_int8 amx_bf16"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (*ALL_NAMES, "sapphirerapids"):
        (tmp_path / f"libggml-cpu-{name}.so").touch()
    return tmp_path


def best(folder: Path, flags: str) -> str:
    return libraries(folder, flags.split())[0].stem.rpartition("-")[2]


@pytest.mark.parametrize(
    ("flags", "name"),
    [
        ("", "x64"),
        ("sse sse2", "x64"),
        (NEHALEM, "sse42"),
        (f"{NEHALEM} avx xsave", "sandybridge"),
        (f"{NEHALEM} avx xsave f16c", "ivybridge"),
        (f"{NEHALEM} avx xsave f16c fma", "piledriver"),
        (HASWELL, "haswell"),
        (f"{HASWELL} avx_vnni", "alderlake"),
        (SKYLAKE_SERVER, "skylakex"),
        (f"{SKYLAKE_SERVER} avx512_vnni", "cascadelake"),
        (f"{SKYLAKE_SERVER} avx512_vnni avx512_bf16", "cooperlake"),
        (f"{SKYLAKE_SERVER} avx512vbmi avx512_vnni", "icelake"),
        (ZEN4, "zen4"),
    ],
)
def test_the_best_that_the_cpu_can_run_comes_first(folder: Path, flags: str, name: str) -> None:
    assert best(folder, flags) == name


def test_amx_is_never_used(folder: Path) -> None:
    assert best(folder, SAPPHIRE_RAPIDS) == "zen4"
    assert not any("sapphirerapids" in path.name for path in libraries(folder, SAPPHIRE_RAPIDS.split()))


@pytest.mark.parametrize("withheld", ["avx512bw", "avx512vl", "avx2", "xsave"])
def test_what_is_offered_by_halves_is_not_used(folder: Path, withheld: str) -> None:
    flags = ZEN4.replace(withheld, "")
    assert best(folder, flags) == {"avx2": "piledriver", "xsave": "sse42"}.get(withheld, "haswell")


def test_any_cpu_has_something_to_fall_back_on(folder: Path) -> None:
    assert [path.stem.rpartition("-")[2] for path in libraries(folder, ZEN4.split())][-1] == "x64"
    assert best(folder, "") == "x64"


def test_a_build_without_a_choice_offers_none(tmp_path: Path) -> None:
    (tmp_path / "libggml-cpu.so").touch()
    assert libraries(tmp_path, ZEN4.split()) == []
