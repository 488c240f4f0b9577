"""What is beside a model: the files that may belong to it, and how much their names are alike."""

from __future__ import annotations

import os
import re
from itertools import takewhile
from pathlib import Path, PurePath

from engine.speculation.model.files.model_files import is_gguf, model_name, part_of, without_quantization

_MOST_ENTRIES = 5000  # of a folder
_NO_WORDS = {"mmproj", "model", "ggml", "gguf", "vision", "clip", ""}
_OF_DRAFTERS = {"mtp", "eagle3", "eagle", "dflash", "dspark", "draft", "drafter", "speculator", "head"}


def files_beside(path: Path) -> list[Path]:
    """Model files, or their first parts, in the folder of this model, without itself; of a repository of the hub, also
    those above the folder that each quantization has there."""
    files = _files_in(path.parent, path)
    above = path.parent.parent
    return files + _files_in(above, path) if "--" in above.name else files


def words_of(path: PurePath) -> tuple[str, ...]:
    """The words of its name, without those that all such names have."""
    words = re.split(r"[^a-z0-9]+", without_quantization(model_name(path)).lower())
    return tuple(word for word in words if word not in _NO_WORDS | _OF_DRAFTERS)


def likeness(path: PurePath, words: tuple[str, ...]) -> int:
    """The number of words that its name and another one begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(words_of(path), words, strict=False)))


def _files_in(folder: Path, path: Path) -> list[Path]:
    files = []
    try:
        with os.scandir(folder) as entries:
            for _, entry in zip(range(_MOST_ENTRIES), entries, strict=False):
                file = folder / entry.name
                if is_gguf(entry.name) and part_of(entry.name)[0] == 1 and model_name(file) != model_name(path):
                    files.append(file)
    except OSError:
        return []
    return sorted(files)
