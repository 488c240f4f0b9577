from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from engine.speculation.model.llama import extensions
from engine.speculation.model.llama.extensions import flags_of, lacking, options_for, usable_flags

NEHALEM = "sse sse2 ssse3 sse4_1 sse4_2 popcnt"
SANDY_BRIDGE = f"{NEHALEM} avx xsave"
HASWELL = f"{SANDY_BRIDGE} f16c fma avx2 bmi2"
SKYLAKE_SERVER = f"{HASWELL} avx512f avx512cd avx512vl avx512dq avx512bw"
ZEN4 = f"{SKYLAKE_SERVER} avx512vbmi avx512_vnni avx512_bf16"
SAPPHIRE_RAPIDS = f"{ZEN4} avx_vnni amx_tile amx_int8 amx_bf16"


def switched_on(flags: str) -> list[str]:
    options = options_for(flags.split()).split()
    return [option.removeprefix("-DGGML_").removesuffix("=ON") for option in options if option.endswith("=ON")]


@pytest.mark.parametrize(
    ("flags", "on"),
    [
        ("sse sse2", ""),
        (NEHALEM, "SSE42"),
        (SANDY_BRIDGE, "SSE42 AVX"),
        (HASWELL, "SSE42 AVX F16C FMA AVX2 BMI2"),
        (f"{HASWELL} avx_vnni", "SSE42 AVX F16C FMA AVX2 BMI2 AVX_VNNI"),
        (SKYLAKE_SERVER, "SSE42 AVX F16C FMA AVX2 BMI2 AVX512"),
        (ZEN4, "SSE42 AVX F16C FMA AVX2 BMI2 AVX512 AVX512_VBMI AVX512_VNNI AVX512_BF16"),
        (SAPPHIRE_RAPIDS, "SSE42 AVX F16C FMA AVX2 BMI2 AVX512 AVX512_VBMI AVX512_VNNI AVX512_BF16"),
        (f"{ZEN4} avx_vnni".replace("avx512bw", ""), "SSE42 AVX F16C FMA AVX2 BMI2 AVX_VNNI"),
    ],
)
def test_what_the_cpu_offers_is_switched_on_but_amx(flags: str, on: str) -> None:
    assert switched_on(flags) == on.split()


def test_what_the_cpu_does_not_offer_is_switched_off() -> None:
    """llama.cpp switches everything up to AVX2 on by itself."""
    options = options_for(SANDY_BRIDGE.split()).split()
    assert {"-DGGML_AVX2=OFF", "-DGGML_FMA=OFF", "-DGGML_F16C=OFF", "-DGGML_BMI2=OFF"} <= {*options}
    assert len(options) == len(options_for(ZEN4.split()).split())


def test_unknown_flags_leave_the_choice_to_llama_cpp() -> None:
    assert options_for([]) == ""


def test_a_cpu_runs_what_was_compiled_for_it_and_for_lesser_ones() -> None:
    for flags in (NEHALEM, HASWELL, ZEN4):
        assert lacking(options_for(flags.split()), SAPPHIRE_RAPIDS.split()) == []
    assert lacking("", []) == []


def test_what_a_lesser_cpu_lacks_is_named() -> None:
    assert lacking(options_for(ZEN4.split()), SKYLAKE_SERVER.split()) == ["avx512_bf16", "avx512_vnni", "avx512vbmi"]
    assert lacking(options_for(HASWELL.split()), SANDY_BRIDGE.split()) == ["avx2", "bmi2", "f16c", "fma"]
    assert flags_of("AVX512") <= flags_of("AVX512_VNNI")


def test_flags_are_read_as_linux_tells_them(tmp_path: Path) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text("processor\t: 0\nflags\t\t: sse2 avx\nbugs\t\t: none\nprocessor\t: 1\nflags\t\t: other\n")
    assert usable_flags(file) == {"sse2", "avx"}
    assert usable_flags(tmp_path / "missing") == frozenset()


def test_set_up_asks_without_any_package_installed() -> None:
    command = [sys.executable, "-I", "-S", extensions.__file__]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert printed == extensions._options_here()
