from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from engine.storage import Repository


def test_target_is_found_by_its_name_after_reopening(open_repository: Callable[[], Repository], tmp_path: Path) -> None:
    record = open_repository().remember_target("tiny", tmp_path / "tiny.gguf", 5 * 2**32)
    repository = open_repository()
    assert repository.find_target("tiny") == record
    assert repository.list_targets() == (record,)
    assert record.last_used_at is not None
    assert record.last_used_at.utcoffset() == timedelta(0)


@pytest.mark.parametrize("name", ["", "other", "TINY", "half \ud83d"])
def test_unknown_target_is_none(repository: Repository, tmp_path: Path, name: str) -> None:
    repository.remember_target("tiny", tmp_path / "tiny.gguf", 1)
    assert repository.find_target(name) is None


def test_last_used_target_is_listed_first(repository: Repository, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        repository.remember_target(name, tmp_path / name, 1)
    repository.remember_target("a", tmp_path / "a", 1)
    assert [target.name for target in repository.list_targets()] == ["a", "c", "b"]


def test_same_file_is_one_target_with_the_latest_facts(repository: Repository, tmp_path: Path) -> None:
    repository.remember_target("old", tmp_path / "model.gguf", 1)
    latest = repository.remember_target("new", tmp_path / "model.gguf", 2)
    assert repository.list_targets() == (latest,)
    assert repository.find_target("old") is None


def test_name_of_another_file_is_numbered_and_stays_so(repository: Repository, tmp_path: Path) -> None:
    paths = [tmp_path / folder / "model.gguf" for folder in ("x", "y", "z")]
    for _ in range(2):
        names = [repository.remember_target("model", path, 1).name for path in paths]
        assert names == ["model", "model (2)", "model (3)"]
    found = repository.find_target("model (2)")
    assert found is not None
    assert found.path == paths[1]


def test_name_is_one_line_and_never_empty(repository: Repository, tmp_path: Path) -> None:
    assert repository.remember_target(" two\nlines ", tmp_path / "a.gguf", 1).name == "two lines"
    assert repository.remember_target(" ", tmp_path / "b.gguf", 1).name == "b"


def test_relative_path_is_kept_as_the_file_it_means_now(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert repository.remember_target("tiny", Path("tiny.gguf"), 1).path == tmp_path / "tiny.gguf"
    assert (
        len({repository.remember_target("tiny", path, 1).path for path in (Path("tiny.gguf"), tmp_path / "tiny.gguf")})
        == 1
    )


@pytest.mark.skipif(os.name != "posix", reason="other systems have no such names")
def test_path_that_is_not_utf8_comes_back(repository: Repository) -> None:
    path = Path(os.fsdecode(b"/models/caf\xe9.gguf"))
    for _ in range(2):
        repository.remember_target("latin", path, 1)
    (target,) = repository.list_targets()
    assert target.path == path
