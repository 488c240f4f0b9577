"""From a name or a path to a target."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from engine.backend.storage import Repository
from engine.speculation.model.files.sources import (
    StarterQuantization,
    file_source,
    named_source,
    resolve_target,
    starter_in_use,
    starter_source,
)
from engine.values.config import STARTER
from engine.values.errors import FileUnusable, TargetMissing
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


IDENTITY = "file:" + "5a" * 32


def made(folder: Path, name: str = "starter-Q8_0.gguf") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(b"GGUF" + name.encode())
    return path


def test_a_form_is_moved_in_and_used_until_it_is_undone(tmp_path: Path) -> None:
    form = StarterQuantization(tmp_path, IDENTITY)
    assert form.path is None
    assert not form.is_undone
    form.use(made(tmp_path / "x"))
    assert form.path == form.folder / "starter-Q8_0.gguf"
    assert not list((tmp_path / "x").iterdir())
    assert StarterQuantization(tmp_path, IDENTITY).path == form.path

    form.use(None, is_wish=True)
    assert form.path is None
    assert form.is_undone
    assert [file.name for file in form.folder.iterdir()] == ["form.json"]

    form.use(made(tmp_path / "x"))
    assert form.path is not None
    assert not form.is_undone


def test_another_form_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    form = StarterQuantization(tmp_path, IDENTITY)
    form.use(made(tmp_path / "x"))
    form.use(made(tmp_path / "x", "starter-Q6_K.gguf"))
    assert form.path is not None
    assert sorted(file.name for file in form.folder.iterdir()) == ["form.json", "starter-Q6_K.gguf"]


def test_another_starter_begins_without_a_form(tmp_path: Path) -> None:
    StarterQuantization(tmp_path, IDENTITY).use(made(tmp_path / "x"))
    assert StarterQuantization(tmp_path, "file:" + "6b" * 32).path is None


@pytest.mark.parametrize(
    "note", [b"", b"{", b'{"file": 3}', b'{"file": "gone.gguf"}', b'{"file": "../../../../x"}', b"\xff"]
)
def test_a_note_that_makes_no_sense_leaves_the_starter_as_it_was_installed(tmp_path: Path, note: bytes) -> None:
    form = StarterQuantization(tmp_path, IDENTITY)
    form.use(made(tmp_path / "x"))
    (form.folder / "form.json").write_bytes(note)
    assert form.path is None


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "starter").write_bytes(b"")
    with pytest.raises(FileUnusable, match="fix that"):
        StarterQuantization(tmp_path, IDENTITY).use(None)


@pytest.mark.starter
def test_the_name_starter_means_the_form_in_use(tmp_path: Path) -> None:
    installed = starter_source()
    assert named_source(STARTER, tmp_path) == starter_in_use(tmp_path) == installed
    form = StarterQuantization(tmp_path, installed.identity)
    form.use(made(tmp_path / "x"))
    found = named_source(STARTER, tmp_path)
    assert found is not None
    assert found.path == form.path
    assert found.trusted
    assert found.identity not in ("", installed.identity)
