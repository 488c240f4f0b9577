"""A folder to go on from is told from any other."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.lab.distillation.work import WorkFolder
from engine.values.errors import FileUnusable


def test_the_same_settings_go_on_and_others_do_not(tmp_path: Path) -> None:
    path = tmp_path / "a" / "work"
    WorkFolder(path, {"seed": 1}).begin()
    (path / "checkpoint.safetensors").write_text("x")
    assert WorkFolder(path, {"seed": 1}).checkpoint.exists()
    with pytest.raises(FileUnusable, match="other settings or texts"):
        WorkFolder(path, {"seed": 2})


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "drafter").mkdir()
    with pytest.raises(FileUnusable, match="something else"):
        WorkFolder(tmp_path, {})
    assert [file.name for file in tmp_path.iterdir()] == ["drafter"]


def test_an_end_while_it_was_begun_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "settings.json.part").write_text("{")
    WorkFolder(tmp_path, {"seed": 1}).begin()
    WorkFolder(tmp_path, {"seed": 1}).begin()


def test_where_nothing_can_be_written_a_sentence_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileUnusable, match="cannot be written"):
        WorkFolder(tmp_path / "file" / "work", {}).begin()
