"""Presets and the prompts of the library."""

from __future__ import annotations

from dataclasses import dataclass

from engine.backend.storage import Repository
from engine.values.events import Listener, PresetsListed
from engine.values.order import AddedPresets, LibraryPrompt, Preset


@dataclass(frozen=True)
class PresetService:
    """Emits `PresetsListed` after every change. Saving replaces the one with the same id, or adds it if its id is 0 or
    gone. A name that is taken gets a number."""

    _repository: Repository
    _emit: Listener

    def list(self) -> None:
        """Emits `PresetsListed`."""
        self._emit(PresetsListed(self._repository.list_presets(), self._repository.list_prompts()))

    def save_preset(self, preset: Preset) -> None:
        self._repository.save_preset(preset)
        self.list()

    def delete_preset(self, preset_id: int) -> None:
        self._repository.delete_preset(preset_id)
        self.list()

    def save_prompt(self, prompt: LibraryPrompt) -> None:
        self._repository.save_prompt(prompt)
        self.list()

    def delete_prompt(self, prompt_id: int) -> None:
        self._repository.delete_prompt(prompt_id)
        self.list()

    def add(self, presets: tuple[Preset, ...], prompts: tuple[LibraryPrompt, ...]) -> AddedPresets:
        """Adds those that are not here yet, all or none."""
        num_presets, num_prompts = self._repository.add_presets(presets, prompts)
        self.list()
        return AddedPresets(num_presets, num_prompts, len(presets) + len(prompts) - num_presets - num_prompts)
