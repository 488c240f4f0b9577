from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engine.speculation.drafter.choice import (
    BUILT_IN,
    HUB_EXAMPLES,
    MARKER,
    STARTER_TORCH,
    WORDS,
    built_in_drafter,
    check_drafter,
    drafter_source,
    fetched_folder,
    hub_name,
    is_fetched,
    is_hub_name,
)
from engine.speculation.model.files.identity import file_stamp
from engine.speculation.model.files.sources import file_source, starter_path
from engine.values.config import AUTOMATIC, STARTER
from engine.values.drafters import DrafterRunner
from engine.values.errors import DrafterUnusable, TargetMissing
from engine.values.targets import TargetRecord
from tests.fakes.gguf import write


def fetched(name: str, data_dir: Path) -> Path:
    folder = fetched_folder(name, data_dir)
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / MARKER).write_text(json.dumps({"files": {"config.json": 2}}))
    return folder


@pytest.mark.parametrize("name", [*HUB_EXAMPLES, "a/b", "_a/b.c-d_e", "a1/2b"])
def test_names_of_the_hub(name: str) -> None:
    assert is_hub_name(name)


@pytest.mark.parametrize(
    "name", ["", "a", "a/", "/a", "a//b", "./a", "a/.b", "a/b-", "a/b/c", "a/b..c", "a/b--c", "ä/b", "a/" + "b" * 95]
)
def test_what_is_no_name_of_the_hub(name: str) -> None:
    assert not is_hub_name(name)


@pytest.mark.parametrize("word", WORDS)
def test_words_are_asked_of_no_hub(word: str) -> None:
    assert hub_name(word) is None


def test_the_built_in_drafter_is_run_by_torch(tmp_path: Path) -> None:
    source = drafter_source(BUILT_IN, tmp_path)
    assert (source.key, source.runner, source.path) == (BUILT_IN, DrafterRunner.TORCH, built_in_drafter())
    assert source.size_bytes > 1_000_000
    assert source.trusted
    assert source.label == "the built-in drafter"


@pytest.mark.starter
def test_the_starter_is_run_by_either_and_figures_are_kept_apart(tmp_path: Path) -> None:
    native, in_torch = drafter_source(STARTER, tmp_path), drafter_source(STARTER_TORCH, tmp_path)
    assert (native.key, native.runner) == (STARTER, DrafterRunner.LLAMA_CPP)
    assert (in_torch.key, in_torch.runner) == (STARTER_TORCH, DrafterRunner.TORCH)
    assert native.path == in_torch.path == starter_path()
    assert native.size_bytes == in_torch.size_bytes == starter_path().stat().st_size
    assert (native.label, in_torch.label) == ("the starter", "the starter in torch")


@pytest.mark.parametrize("word", [STARTER, STARTER_TORCH])
def test_an_installation_without_the_starter_says_so(
    tmp_path: Path, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> Path:
        raise TargetMissing("The starter model is not installed; choose a model file of your own.")

    monkeypatch.setattr("engine.speculation.drafter.choice.starter_path", missing)
    with pytest.raises(DrafterUnusable, match="The starter model is not installed"):
        drafter_source(word, tmp_path)


def test_a_folder_wins_over_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched("owner/name", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert hub_name("owner/name") == "owner/name"
    folder = tmp_path / "owner" / "name"
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"12345")
    assert hub_name("owner/name") is None
    source = drafter_source("owner/name", tmp_path)
    assert (source.path, source.runner) == (Path("owner/name"), DrafterRunner.TORCH)
    assert (source.name, source.size_bytes, source.trusted) == ("name", 5, False)
    assert source.key == drafter_source(str(folder), tmp_path).key, "however it is named"


def test_a_name_stands_for_what_was_fetched(tmp_path: Path) -> None:
    with pytest.raises(DrafterUnusable, match="owner/name is not on this computer"):
        drafter_source("owner/name", tmp_path)
    folder = fetched("owner/name", tmp_path)
    source = drafter_source("owner/name", tmp_path)
    assert (source.path, source.name, source.label) == (folder, "owner/name", "owner/name")


def test_a_gguf_file_is_run_by_llama_cpp_and_known_by_what_is_in_it(tmp_path: Path) -> None:
    file, copy = write(tmp_path / "Small-Q8_0.gguf"), write(tmp_path / "elsewhere" / "Copy.gguf")
    other = write(tmp_path / "other.gguf", {"general.name": "Other"})
    source = drafter_source(str(file), tmp_path)
    assert (source.runner, source.path, source.size_bytes) == (DrafterRunner.LLAMA_CPP, file, file.stat().st_size)
    assert not source.trusted
    assert source.key == drafter_source(str(copy), tmp_path).key
    assert source.key != drafter_source(str(other), tmp_path).key


def record(path: Path, used: bool = False) -> TargetRecord:
    last_used_at = datetime.now(UTC) if used else None
    source, stamp = file_source(path), file_stamp(path) if used else ""
    return TargetRecord(path.stem, path, source.size_bytes, last_used_at, identity=source.identity, loaded_stamp=stamp)


def test_a_file_that_was_used_before_is_trusted(tmp_path: Path) -> None:
    used, never = write(tmp_path / "used.gguf"), write(tmp_path / "never.gguf", {"general.name": "Never"})
    library = (record(used, used=True), record(never))
    assert drafter_source(str(used), tmp_path, lambda: library).trusted
    assert not drafter_source(str(never), tmp_path, lambda: library).trusted
    used.write_bytes(never.read_bytes())
    assert not drafter_source(str(used), tmp_path, lambda: library).trusted, "another file under the same name"


def test_a_name_in_the_library_stands_for_its_file(tmp_path: Path) -> None:
    file = write(tmp_path / "Small Model.gguf")
    library = (record(file),)
    source = drafter_source("Small Model", tmp_path, lambda: library)
    assert (source.path, source.runner) == (file, DrafterRunner.LLAMA_CPP)
    file.unlink()
    with pytest.raises(DrafterUnusable, match="no model of that name"):
        drafter_source("Small Model", tmp_path, lambda: library)


@pytest.mark.parametrize("choice", ["", "../nowhere", "~nosuchuser/x", "x" * 5000, "a\0b", "nowhere.gguf"])
def test_anything_else_is_a_sentence(tmp_path: Path, choice: str) -> None:
    assert hub_name(choice) is None
    with pytest.raises(DrafterUnusable, match="There is no folder"):
        drafter_source(choice, tmp_path)


def test_automatic_is_no_drafter(tmp_path: Path) -> None:
    with pytest.raises(DrafterUnusable, match=r"a drafter is .*`automatic`"):
        drafter_source(AUTOMATIC, tmp_path)


@pytest.mark.parametrize(
    "marker", ["", "[]", "{}", '{"files": 3}', '{"files": {"config.json": 3}}', '{"files": {"x": 1}}']
)
def test_a_marker_that_does_not_hold_is_none(tmp_path: Path, marker: str) -> None:
    folder = fetched("owner/name", tmp_path)
    assert is_fetched(folder)
    (folder / MARKER).write_text(marker)
    assert not is_fetched(folder)


def test_a_config_that_would_hold_up_other_threads_is_not_parsed(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama", "more": ["x" * 100] * 3_000}))
    with pytest.raises(DrafterUnusable, match=r"config\.json is damaged"):
        check_drafter(str(tmp_path), tmp_path)
