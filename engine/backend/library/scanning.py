"""Finds the model files in the files and folders that a user chose to add."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from engine.speculation.model.files.model_files import is_gguf, no_model, part_names, part_of
from engine.values.places import expanded
from engine.values.sentences import say

_MOST_ENTRIES = 100_000  # files and folders to look at
_DEEPEST = 12  # folders in folders


@dataclass(frozen=True, slots=True)
class Found:
    paths: tuple[Path, ...]  # of a model in parts, the first part
    left_out: tuple[str, ...]  # a sentence for each thing that is no model: why


def find_models(chosen: tuple[Path, ...], is_stopped: Callable[[], bool] = lambda: False) -> Found:
    """The chosen files, and those in chosen folders at any depth. Looks at names only."""
    paths: dict[Path, None] = {}
    left_out: dict[str, None] = {}
    for choice in chosen:
        path = expanded(choice).absolute()
        if not _is_folder(path):
            _sort(path, paths, left_out)
            continue
        num_before = len(paths) + len(left_out)
        for file in _files_in(path, left_out, is_stopped):
            _sort(file, paths, left_out)
        if len(paths) + len(left_out) == num_before:
            left_out[
                say("There is no model file in {path}; choose a folder with files that end in .gguf.", path=path)
            ] = None
    return Found(tuple(paths), tuple(left_out))


def _sort(path: Path, paths: dict[Path, None], left_out: dict[str, None]) -> None:
    if not is_gguf(path.name):
        left_out[say("{name} is not in the GGUF format; choose a file that ends in .gguf.", name=path.name)] = None
        return
    reason = no_model(path.name)
    first = path.with_name(part_names(path.name)[0])
    if reason:
        left_out[reason] = None
    elif first != path and not first.exists():
        place = part_of(path.name)[0]
        left_out[say("{name} is part {place} of a model whose first part is missing.", name=path.name, place=place)] = (
            None
        )
    else:
        paths[first] = None


def _files_in(folder: Path, left_out: dict[str, None], is_stopped: Callable[[], bool]) -> Iterator[Path]:
    """Model files by name, in order. A folder that several links lead to is entered once."""
    seen: set[tuple[int, int]] = set()
    waiting = [(folder, 0)]
    num_entries = 0
    while waiting:
        inside, depth = waiting.pop(0)
        try:
            state = inside.stat()
            if (state.st_dev, state.st_ino) in seen and state.st_ino:
                continue
            seen.add((state.st_dev, state.st_ino))
            with os.scandir(inside) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            left_out[
                say("{path} cannot be read ({reason}); check its permissions.", path=inside, reason=error.strerror)
            ] = None
            continue
        for entry in found:
            num_entries += 1
            if num_entries > _MOST_ENTRIES or is_stopped():
                left_out[say("{folder} contains too much to search; choose a folder further down.", folder=folder)] = (
                    None
                )
                return
            path = inside / entry.name
            if _is_folder(path):
                if depth < _DEEPEST:
                    waiting.append((path, depth + 1))
            elif is_gguf(entry.name):
                yield path


def _is_folder(path: Path) -> bool:
    return os.path.isdir(path)  # noqa: PTH112 (Path.is_dir raises for a folder that may not be read)
