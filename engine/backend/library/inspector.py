"""Looks at this program and at files of drafters, which needs no store."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.speculation.drafter.choice import check_drafter
from engine.speculation.model.llama.runtime import read_runtime
from engine.values.targets import Runtime


@dataclass(frozen=True)
class Inspector:
    _data_dir: Path

    def runtime(self) -> Runtime:
        """The library that runs models."""
        return read_runtime()

    def check_drafter(self, choice: str) -> None:
        """Raises DrafterUnusable if nothing can ever draft with this choice (see `drafter/choice.py`)."""
        check_drafter(choice, self._data_dir)
