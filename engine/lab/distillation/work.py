"""Writes files that are complete or not there, and keeps the state of making a drafter in a folder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from engine.values.errors import FileUnusable


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file that gets its name when all of it is on the disk. Raises FileUnusable."""
    unfinished = path.with_name(path.name + ".part")
    with writing_to(path.parent):
        with unfinished.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)


@contextmanager
def writing_to(folder: Path) -> Iterator[None]:
    """Raises FileUnusable if the disk refuses."""
    try:
        yield
    except OSError as error:
        raise FileUnusable(
            f"{folder} cannot be written ({error.strerror or error}); make room or choose another folder, and start "
            "again: what is written already is kept."
        ) from error


class WorkFolder:
    """The folder that a making resumes from after a kill: `corpus/` holds the target's conversations, `labels-…/` its
    distributions in given ones, `checkpoint.safetensors` the training, `drafter/` the drafter so far."""

    def __init__(self, path: Path, identity: Mapping[str, object]) -> None:
        """`identity`: settings and texts; the state is of use only to a making with the same ones. Writes nothing.
        Raises FileUnusable when the folder was begun with another identity, holds something else, or is unreadable."""
        self.path = path
        self.corpus = path / "corpus"
        self.checkpoint = path / "checkpoint.safetensors"
        self.drafter = path / "drafter"
        self.held_back = path / "held-back.jsonl"
        self._about = path / "settings.json"
        self._identity = json.dumps(identity, indent=2) + "\n"
        with writing_to(path):
            if self._about.exists():
                if self._about.read_text("utf-8") != self._identity:
                    raise FileUnusable(
                        f"{path} holds a drafter that was begun with other settings or texts; give the same ones to go "
                        "on with it, or choose another folder with --work."
                    )
            elif path.exists() and any(file.name != f"{self._about.name}.part" for file in path.iterdir()):
                raise FileUnusable(f"{path} holds something else already; choose another folder with --work.")

    def begin(self) -> None:
        """Raises FileUnusable when the folder cannot be written."""
        with writing_to(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        if not self._about.exists():
            write_whole(self._about, self._identity.encode())

    def thoughts(self, name: str) -> Path:
        """The folder for the target's states in the lessons of that name: see `engine.lab.distillation.thoughts`."""
        return self.path / f"thoughts-{name}"

    def labels(self, number: int) -> Path:
        """The folder for labels of the corpus file of that number."""
        return self.path / f"labels-{number}"
