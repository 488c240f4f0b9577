"""From a name or a path to a target."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from engine.backend.storage import Repository
from engine.speculation.model.files.sources import file_source, resolve_target
from engine.values.errors import TargetMissing
from tests.fakes.gguf import write


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    with closing(Repository.open(tmp_path / "store")) as repository:
        yield repository


def test_a_name_of_the_library_is_its_file(repository: Repository, tmp_path: Path) -> None:
    path = write(tmp_path / "tiny.gguf")
    repository.add_target(file_source(path))
    assert resolve_target("tiny", repository) == file_source(path)


@pytest.mark.parametrize("name", ["other", "TINY", "half \ud83d", "nul\0"])
def test_an_unknown_name_is_missing(repository: Repository, tmp_path: Path, name: str) -> None:
    repository.add_target(file_source(write(tmp_path / "tiny.gguf")))
    with pytest.raises(TargetMissing, match="There is no model file"):
        resolve_target(name, repository)


def test_only_a_file_that_nobody_touched_since_it_was_loaded_is_trusted(repository: Repository, tmp_path: Path) -> None:
    path = write(tmp_path / "tiny.gguf")
    repository.add_target(file_source(path))
    assert not resolve_target(str(path), repository).trusted, "it was never loaded"
    repository.remember_target(file_source(path))
    assert resolve_target("tiny", repository).trusted
    size_bytes = path.stat().st_size
    assert write(path, {"general.name": "Tina"}).stat().st_size == size_bytes
    assert not resolve_target(str(path), repository).trusted


@pytest.mark.skipif(sys.platform == "win32", reason="keeps no time of the last change that cannot be set back")
def test_a_byte_that_no_sample_holds_costs_the_trust_even_if_the_time_is_set_back(
    repository: Repository, tmp_path: Path
) -> None:
    path = write(tmp_path / "tiny.gguf")
    with path.open("ab") as file:
        file.truncate(16 << 20)
    before = file_source(path)
    repository.remember_target(before)
    times = path.stat()
    with path.open("r+b") as file:
        file.seek((9 << 20) + (300 << 10))
        file.write(b"X")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert file_source(path).identity == before.identity
    assert not resolve_target(str(path), repository).trusted


def test_a_file_that_is_gone_is_found_where_a_copy_is(repository: Repository, tmp_path: Path) -> None:
    paths = [write(tmp_path / folder / "tiny.gguf") for folder in ("x", "y")]
    for path in paths:
        repository.remember_target(file_source(path))
    paths[0].unlink()
    for target in (str(paths[0]), "tiny"):
        assert resolve_target(target, repository).path == paths[1]


def test_a_file_that_moved_is_found_by_what_it_is(repository: Repository, tmp_path: Path) -> None:
    path = write(tmp_path / "tiny.gguf")
    identity = repository.remember_target(file_source(path)).identity
    moved = path.rename(tmp_path / "moved.gguf")
    repository.add_target(file_source(moved))
    with pytest.raises(TargetMissing, match="There is no model file"):
        resolve_target(str(path), repository)
    assert resolve_target(str(path), repository, identity).path == moved
    moved.unlink()
    with pytest.raises(TargetMissing, match="There is no model file"):
        resolve_target(str(path), repository, identity)
