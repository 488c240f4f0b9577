"""The folder that the making of a drafter keeps its state in, so that it can be killed and goes on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from engine.errors import FileUnusable
from engine.learning.files import told_in_words, write_whole

_ABOUT = "settings.json"


def is_begun(path: Path, identity: Mapping[str, object]) -> bool:
    """Whether there is something to go on with. Raises FileUnusable as `WorkFolder` does, but writes nothing."""
    about = path / _ABOUT
    with told_in_words(path):
        if about.exists():
            if about.read_text("utf-8") != _told(identity):
                raise FileUnusable(
                    f"{path} holds a drafter that was begun with other settings or texts; give the same ones to go on "
                    "with it, or choose another folder with --work."
                )
            return True
        if path.exists() and any(file.name != f"{_ABOUT}.part" for file in path.iterdir()):
            raise FileUnusable(f"{path} holds something else already; choose another folder with --work.")
    return False


def _told(identity: Mapping[str, object]) -> str:
    return json.dumps(identity, indent=2) + "\n"


class WorkFolder:
    """`corpus/` holds what the target wrote, `labels-…/` what it thought of given texts, `checkpoint.safetensors` the
    training, `drafter/` what came of it so far."""

    def __init__(self, path: Path, identity: Mapping[str, object]) -> None:
        """`identity`: all that must be the same for what is kept to be of use. Raises FileUnusable when the folder was
        begun with another one, holds something else, or cannot be written."""
        self.path = path
        with told_in_words(path):
            path.mkdir(parents=True, exist_ok=True)
        if not is_begun(path, identity):
            write_whole(path / _ABOUT, _told(identity).encode())

    @property
    def corpus(self) -> Path:
        return self.path / "corpus"

    @property
    def checkpoint(self) -> Path:
        return self.path / "checkpoint.safetensors"

    @property
    def drafter(self) -> Path:
        return self.path / "drafter"

    @property
    def held_back(self) -> Path:
        return self.path / "held-back.jsonl"

    def labels(self, number: int) -> Path:
        """Of the corpus file of that number."""
        return self.path / f"labels-{number}"
