"""The part of the repository for what a user keeps to begin chats with: presets, and prompts with variables.

Names are unique: one that is taken gets a number. A damaged value counts as not set.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from engine.backend.storage.schema import LibraryPromptRow, PresetRow
from engine.backend.storage.texts import encodable, fit_title, unique
from engine.backend.storage.transactions import Transactions
from engine.values.config import OwnSampling
from engine.values.errors import NotPossible
from engine.values.order import MOST_KEPT, LibraryPrompt, Preset, TargetChoice

_Kept = type[PresetRow] | type[LibraryPromptRow]


class PresetRepository(Transactions):
    def list_presets(self) -> tuple[Preset, ...]:
        """Sorted by name."""
        with self._reading() as connection:
            return tuple(map(_preset, _rows(connection, PresetRow)))

    def list_prompts(self) -> tuple[LibraryPrompt, ...]:
        """Sorted by name."""
        with self._reading() as connection:
            return tuple(map(_prompt, _rows(connection, LibraryPromptRow)))

    def save_preset(self, preset: Preset) -> None:
        """Replaces the one with its id, or adds it. Raises NotPossible if there are too many."""
        with self._writing() as connection:
            _save(connection, PresetRow, preset.id, _values_of_preset(preset))

    def save_prompt(self, prompt: LibraryPrompt) -> None:
        """Saves as `save_preset` does."""
        with self._writing() as connection:
            _save(connection, LibraryPromptRow, prompt.id, _values_of_prompt(prompt))

    def delete_preset(self, preset_id: int) -> None:
        """Nothing happens where there is none."""
        self._delete(PresetRow, preset_id)

    def delete_prompt(self, prompt_id: int) -> None:
        self._delete(LibraryPromptRow, prompt_id)

    def add_presets(self, presets: Sequence[Preset], prompts: Sequence[LibraryPrompt]) -> tuple[int, int]:
        """Adds those that are not here with the same name and values, all or none. Their ids do not count. Returns how
        many presets and how many prompts. Raises NotPossible where there would be too many."""
        with self._writing() as connection:
            known = {replace(_preset(row), id=0) for row in _rows(connection, PresetRow)}
            new = [_values_of_preset(each) for each in presets if _fit_preset(each) not in known]
            known_prompts = {replace(_prompt(row), id=0) for row in _rows(connection, LibraryPromptRow)}
            new_prompts = [_values_of_prompt(each) for each in prompts if _fit_prompt(each) not in known_prompts]
            _add(connection, PresetRow, new)
            _add(connection, LibraryPromptRow, new_prompts)
        return len(new), len(new_prompts)

    def _delete(self, kept: _Kept, number: int) -> None:
        with self._writing() as connection:
            connection.execute(delete(kept).where(kept.id == number))


def _rows(connection: Connection, kept: _Kept) -> list[Row[Any]]:
    rows = connection.execute(select(kept.__table__)).all()
    return sorted(rows, key=lambda row: (row.name.casefold(), row.id))


def _save(connection: Connection, kept: _Kept, number: int, values: dict[str, object]) -> None:
    others = set(connection.execute(select(kept.name).where(kept.id != number)).scalars())
    values["name"] = unique(str(values["name"]), others)
    if not connection.execute(update(kept).where(kept.id == number).values(**values)).rowcount:
        _check_room(connection, kept, 1)
        connection.execute(insert(kept).values(**values, **({"id": number} if number else {})))


def _add(connection: Connection, kept: _Kept, added: Iterable[dict[str, object]]) -> None:
    added = list(added)
    _check_room(connection, kept, len(added))
    taken = set(connection.execute(select(kept.name)).scalars())
    for values in added:
        values["name"] = name = unique(str(values["name"]), taken)
        taken.add(name)
        connection.execute(insert(kept).values(**values))


def _check_room(connection: Connection, kept: _Kept, num_new: int) -> None:
    num_kept = connection.execute(select(func.count()).select_from(kept)).scalar_one()
    if num_kept + num_new > MOST_KEPT:
        raise NotPossible("No more than {most:,} can be stored; delete some first.", most=MOST_KEPT)


def _values_of_preset(preset: Preset) -> dict[str, object]:
    preset = _fit_preset(preset)
    return {
        "name": preset.name,
        "system_prompt": preset.system_prompt,
        "sampling": preset.sampling.to_json(),
        "thinks": preset.thinks,
        "target_name": "" if preset.target is None else preset.target.name,
        "target_identity": "" if preset.target is None else preset.target.identity,
    }


def _values_of_prompt(prompt: LibraryPrompt) -> dict[str, object]:
    prompt = _fit_prompt(prompt)
    return {"name": prompt.name, "text": prompt.text}


def _fit_preset(preset: Preset) -> Preset:
    """The preset as it is stored, without an id."""
    told, target = preset.system_prompt, preset.target
    return replace(
        preset,
        id=0,
        name=fit_title(preset.name),
        system_prompt=None if told is None else encodable(told),
        target=None if target is None else TargetChoice(encodable(target.name), encodable(target.identity)),
    )


def _fit_prompt(prompt: LibraryPrompt) -> LibraryPrompt:
    return replace(prompt, id=0, name=fit_title(prompt.name), text=encodable(prompt.text))


def _preset(row: Row[Any]) -> Preset:
    target = TargetChoice(row.target_name, row.target_identity) if row.target_name else None
    return Preset(row.id, row.name, row.system_prompt, OwnSampling.from_json(row.sampling), row.thinks, target)


def _prompt(row: Row[Any]) -> LibraryPrompt:
    return LibraryPrompt(row.id, row.name, row.text)
