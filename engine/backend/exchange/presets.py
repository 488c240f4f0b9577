"""Presets and prompts in a file, version 1: a JSON object, in UTF-8.

    {"format": "slipstream-presets", "version": 1,
     "presets": [
      {"name": "…",
       "system_prompt": "…",                            null: a chat keeps its own
       "sampling": {"temperature": 0.2},                 what of it is set, by the names of `OwnSampling`
       "thinks": true,                                   whether the model is to think; null: as it is set
       "model": {"name": "…", "identity": "…"}}],        null: whatever is in use
     "prompts": [{"name": "…", "text": "…"}]}            a text with variables, as in `{language}`

Readers ignore unknown fields, and settings that make no sense; they refuse unknown versions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, Field, StrictBool, StrictInt, ValidationError

from engine.backend.documents.attached import readable
from engine.backend.exchange.writing import write_file
from engine.values.config import OwnSampling
from engine.values.errors import FileUnusable
from engine.values.order import MOST_CHARACTERS, MOST_KEPT, LibraryPrompt, Preset, TargetChoice
from engine.values.remote import server_of

FORMAT = "slipstream-presets"
VERSION = 1
MOST_BYTES = 8 * 2**20
_LONGEST_NAME = 1_000  # characters; the store cuts it to a line
_Read = TypeVar("_Read", Preset, LibraryPrompt)


@dataclass(frozen=True, slots=True)
class ReadPresets:
    """What a file holds; ids are 0."""

    presets: tuple[Preset, ...]
    prompts: tuple[LibraryPrompt, ...]
    num_unreadable: int  # entries that are none


class _Header(BaseModel):
    format: Literal["slipstream-presets"]
    version: StrictInt = Field(ge=1)


class _Model(BaseModel):
    name: str = Field(min_length=1, max_length=_LONGEST_NAME)
    identity: str = Field("", max_length=_LONGEST_NAME)


class _Preset(BaseModel):
    name: str = Field(pattern=r"\S", max_length=_LONGEST_NAME)
    system_prompt: str | None = Field(None, max_length=MOST_CHARACTERS)
    sampling: dict[str, Any] = {}
    thinks: StrictBool | None = None
    model: _Model | None = None

    def read(self) -> Preset:
        target = None if self.model is None else TargetChoice(self.model.name, self.model.identity)
        sampling = OwnSampling.from_json(json.dumps(self.sampling))
        return Preset(0, self.name, self.system_prompt, sampling, self.thinks, target)


class _Prompt(BaseModel):
    name: str = Field(pattern=r"\S", max_length=_LONGEST_NAME)
    text: str = Field(max_length=MOST_CHARACTERS)

    def read(self) -> LibraryPrompt:
        return LibraryPrompt(0, self.name, self.text)


def read_presets(path: Path) -> ReadPresets:
    """Raises FileUnusable where the file cannot be read, is none of these, or holds too much."""
    found = _content(path)
    presets, unfit = _entries(path, found, "presets", lambda entry: _Preset.model_validate(entry).read())
    prompts, unfit_prompts = _entries(path, found, "prompts", lambda entry: _Prompt.model_validate(entry).read())
    if not (presets or prompts):
        raise FileUnusable("{name} contains no presets or prompts; choose another file.", name=path.name)
    return ReadPresets(presets, prompts, unfit + unfit_prompts)


def write_presets(path: Path, presets: Sequence[Preset], prompts: Sequence[LibraryPrompt], overwrite: bool) -> None:
    """Whole or not at all. Raises FileUnusable."""
    content = {
        "format": FORMAT,
        "version": VERSION,
        **({"presets": [_written(each) for each in presets]} if presets else {}),
        **({"prompts": [{"name": each.name, "text": each.text} for each in prompts]} if prompts else {}),
    }
    text = json.dumps(content, ensure_ascii=False, indent=1) + "\n"
    if len(text.encode("utf-8", "replace")) > MOST_BYTES:  # it could not be imported
        raise FileUnusable(
            "This is more than one file may contain ({most} MB); export fewer at once.", most=MOST_BYTES // 2**20
        )
    write_file(path, [text], overwrite)


def _content(path: Path) -> dict[str, Any]:
    name = path.name
    with readable(path) as file:
        raw = file.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise FileUnusable(
            "{name} is too large; preset files may have at most {most} MB.", name=name, most=MOST_BYTES // 2**20
        )
    try:
        found = json.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise FileUnusable(
            "{name} is damaged or is not a preset file; export it again, or choose another one.", name=name
        ) from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise FileUnusable("{name} is not a preset file; choose one that Slipstream exported.", name=name)
    try:
        version = _Header.model_validate(found).version
    except ValidationError as error:
        raise FileUnusable("{name} is damaged; export it again, or choose another file.", name=name) from error
    if version > VERSION:
        raise FileUnusable("{name} was written by a newer version of Slipstream; install that version.", name=name)
    return found


def _entries(
    path: Path, found: dict[str, Any], key: str, read: Callable[[object], _Read]
) -> tuple[tuple[_Read, ...], int]:
    """Those that can be read, and the number of others."""
    listed = found.get(key, [])
    if not isinstance(listed, list):
        raise FileUnusable("{name} is damaged; export it again, or choose another file.", name=path.name)
    if len(listed) > MOST_KEPT:
        raise FileUnusable(
            "{name} contains more than {most:,} presets or prompts; import it in several parts.",
            name=path.name,
            most=MOST_KEPT,
        )
    entries = tuple(_readable(listed, read))
    return entries, len(listed) - len(entries)


def _readable(listed: list[Any], read: Callable[[object], _Read]) -> Iterable[_Read]:
    for entry in listed:
        try:
            yield read(entry)
        except (ValidationError, RecursionError):
            continue


def _written(preset: Preset) -> dict[str, Any]:
    target = preset.target
    return {
        "name": preset.name,
        "system_prompt": preset.system_prompt,
        "sampling": dict(preset.sampling.chosen),
        "thinks": preset.thinks,
        "model": None if target is None else {"name": target.name, "identity": _told_identity(target)},
    }


def _told_identity(target: TargetChoice) -> str:
    """The identity, unless it holds the address of a server, which stays private."""
    return "" if server_of(target.identity) else target.identity
