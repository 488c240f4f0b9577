from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from engine.backend.storage import Repository
from engine.values.config import TargetOptions, TargetSettings
from engine.values.targets import TargetRecord, TargetSource

OPTIONS = TargetOptions(TargetSettings(threads=3), system_prompt="Be brief.")


def at(path: Path, name: str = "tiny", size_bytes: int = 1, identity: str = "") -> TargetSource:
    return TargetSource(path, name, size_bytes, identity)


def listed(repository: Repository) -> dict[Path, TargetRecord]:
    return {target.path: target for target in repository.list_targets()}


def forget_identities(store: Path) -> None:
    """As a store of before identities existed is after its migration."""
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE targets SET identity = NULL")


def test_target_is_listed_after_reopening(open_repository: Callable[[], Repository], tmp_path: Path) -> None:
    record = open_repository().remember_target(at(tmp_path / "tiny.gguf", size_bytes=5 * 2**32, identity="file:1"))
    assert open_repository().list_targets() == (record,)
    assert (record.name, record.size_bytes, record.identity) == ("tiny", 5 * 2**32, "file:1")
    assert record.last_used_at is not None
    assert record.last_used_at.utcoffset() == timedelta(0)


def test_last_used_target_is_listed_first(repository: Repository, tmp_path: Path) -> None:
    for name in ("a", "b", "c", "a"):
        repository.remember_target(at(tmp_path / name, name))
    assert [target.name for target in repository.list_targets()] == ["a", "c", "b"]


def test_same_file_is_one_target_with_the_latest_facts(repository: Repository, tmp_path: Path) -> None:
    repository.remember_target(at(tmp_path / "model.gguf", "old"))
    latest = repository.remember_target(at(tmp_path / "model.gguf", "new", 2))
    assert repository.list_targets() == (latest,)
    assert (latest.name, latest.size_bytes) == ("new", 2)


def test_name_of_another_file_is_numbered_and_stays_so(repository: Repository, tmp_path: Path) -> None:
    paths = [tmp_path / folder / "model.gguf" for folder in ("x", "y", "z")]
    for _ in range(2):
        names = [repository.remember_target(at(path, "model")).name for path in paths]
        assert names == ["model", "model (2)", "model (3)"]
    assert listed(repository)[paths[1]].name == "model (2)"


def test_name_is_one_line_and_never_empty(repository: Repository, tmp_path: Path) -> None:
    assert repository.remember_target(at(tmp_path / "a.gguf", " two\nlines ")).name == "two lines"
    assert repository.remember_target(at(tmp_path / "b.gguf", " ")).name == "b"


def test_relative_path_is_kept_as_the_file_it_means_now(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert repository.remember_target(at(Path("tiny.gguf"))).path == tmp_path / "tiny.gguf"
    assert len({repository.remember_target(at(path)).path for path in (Path("tiny.gguf"), tmp_path / "tiny.gguf")}) == 1


@pytest.mark.skipif(os.name != "posix", reason="other systems have no such names")
def test_path_that_is_not_utf8_comes_back(repository: Repository) -> None:
    path = Path(os.fsdecode(b"/models/caf\xe9.gguf"))
    for _ in range(2):
        repository.remember_target(at(path, "latin"))
    (target,) = repository.list_targets()
    assert target.path == path


def test_file_that_moved_keeps_its_settings_and_last_use(repository: Repository, tmp_path: Path) -> None:
    before = repository.remember_target(at(tmp_path / "a.gguf", "a", identity="file:1"))
    repository.change_target_options(before.path, OPTIONS)
    moved = repository.add_target(at(tmp_path / "x" / "b.gguf", "b", identity="file:1"), "facts")
    assert repository.list_targets() == (moved,)
    assert (moved.path, moved.name, moved.facts) == (tmp_path / "x" / "b.gguf", "b", "facts")
    assert (moved.options, moved.last_used_at) == (OPTIONS, before.last_used_at)


def test_file_that_changed_begins_anew_and_may_come_back(repository: Repository, tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    before = repository.remember_target(at(path, identity="file:1"))
    repository.change_target_options(path, OPTIONS)
    changed = repository.add_target(at(path, identity="file:2"))
    assert repository.list_targets() == (changed,)
    assert (changed.options, changed.last_used_at) == (TargetOptions(), None)
    assert repository.target_of(at(path, identity="file:1")) is None
    back = repository.add_target(at(path, identity="file:1"))
    assert (back.options, back.last_used_at) == (OPTIONS, before.last_used_at)


def test_copies_are_both_listed_and_share_their_settings(repository: Repository, tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.gguf", "b.gguf")]
    for path in paths:
        path.touch()
        repository.add_target(at(path, path.stem, identity="file:1"))
    used = repository.remember_target(at(paths[0], "a", identity="file:1"))
    repository.change_target_options(paths[1], OPTIONS)
    for path in paths:
        record = listed(repository)[path]
        assert (record.name, record.options, record.last_used_at) == (path.stem, OPTIONS, used.last_used_at)

    repository.remove_target(paths[0])
    assert listed(repository)[paths[1]].options == OPTIONS
    repository.remove_target(paths[1])
    assert repository.add_target(at(paths[1], identity="file:1")).options == TargetOptions()


def test_file_that_cannot_be_read_now_stays_what_it_was(repository: Repository, tmp_path: Path) -> None:
    record = repository.remember_target(at(tmp_path / "a.gguf", identity="file:1"))
    repository.change_target_options(record.path, OPTIONS)
    assert repository.add_target(at(record.path, size_bytes=0)).options == OPTIONS
    assert listed(repository)[record.path].identity == "file:1"
    assert repository.target_of(at(record.path)) is None


def test_target_of_before_identities_gets_one_when_its_file_is_read(
    repository: Repository, store: Path, tmp_path: Path
) -> None:
    path = tmp_path / "a.gguf"
    before = repository.remember_target(at(path, identity="file:1"))
    repository.change_target_options(path, OPTIONS)
    forget_identities(store)
    known = repository.target_of(at(path, identity="file:1"))
    assert known is not None
    assert (known.options, known.identity) == (OPTIONS, "")
    assert repository.target_of(at(path, size_bytes=2, identity="file:2")) is None
    assert repository.target_of(at(tmp_path / "other.gguf", identity="file:1")) is None
    adopted = repository.add_target(at(path, identity="file:1"))
    assert (adopted.options, adopted.last_used_at, adopted.identity) == (OPTIONS, before.last_used_at, "file:1")


def test_file_that_changed_before_it_got_an_identity_begins_anew(
    repository: Repository, store: Path, tmp_path: Path
) -> None:
    record = repository.remember_target(at(tmp_path / "a.gguf", identity="file:1"))
    repository.change_target_options(record.path, OPTIONS)
    forget_identities(store)
    changed = repository.add_target(at(record.path, size_bytes=2, identity="file:2"))
    assert (changed.options, changed.last_used_at) == (TargetOptions(), None)


def test_copies_of_before_identities_are_joined_with_what_either_had(
    repository: Repository, store: Path, tmp_path: Path
) -> None:
    paths = [tmp_path / name for name in ("a.gguf", "b.gguf")]
    for path in paths:
        path.touch()
        repository.add_target(at(path, path.stem))
    repository.change_target_options(paths[1], OPTIONS)
    used = repository.remember_target(at(paths[1], "b"))
    for path in paths:
        repository.add_target(at(path, path.stem, identity="file:1"))
    assert [(target.options, target.last_used_at) for target in repository.list_targets()] == [
        (OPTIONS, used.last_used_at)
    ] * 2
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("SELECT count(*) FROM targets").fetchone() == (1,)
