from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.drafter.choice import (
    BUILT_IN,
    HUB_EXAMPLES,
    MARKER,
    drafter_folder,
    fetched_folder,
    hub_name,
    is_fetched,
    is_hub_name,
)
from engine.errors import DrafterUnusable


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


def test_built_in_is_no_folder(tmp_path: Path) -> None:
    assert drafter_folder(BUILT_IN, tmp_path) is None
    assert hub_name(BUILT_IN) is None


def test_a_folder_wins_over_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched("owner/name", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert hub_name("owner/name") == "owner/name"
    (tmp_path / "owner" / "name").mkdir(parents=True)
    assert hub_name("owner/name") is None
    assert drafter_folder("owner/name", tmp_path) == Path("owner/name")


def test_a_name_stands_for_what_was_fetched(tmp_path: Path) -> None:
    with pytest.raises(DrafterUnusable, match="owner/name is not on this machine"):
        drafter_folder("owner/name", tmp_path)
    assert drafter_folder("owner/name", fetched("owner/name", tmp_path).parents[1]) == fetched_folder(
        "owner/name", tmp_path
    )


@pytest.mark.parametrize("choice", ["", "../nowhere", "~nosuchuser/x", "x" * 5000, "a\0b"])
def test_anything_else_is_a_sentence(tmp_path: Path, choice: str) -> None:
    assert hub_name(choice) is None
    with pytest.raises(DrafterUnusable, match="There is no folder"):
        drafter_folder(choice, tmp_path)


@pytest.mark.parametrize(
    "marker", ["", "[]", "{}", '{"files": 3}', '{"files": {"config.json": 3}}', '{"files": {"x": 1}}']
)
def test_a_marker_that_does_not_hold_is_none(tmp_path: Path, marker: str) -> None:
    folder = fetched("owner/name", tmp_path)
    assert is_fetched(folder)
    (folder / MARKER).write_text(marker)
    assert not is_fetched(folder)
