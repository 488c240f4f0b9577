"""Presets and prompts of the store: whole after a restart, with names of their own."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

import pytest

from engine.backend.storage import Repository, presets
from engine.values import order
from engine.values.config import OwnSampling
from engine.values.errors import NotPossible
from engine.values.order import LibraryPrompt, Preset, TargetChoice

BRIEF = Preset(
    0, "Brief", "Be brief.", OwnSampling(temperature=0.2, banned_words="delve"), False, TargetChoice("Q", "f:1")
)
PLAIN = Preset(0, "a plain one")
SUM = LibraryPrompt(0, "Summarize", "Summarize {text}")


def named(repository: Repository) -> list[str]:
    return [each.name for each in repository.list_presets()]


def test_presets_and_prompts_are_there_after_a_restart(
    repository: Repository, open_repository: Callable[[], Repository]
) -> None:
    repository.save_preset(BRIEF)
    repository.save_preset(PLAIN)
    repository.save_prompt(SUM)
    repository.close()
    reopened = open_repository()
    plain, brief = reopened.list_presets()
    assert (replace(plain, id=0), replace(brief, id=0)) == (PLAIN, BRIEF), "by name, whatever the case"
    assert [replace(each, id=0) for each in reopened.list_prompts()] == [SUM]


def test_one_with_its_id_is_changed_and_comes_back_under_it(repository: Repository) -> None:
    repository.save_preset(BRIEF)
    (kept,) = repository.list_presets()
    changed = replace(kept, name="Short", thinks=True, target=None)
    repository.save_preset(changed)
    assert repository.list_presets() == (changed,)
    repository.delete_preset(kept.id)
    repository.delete_preset(kept.id)
    assert repository.list_presets() == ()
    repository.save_preset(changed)
    assert repository.list_presets() == (changed,), "a deletion that is undone"


def test_a_name_that_is_taken_gets_a_number(repository: Repository) -> None:
    for _ in range(3):
        repository.save_preset(BRIEF)
    assert named(repository) == ["Brief", "Brief (2)", "Brief (3)"]
    repository.save_preset(repository.list_presets()[0])
    assert named(repository) == ["Brief", "Brief (2)", "Brief (3)"], "its own name is not taken"


def test_what_is_here_already_is_not_added_again(repository: Repository) -> None:
    assert repository.add_presets((BRIEF, PLAIN), (SUM,)) == (2, 1)
    assert repository.add_presets((replace(BRIEF, id=99), replace(PLAIN, thinks=True)), (SUM,)) == (1, 0)
    assert named(repository) == ["a plain one", "a plain one (2)", "Brief"]


def test_too_many_are_refused_and_none_is_added(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presets, "MOST_KEPT", 2)
    repository.save_prompt(SUM)
    with pytest.raises(NotPossible, match="No more than 2 can be stored"):
        repository.add_presets((BRIEF, PLAIN, replace(BRIEF, name="x")), (replace(SUM, name="y"),))
    assert repository.list_presets() == ()
    repository.save_prompt(SUM)
    with pytest.raises(NotPossible, match="No more than 2 can be stored; delete some first"):
        repository.save_prompt(SUM)
    assert order.MOST_KEPT == 1_000


def test_names_and_texts_are_made_fit_for_the_store(repository: Repository) -> None:
    repository.save_preset(replace(BRIEF, name=" two\nlines ", system_prompt="\ud800"))
    (kept,) = repository.list_presets()
    assert (kept.name, kept.system_prompt) == ("two lines", "\ufffd")


@pytest.mark.parametrize("damage", ["sampling = 'no json'", "sampling = x'00ff'", "sampling = '{\"temperature\": 99}'"])
def test_a_damaged_value_counts_as_not_set(repository: Repository, damage: str) -> None:
    repository.save_preset(BRIEF)
    with closing(sqlite3.connect(repository.data_dir / "slipstream.sqlite3")) as connection:
        connection.execute(f"UPDATE presets SET {damage}")
        connection.commit()
    (kept,) = repository.list_presets()
    assert replace(kept, id=0) == replace(BRIEF, sampling=OwnSampling())
