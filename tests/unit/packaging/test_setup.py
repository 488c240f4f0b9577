"""What set-up's script calls: how far a long command is, environments for other checkouts, where torch comes from, and
how llama.cpp is compiled."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from engine.speculation.native.rows import NativeRows, load

PACKAGING = Path(__file__).parents[3] / "packaging"
PROGRESS, ENVIRONMENTS = PACKAGING / "progress.py", PACKAGING / "environments.py"


def watched(log: Path, script: str, *options: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, PROGRESS, log, "Compiling", *options, "--", sys.executable, "-c", script]
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)


# -- how far a long command is -----------------------------------------------------------------------------------------


def test_the_output_lies_in_the_log_and_the_screen_says_how_far_it_is(tmp_path: Path) -> None:
    log = tmp_path / "setup.log"
    log.write_text("what came before\n")
    done = watched(log, "for n in (1, 2, 3): print(f'  [{n}/3] g++ {n}.cpp', flush=True)\nimport time; time.sleep(0.7)")
    assert done.returncode == 0
    assert log.read_text() == "what came before\n  [1/3] g++ 1.cpp\n  [2/3] g++ 2.cpp\n  [3/3] g++ 3.cpp\n"
    told = done.stderr.splitlines()
    assert told[0].startswith("Compiling: ")
    assert "of 3 files" in told[0]
    assert told[-1] == "Compiling: done in 1 s"


@pytest.mark.parametrize("complaint", ["FAILED: [code=1] b.o", "CMake Error at CMakeLists.txt:7 (message):"])
def test_a_failure_shows_its_own_lines_and_names_the_log(tmp_path: Path, complaint: str) -> None:
    log = tmp_path / "setup.log"
    log.write_text("FAILED: [code=1] of an earlier command\n")
    failing = (
        f"print('[1/2] g++ a.cpp'); print('  {complaint}'); print('  b.cpp:7: error: no such thing')\n"
        "for n in range(100): print(f'pip tells of it, {n}')\n"
        "raise SystemExit(7)"
    )
    done = watched(log, failing)
    assert done.returncode == 7
    assert "b.cpp:7: error: no such thing" in done.stderr
    assert "earlier" not in done.stderr
    assert "pip tells of it, 99" not in done.stderr
    assert done.stderr.splitlines()[-1] == f"Compiling failed; the lines above are from {log}, which holds everything."


def test_another_failure_shows_the_last_lines(tmp_path: Path) -> None:
    done = watched(tmp_path / "log", "for n in range(100): print(f'line {n}.')\nraise SystemExit('No space left.')")
    assert done.returncode == 1
    assert "line 99." in done.stderr
    assert "No space left." in done.stderr
    assert "line 50." not in done.stderr


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("[3/89] Building", "3 of 89 files"),
        ("  [12/89] g++", "12 of 89 files"),
        ("[ 42%] Building", "42 of 100 percent"),
    ],
)
def test_ninja_and_make_are_understood(line: str, expected: str) -> None:
    counted = runpy.run_path(str(PROGRESS))["CompiledFiles"]()
    assert counted.what() == "getting ready"
    counted.read(line)
    assert counted.what() == expected


def test_packages_are_counted_while_they_are_fetched_and_while_they_are_unpacked(tmp_path: Path) -> None:
    (tmp_path / "pip-26.3.dist-info").mkdir()
    counted = runpy.run_path(str(PROGRESS))["Packages"](3, tmp_path)
    counted.read("Requirement already satisfied: numpy==2.4 in /somewhere")
    counted.read("Collecting torch==2.13.0 (from -r list)")
    assert counted.what() == "2 of 3 fetched"
    counted.read("  Downloading torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl (191.8 MB)")
    assert counted.what() == "2 of 3 fetched (torch, 191.8 MB)"
    counted.read("Installing collected packages: torch, rich")
    assert counted.what() == "0 of 2 unpacked"
    (tmp_path / "torch-2.13.0.dist-info").mkdir()
    assert counted.what() == "1 of 2 unpacked"


@pytest.mark.parametrize(
    ("done", "seconds", "expected"),
    [
        (0, 60, ""),
        (3, 1, ""),
        (10, 10, ", about 80 s left"),
        (30, 90, ", about 3 min left"),
        (89, 90, ", about 10 s left"),
        (90, 90, ""),
    ],
)
def test_what_is_left_is_told_once_it_can_be_known(done: int, seconds: float, expected: str) -> None:
    assert runpy.run_path(str(PROGRESS))["time_left"](done, 90, seconds) == expected


# -- environments for other checkouts ----------------------------------------------------------------------------------


def bare(path: Path) -> Path:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", path], check=True)
    return path


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    """An environment with a package and its program."""
    venv = bare(tmp_path / "first" / ".venv")
    site = next(venv.glob("lib/python*/site-packages"))
    (site / "greeting").mkdir()
    (site / "greeting" / "__init__.py").write_text("import sys\nprint('hello from', sys.prefix)\n")
    script = venv / "bin" / "greet"
    script.write_text(f"#!{venv}/bin/python\nimport greeting\n")
    script.chmod(0o755)
    (venv / "setup.log").write_text("of this checkout alone")
    return venv


def environments(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ENVIRONMENTS, *arguments]
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)


needs_links = pytest.mark.skipif(sys.platform == "win32", reason="set-up does not keep environments on Windows")


@needs_links
def test_the_next_checkout_gets_the_same_files_and_programs_of_its_own(finished: Path, tmp_path: Path) -> None:
    store, second = tmp_path / "store" / "1", bare(tmp_path / "second" / ".venv")
    assert environments("keep", finished, store).stderr == ""
    shutil.rmtree(finished.parent)
    assert environments("take", store, second).returncode == 0
    told = subprocess.run([second / "bin" / "greet"], capture_output=True, text=True, check=True).stdout
    assert told == f"hello from {second}\n"
    module = next(second.glob("lib/python*/site-packages/greeting/__init__.py"))
    assert module.stat().st_nlink == 2, "a link, no copy"
    assert not (second / "setup.log").exists()


@needs_links
def test_only_the_newest_is_kept_and_one_that_is_there_stays(finished: Path, tmp_path: Path) -> None:
    old, new = tmp_path / "store" / "old", tmp_path / "store" / "new"
    environments("keep", finished, old)
    made = old.stat().st_ino
    environments("keep", finished, old)
    assert old.stat().st_ino == made
    environments("keep", finished, new)
    assert [path.name for path in new.parent.iterdir()] == ["new"]


@needs_links
@pytest.mark.parametrize("name", ["with a space", "long" * 40])
def test_where_a_program_could_not_name_its_python_nothing_is_taken(finished: Path, tmp_path: Path, name: str) -> None:
    store, second = tmp_path / "store" / "1", bare(tmp_path / name / ".venv")
    environments("keep", finished, store)
    assert environments("take", store, second).returncode == 1
    assert not (second / "bin" / "greet").exists()


@needs_links
def test_what_cannot_be_kept_is_told_and_leaves_nothing(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = runpy.run_path(str(ENVIRONMENTS))
    broken["keep"].__globals__["_link"] = refusing
    broken["keep"](finished, tmp_path / "store" / "1")
    assert "not kept for other checkouts: [Errno 18]" in capsys.readouterr().err
    assert list((tmp_path / "store").iterdir()) == []


def refusing(path: Path, copy: Path) -> None:
    raise OSError(18, f"Invalid cross-device link: {path} to {copy}")


# -- where torch comes from --------------------------------------------------------------------------------------------


@pytest.fixture
def index() -> Iterator[str]:
    """An index of packages on the loopback that knows torch."""

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/whl/cpu/torch/" else 404)
            self.end_headers()

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Answering)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/whl/cpu"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def torch_index(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """As on Linux without a card."""
    monkeypatch.delenv("TORCH_INDEX", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    module = runpy.run_path(str(PACKAGING / "torch_index.py"))
    module["choose"].__globals__["has_nvidia_driver"] = lambda: False
    return module


def test_without_a_card_torch_comes_from_the_index_for_the_cpu(torch_index: dict[str, Any], index: str) -> None:
    assert torch_index["choose"](index) == index


def test_an_index_that_does_not_answer_is_told_and_left(
    torch_index: dict[str, Any], index: str, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = index.rpartition(":")[0] + ":1/whl/cpu"
    assert torch_index["choose"](gone) == ""
    assert f"{gone} cannot be reached" in capsys.readouterr().err
    assert torch_index["choose"](f"{index}/nothing-there") == ""


def test_a_card_wants_the_usual_index_but_in_a_bundle(torch_index: dict[str, Any], index: str) -> None:
    torch_index["choose"].__globals__["has_nvidia_driver"] = lambda: True
    assert torch_index["choose"](index) == ""
    assert torch_index["choose"](index, for_bundle=True) == index


@pytest.mark.parametrize("wished", ["https://packages.example/simple", ""])
def test_what_is_wished_for_decides(
    torch_index: dict[str, Any], index: str, monkeypatch: pytest.MonkeyPatch, wished: str
) -> None:
    monkeypatch.setenv("TORCH_INDEX", wished)
    assert torch_index["choose"](index, for_bundle=True) == wished


def test_other_systems_have_the_small_build_in_the_usual_index(
    torch_index: dict[str, Any], index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert torch_index["choose"](index, for_bundle=True) == ""


# -- how llama.cpp is compiled -----------------------------------------------------------------------------------------

_PROJECT = """
cmake_minimum_required(VERSION 3.21)
project(llama_cpp LANGUAGES CXX)
function(llama_cpp_python_install_target target)
    install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_CURRENT_SOURCE_DIR}/installed)
