"""Which form of the starter is used: kept in the data folder, and only with its note."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.speculation.model.files.sources import StarterForm, named_source, starter_in_use, starter_source
from engine.values.config import STARTER
from engine.values.errors import FileUnusable

IDENTITY = "file:" + "5a" * 32


def made(folder: Path, name: str = "starter-Q8_0.gguf") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(b"GGUF" + name.encode())
    return path


def test_a_form_is_moved_in_and_used_until_it_is_undone(tmp_path: Path) -> None:
    form = StarterForm(tmp_path, IDENTITY)
    assert form.path is None
    assert not form.is_undone
    form.use(made(tmp_path / "x"))
    assert form.path == form.folder / "starter-Q8_0.gguf"
    assert not list((tmp_path / "x").iterdir())
    assert StarterForm(tmp_path, IDENTITY).path == form.path

    form.use(None, is_wish=True)
    assert form.path is None
    assert form.is_undone
    assert [file.name for file in form.folder.iterdir()] == ["form.json"]

    form.use(made(tmp_path / "x"))
    assert form.path is not None
    assert not form.is_undone


def test_another_form_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    form = StarterForm(tmp_path, IDENTITY)
    form.use(made(tmp_path / "x"))
    form.use(made(tmp_path / "x", "starter-Q6_K.gguf"))
    assert form.path is not None
    assert sorted(file.name for file in form.folder.iterdir()) == ["form.json", "starter-Q6_K.gguf"]


def test_another_starter_begins_without_a_form(tmp_path: Path) -> None:
    StarterForm(tmp_path, IDENTITY).use(made(tmp_path / "x"))
    assert StarterForm(tmp_path, "file:" + "6b" * 32).path is None


@pytest.mark.parametrize(
    "note", [b"", b"{", b'{"file": 3}', b'{"file": "gone.gguf"}', b'{"file": "../../../../x"}', b"\xff"]
)
def test_a_note_that_makes_no_sense_leaves_the_starter_as_it_was_installed(tmp_path: Path, note: bytes) -> None:
    form = StarterForm(tmp_path, IDENTITY)
    form.use(made(tmp_path / "x"))
    (form.folder / "form.json").write_bytes(note)
    assert form.path is None


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "starter").write_bytes(b"")
    with pytest.raises(FileUnusable, match="fix that"):
        StarterForm(tmp_path, IDENTITY).use(None)


@pytest.mark.starter
def test_the_name_starter_means_the_form_in_use(tmp_path: Path) -> None:
    installed = starter_source()
    assert named_source(STARTER, tmp_path) == starter_in_use(tmp_path) == installed
    form = StarterForm(tmp_path, installed.identity)
    form.use(made(tmp_path / "x"))
    found = named_source(STARTER, tmp_path)
    assert found is not None
    assert found.path == form.path
    assert found.trusted
    assert found.identity not in ("", installed.identity)
