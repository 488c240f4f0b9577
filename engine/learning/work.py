"""The folder that the making of a drafter keeps its state in, so that it can be killed and goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.errors import CorpusUnreadable, MendableError


class WorkFolder:
    """`corpus/` holds what the target wrote, `labels-…/` what it thought of given texts, `checkpoint.safetensors` the
    training, `drafter/` what came of it so far."""

    def __init__(self, path: Path, settings: dict[str, object]) -> None:
        """Raises CorpusUnreadable when the folder was begun with other settings, MendableError when it cannot be
        written."""
        self.path = path
        about = path / "settings.json"
        with told_in_words(path):
            path.mkdir(parents=True, exist_ok=True)
            text = json.dumps(settings, indent=2) + "\n"
            if not about.exists():
                about.write_text(text, "utf-8")
            elif about.read_text("utf-8") != text:
                raise CorpusUnreadable(
                    f"{path} holds a drafter that was begun with other settings; give the same ones to go on with it, "
                    "or remove the folder."
                )

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


@contextmanager
def told_in_words(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise MendableError(
            f"{path} cannot be written ({error.strerror}); make room or choose another folder, and start again: what "
            "is written already is kept."
        ) from error
