"""What a user puts chats in order with, and begins them with: folders, presets, and prompts of their own."""

from __future__ import annotations

from dataclasses import dataclass

from engine.values.config import OwnSampling

FOLDER_NAME_LENGTH = 80  # characters
MOST_KEPT = 1_000  # presets, and the same number of prompts
MOST_CHARACTERS = 100_000  # of the text of a prompt, or of a preset's system prompt


@dataclass(frozen=True, slots=True)
class TargetChoice:
    """A target that something is meant for."""

    name: str
    identity: str = ""  # see `model/files/identity.py`; empty: not known


@dataclass(frozen=True, slots=True)
class Preset:
    """What a chat can be given at once."""

    id: int
    name: str
    system_prompt: str | None = None  # None: a chat keeps its own
    sampling: OwnSampling = OwnSampling()
    thinks: bool | None = None  # None: as it is set
    target: TargetChoice | None = None  # None: whatever is in use


@dataclass(frozen=True, slots=True)
class LibraryPrompt:
    """A prompt to be used again, with variables in braces: `Translate into {language}: {text}`."""

    id: int
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class AddedPresets:
    """What came of adding presets and prompts."""

    num_presets: int  # that were added
    num_prompts: int
    num_known: int  # that are here already, and were left out
    num_unreadable: int = 0  # entries of a file


@dataclass(frozen=True, slots=True)
class Folder:
    """Chats that belong together, and what those that begin in it begin with."""

    id: int
    name: str
    system_prompt: str | None = None  # None: as for all chats
    preset_id: int | None = None
    target: TargetChoice | None = None
