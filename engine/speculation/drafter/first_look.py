"""Checks what can be seen of a drafter at once: without torch, and without reading its weights."""

from __future__ import annotations

from pathlib import Path

from engine.speculation.drafter.choice import drafter_source
from engine.speculation.drafter.config_file import read_config, shape_of
from engine.speculation.drafter.files import SAFETENSORS, no_weights
from engine.speculation.drafter.heads_folder import read_heads_config
from engine.speculation.model.files.facts import facts_of
from engine.speculation.model.files.model_files import is_gguf
from engine.values.drafters import DrafterRunner, DrafterSource
from engine.values.errors import DrafterUnusable, TargetMissing


def check_drafter(choice: str, data_dir: Path) -> None:
    """Raises DrafterUnusable if this choice in words, see `drafter_source`, can never draft: there is no such file, it
    holds no model, or another kind of model. Loading may still find other faults."""
    path = Path(choice)
    if path.is_absolute() and not (path.is_dir() or (is_gguf(path.name) and path.is_file())):
        raise DrafterUnusable(
            "There is no drafter at {choice}; choose a GGUF file, or a folder in Hugging Face's format.", choice=choice
        )
    source = drafter_source(choice, data_dir)
    if not source.is_ours:
        (_check_folder if source.path.is_dir() else _check_file)(source)


def _check_folder(source: DrafterSource) -> None:
    if source.runner is DrafterRunner.HEADS:
        read_heads_config(source.path)
        return
    shape_of(read_config(source.path), source.path.name)
    if not any(source.path.glob(SAFETENSORS)):
        raise DrafterUnusable(no_weights(source.path))


def _check_file(source: DrafterSource) -> None:
    try:
        facts = facts_of(source.path)
    except TargetMissing as error:
        raise DrafterUnusable(str(error)) from error
    if facts.problem:
        raise DrafterUnusable(facts.problem)
    if facts.details is not None and not facts.details.can_speculate:
        raise DrafterUnusable(
            "{name} cannot draft: it cannot roll back what it has read; choose another drafter.", name=source.name
        )
