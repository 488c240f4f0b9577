"""The service for presets with a real store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine.config import OwnSampling
from engine.errors import Cancelled
from engine.messages.commands import (
    AddPresets,
    DeletePreset,
    DeletePrompt,
    ExportPresets,
    ImportPresets,
    ListPresets,
    ListPrompts,
    SavePreset,
    SavePrompt,
)
from engine.messages.events import Event, PresetsAdded, PresetsExported, PresetsListed, PromptsListed
from engine.messages.order import LibraryPrompt, Preset
from engine.services.preset_service import PresetService
from engine.stop_signal import StopSignal
from engine.storage import Repository

BRIEF, SUM = Preset(1, "Brief", "Be brief.", OwnSampling(top_k=3), True), LibraryPrompt(1, "Sum", "Sum up {text}")


class Desk:
    def __init__(self, repository: Repository) -> None:
        self.events: list[Event] = []
        self.service = PresetService(repository, self.events.append)

    def ask(self, command: object, stop: StopSignal | None = None) -> list[Event]:
        self.events.clear()
        self.service.handle(command, stop or StopSignal())  # type: ignore[arg-type]
        return list(self.events)


@pytest.fixture
def desk(repository: Repository) -> Desk:
    return Desk(repository)


def test_every_change_is_answered_with_the_whole_list(desk: Desk) -> None:
    assert desk.ask(ListPresets()) == [PresetsListed(())]
    assert desk.ask(SavePreset(replace(BRIEF, id=0))) == [PresetsListed((BRIEF,))]
    assert desk.ask(DeletePreset(1)) == [PresetsListed(())]
    assert desk.ask(ListPrompts()) == [PromptsListed(())]
    assert desk.ask(SavePrompt(replace(SUM, id=0))) == [PromptsListed((SUM,))]
    assert desk.ask(DeletePrompt(1)) == [PromptsListed(())]


def test_a_file_brings_everything_once(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    assert desk.ask(ExportPresets(path, (BRIEF,), (SUM,))) == [PresetsExported(path, 1, 1)]
    whole: list[Event] = [PresetsListed((BRIEF,)), PromptsListed((SUM,))]
    command = ImportPresets(path)
    assert desk.ask(command) == [*whole, PresetsAdded(command, 1, 1, 0, 0)]
    assert desk.ask(command) == [*whole, PresetsAdded(command, 0, 0, 2, 0)]
    again = AddPresets((BRIEF,), (replace(SUM, text="other"),))
    assert desk.ask(again)[-1] == PresetsAdded(again, 0, 1, 1, 0)
    assert [each.name for each in desk.ask(ListPrompts())[0].prompts] == ["Sum", "Sum (2)"]  # type: ignore[attr-defined]


def test_an_import_that_is_stopped_adds_nothing(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    desk.ask(ExportPresets(path, (BRIEF,), ()))
    stop = StopSignal()
    stop.set()
    with pytest.raises(Cancelled):
        desk.ask(ImportPresets(path), stop)
    assert desk.ask(ListPresets()) == [PresetsListed(())]
