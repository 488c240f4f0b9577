from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.backend.library import scanning
from engine.backend.library.scanning import find_models


def touch(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def test_models_are_found_at_any_depth_once(tmp_path: Path) -> None:
    touch(tmp_path / "a.gguf", tmp_path / "x" / "y" / "B.GGUF", tmp_path / "notes.txt")
    touch(*(tmp_path / f"big-{part:05}-of-00002.gguf" for part in (1, 2)))
    found = find_models((tmp_path, tmp_path / "a.gguf", tmp_path / "big-00002-of-00002.gguf"))
    assert [path.name for path in found.paths] == ["a.gguf", "big-00001-of-00002.gguf", "B.GGUF"]
    assert found.left_out == ()


def test_what_only_adds_to_a_model_is_left_out_with_a_reason(tmp_path: Path) -> None:
    touch(*(tmp_path / name for name in ("mmproj-F16.gguf", "a.imatrix.gguf", "b-lora-F16.gguf", "explorations.gguf")))
    found = find_models((tmp_path,))
    assert [path.name for path in found.paths] == ["explorations.gguf"]
    assert len(found.left_out) == 3
    assert all(reason.endswith(".") for reason in found.left_out)


def test_what_is_no_model_says_so(tmp_path: Path) -> None:
    touch(tmp_path / "big-00002-of-00002.gguf", tmp_path / "notes.txt")
    (tmp_path / "empty").mkdir()
    chosen = (tmp_path / "big-00002-of-00002.gguf", tmp_path / "notes.txt", tmp_path / "empty")
    first, second, third = find_models(chosen).left_out
    assert "whose first part is missing" in first
    assert second == "notes.txt is not in the GGUF format; choose a file that ends in .gguf."
    assert third.startswith("There is no model file in")


@pytest.mark.skipif(os.name != "posix", reason="links need rights elsewhere")
def test_links_that_go_round_end(tmp_path: Path) -> None:
    touch(tmp_path / "a" / "a.gguf")
    (tmp_path / "a" / "again").symlink_to(tmp_path / "a")
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    (tmp_path / "a" / "nowhere").symlink_to(tmp_path / "gone")
    assert find_models((tmp_path,)).paths == (tmp_path / "a" / "a.gguf",)


def test_a_folder_without_an_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "_MOST_ENTRIES", 3)
    touch(*(tmp_path / f"{name}.gguf" for name in "abcdef"))
    found = find_models((tmp_path,))
    assert len(found.paths) == 3
    assert "choose a folder further down" in found.left_out[0]


def test_the_home_of_nobody_is_left_out_as_any_file_that_is_none() -> None:
    assert find_models((Path("~no-such-user/models"),)).left_out == (
        "models is not in the GGUF format; choose a file that ends in .gguf.",
    )