endfunction()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(LLAMA_BUILD_COMMON ON CACHE BOOL "" FORCE) # as llama-cpp-python does
add_subdirectory(vendor)
"""
_VENDOR = """
option(LLAMA_BUILD_COMMON "" OFF)
file(GLOB models models/*.cpp)
add_library(llama SHARED llama.cpp llama-model.cpp llama-context.cpp ${models})
add_library(ggml-cpu SHARED kernel.cpp)
if(LLAMA_BUILD_COMMON)
    add_library(llama-common SHARED common.cpp)
endif()
"""


@pytest.mark.skipif(not (shutil.which("cmake") and shutil.which("c++")), reason="needs CMake and a compiler")
@pytest.mark.skipif(sys.platform == "win32", reason="Visual Studio tells no commands")
def test_only_what_is_shipped_is_compiled_and_kernels_as_before(tmp_path: Path) -> None:
    names = ["llama", "llama-model", "llama-context", "kernel", "common", *(f"models/{n}" for n in range(40))]
    (tmp_path / "vendor" / "models").mkdir(parents=True)
    (tmp_path / "CMakeLists.txt").write_text(_PROJECT)
    (tmp_path / "vendor" / "CMakeLists.txt").write_text(_VENDOR)
    for name in names:
        (tmp_path / "vendor" / f"{name}.cpp").write_text(f"int f_{names.index(name)}() {{ return 0; }}\n")
    options = [f"-DCMAKE_PROJECT_llama_cpp_INCLUDE={PACKAGING / 'llama.cmake'}", "-DCMAKE_BUILD_TYPE=Release"]
    own = {name: value for name, value in os.environ.items() if name not in ("CXXFLAGS", "CMAKE_ARGS")}
    subprocess.run(
        ["cmake", "-S", tmp_path, "-B", tmp_path / "build", *options], check=True, capture_output=True, env=own
    )
    commands = {
        Path(each["file"]).name: [word for word in each["command"].split() if word.startswith("-O")][-1]
        for each in json.loads((tmp_path / "build" / "compile_commands.json").read_text())
    }
    assert commands == {
        "heads.cpp": "-O3",
        "kernel.cpp": "-O3",
        "llama-context.cpp": "-O3",
        "llama.cpp": "-O1",
        "llama-model.cpp": "-O1",
        "rows.cpp": "-O3",
        "unity_0_cxx.cxx": "-O1",
        "unity_1_cxx.cxx": "-O1",
    }
    targets = ["llama", "ggml-cpu", "slipstream"]  # that for heads needs llama.cpp itself
    subprocess.run(
        ["cmake", "--build", tmp_path / "build", "--target", *targets], check=True, capture_output=True, env=own
    )
    assert isinstance(load(tmp_path / "build"), NativeRows), "a library of our own"
    installed = (tmp_path / "build" / "cmake_install.cmake").read_text()
    assert all(f"/libslipstream{more}." in installed for more in ("", "-heads"))
