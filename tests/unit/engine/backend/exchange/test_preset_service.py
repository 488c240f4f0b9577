"""The service for presets with a real store, and files of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine.backend.exchange.file_service import FileService
from engine.backend.exchange.preset_service import PresetService
from engine.backend.storage import Repository
from engine.backend.teaching.learning_service import LearningService
from engine.values.config import LearningSettings, OwnSampling
from engine.values.errors import Cancelled
from engine.values.events import Event, PresetsListed
from engine.values.order import AddedPresets, LibraryPrompt, Preset
from engine.values.stop_signal import StopSignal

BRIEF, SUM = Preset(1, "Brief", "Be brief.", OwnSampling(top_k=3), True), LibraryPrompt(1, "Sum", "Sum up {text}")


class Desk:
    def __init__(self, repository: Repository) -> None:
        self.events: list[Event] = []
        self.presets = PresetService(repository, self.events.append)
        learning = LearningService(lambda: repository, LearningSettings(), self.events.append)
        self.files = FileService(
            lambda: repository, lambda: self.presets, learning, self.events.append, lambda _command: None, len
        )

    def take(self) -> list[Event]:
        told = self.events.copy()
        self.events.clear()
        return told


@pytest.fixture
def desk(repository: Repository) -> Desk:
    return Desk(repository)


def test_all_are_listed_after_every_change(desk: Desk) -> None:
    desk.presets.list()
    assert desk.take() == [PresetsListed((), ())]
    desk.presets.save_preset(replace(BRIEF, id=0))
    assert desk.take() == [PresetsListed((BRIEF,), ())]
    desk.presets.save_prompt(replace(SUM, id=0))
    assert desk.take() == [PresetsListed((BRIEF,), (SUM,))]
    desk.presets.delete_preset(1)
    assert desk.take() == [PresetsListed((), (SUM,))]
    desk.presets.delete_prompt(1)
    assert desk.take() == [PresetsListed((), ())]


def test_a_file_brings_everything_once(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    desk.files.export_presets(path, (BRIEF,), (SUM,))
    assert desk.files.import_presets(path) == AddedPresets(1, 1, 0, 0)
    assert desk.take() == [PresetsListed((BRIEF,), (SUM,))]
    assert desk.files.import_presets(path) == AddedPresets(0, 0, 2, 0)
    desk.take()
    assert desk.presets.add((BRIEF,), (replace(SUM, text="other"),)) == AddedPresets(0, 1, 1)
    assert desk.take() == [PresetsListed((BRIEF,), (SUM, LibraryPrompt(2, "Sum (2)", "other")))]


def test_an_import_that_is_stopped_adds_nothing(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    desk.files.export_presets(path, (BRIEF,), ())
    stop = StopSignal()
    stop.set()
    with pytest.raises(Cancelled):
        desk.files.import_presets(path, stop)
    desk.presets.list()
    assert desk.take() == [PresetsListed((), ())]
