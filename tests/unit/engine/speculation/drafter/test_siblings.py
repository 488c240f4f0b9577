from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine.speculation.drafter.choice import hub_file, hub_name
from engine.speculation.drafter.siblings import Sibling, is_same_size, sibling_beside, sibling_of
from engine.speculation.model.files.facts import facts_of
from engine.values.targets import HubFile, TargetDetails
from tests.fakes.gguf import write

LARGE = 4_500_000_000


def details(folder: Path, **changes: object) -> TargetDetails:
    """As the library reads them: of a Qwen 2.5 model, but for `changes`."""
    read = facts_of(write(folder / "m.gguf", {"general.architecture": "qwen2", "tokenizer.ggml.pre": "qwen2"})).details
    assert read is not None
    return replace(read, vocabulary_size=152_064, **changes)  # type: ignore[arg-type]


def named(sibling: Sibling | None) -> str | None:
    return None if sibling is None else sibling.name


def test_a_family_is_known_by_its_header(tmp_path: Path) -> None:
    assert named(sibling_of(details(tmp_path), LARGE)) == "Qwen 2.5 0.5B"
    assert named(sibling_of(details(tmp_path, architecture="qwen3"), LARGE)) == "Qwen 3 0.6B"
    llama = details(tmp_path, architecture="llama", vocabulary_kind="BPE (llama-bpe)")
    assert sibling_of(llama, LARGE) is None  # of another size
    assert named(sibling_of(replace(llama, vocabulary_size=128_256), LARGE)) == "Llama 3.2 1B"
    assert sibling_of(details(tmp_path, vocabulary_kind="BPE (deepseek-r1-qwen)"), LARGE) is None


def test_vocabularies_may_be_padded_by_a_hundredth() -> None:
    assert is_same_size(151_936, 152_064)
    assert is_same_size(990, 1_000)
    assert is_same_size(1_010, 1_000)
    assert not is_same_size(989, 1_000)
    assert not is_same_size(1_011, 1_000)


def test_what_is_hardly_larger_has_none(tmp_path: Path) -> None:
    assert sibling_of(details(tmp_path), 1_280_000_000) is None


@pytest.mark.parametrize(
    ("repository", "name"),
    [
        ("Qwen/Qwen2.5-7B-Instruct-GGUF", "Qwen 2.5 0.5B"),
        ("unsloth/Qwen3-8B-GGUF", "Qwen 3 0.6B"),
        ("bartowski/Meta-Llama-3.1-8B-Instruct-GGUF", "Llama 3.2 1B"),
        ("unsloth/gemma-3-12b-it-GGUF", "Gemma 3 270M"),
        ("x/Llama-3.2-11B-Vision-GGUF", None),
        ("Qwen/Qwen2.5-VL-7B-Instruct-GGUF", None),
        ("x/CodeLlama-34B", None),
        ("x/codegemma-7b", None),
    ],
)
def test_a_family_is_known_by_the_name_of_a_repository(repository: str, name: str | None) -> None:
    files = tuple(HubFile(repository, f"{size}.gguf", size, "") for size in (2 * LARGE, LARGE))
    sibling = sibling_beside(files)
    assert named(sibling) == name
    if sibling is not None:
        assert hub_name(sibling.hub_name) == sibling.hub_name
        assert hub_file(sibling.hub_name) == (sibling.repository, sibling.file)
        assert sibling_beside((HubFile(repository, "tiny.gguf", sibling.size_bytes, ""), *files)) is None


def test_no_files_no_sibling() -> None:
    assert sibling_beside(()) is None
