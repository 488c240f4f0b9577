"""Carries out commands for presets and for the prompts of the library, also those for files of them."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors import Cancelled
from engine.exchange.presets import read_presets, write_presets
from engine.messages.commands import (
    AddPresets,
    DeletePreset,
    DeletePrompt,
    ExportPresets,
    ImportPresets,
    ListPresets,
    ListPrompts,
    PresetCommand,
    SavePreset,
    SavePrompt,
)
from engine.messages.events import Listener, PresetsAdded, PresetsExported, PresetsListed, PromptsListed
from engine.messages.order import LibraryPrompt, Preset
from engine.stop_signal import StopSignal
from engine.storage import Repository


@dataclass(frozen=True)
class PresetService:
    _repository: Repository
    _emit: Listener

    def handle(self, command: PresetCommand | ExportPresets | ImportPresets, stop: StopSignal) -> None:
        match command:
            case ListPresets():
                self._list_presets()
            case SavePreset(preset):
                self._repository.save_preset(preset)
                self._list_presets()
            case DeletePreset(preset_id):
                self._repository.delete_preset(preset_id)
                self._list_presets()
            case ListPrompts():
                self._list_prompts()
            case SavePrompt(prompt):
                self._repository.save_prompt(prompt)
                self._list_prompts()
            case DeletePrompt(prompt_id):
                self._repository.delete_prompt(prompt_id)
                self._list_prompts()
            case AddPresets(presets, prompts):
                self._add(command, presets, prompts)
            case ExportPresets(path, presets, prompts, overwrite):
                write_presets(path, presets, prompts, overwrite)
                self._emit(PresetsExported(path, len(presets), len(prompts)))
            case ImportPresets(path):
                read = read_presets(path)
                if stop.is_set():
                    raise Cancelled("The import was cancelled; nothing was added.")
                self._add(command, read.presets, read.prompts, read.num_unreadable)

    def _add(
        self,
        command: AddPresets | ImportPresets,
        presets: tuple[Preset, ...],
        prompts: tuple[LibraryPrompt, ...],
        num_unreadable: int = 0,
    ) -> None:
        num_presets, num_prompts = self._repository.add_presets(presets, prompts)
        num_known = len(presets) + len(prompts) - num_presets - num_prompts
        self._list_presets()
        self._list_prompts()
        self._emit(PresetsAdded(command, num_presets, num_prompts, num_known, num_unreadable))

    def _list_presets(self) -> None:
        self._emit(PresetsListed(self._repository.list_presets()))

    def _list_prompts(self) -> None:
        self._emit(PromptsListed(self._repository.list_prompts()))
