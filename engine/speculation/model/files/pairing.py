"""Pairs models with the drafters made for them, without being asked: layers of a model's own file, or a head in a file
beside it or in the library."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePath, PurePosixPath

from engine.speculation.model.files.brought import header_at, method_of, misfit, own_layers
from engine.speculation.model.files.identity import file_stamp
from engine.speculation.model.files.model_files import bits_of, is_gguf, no_model, part_of
from engine.speculation.model.files.neighbours import files_beside, likeness, words_of
from engine.values.errors import MendableError
from engine.values.targets import HeadMethod

_METHODS = {"mtp": HeadMethod.MTP, "eagle3": HeadMethod.EAGLE3, "eagle-3": HeadMethod.EAGLE3}
_METHODS |= {"dflash": HeadMethod.DFLASH, "dspark": HeadMethod.DSPARK}
# Models that have such layers themselves are also named for them, but not at the beginning.
_METHOD = re.compile(r"^(?P<start>mtp)-|(?:^|[-_.])(?P<word>eagle-?3|dflash|dspark)(?=[-_.]|$)")
_UNUSED = re.compile("mtp-gemma")  # see `brought.py`
_PEEKED = 1 << 16  # bytes, in which a header says what it is of; vocabularies follow
_ARCHITECTURES = {b"eagle3": HeadMethod.EAGLE3, b"dflash": HeadMethod.DFLASH, b"gemma4-assistant": HeadMethod.MTP}
_OWN_LAYERS = b".nextn_predict_layers"
# Where a model has several, the first of these is used, as llama.cpp does.
PREFERRED = (HeadMethod.MTP, HeadMethod.DSPARK, HeadMethod.DFLASH, HeadMethod.EAGLE3)


@dataclass(frozen=True, slots=True)
class BroughtHead:
    """A drafter that a model brings along. Its file is as unknown as any, even where it fits."""

    method: HeadMethod
    path: Path | None = None  # None: layers of the model's own file


@dataclass(frozen=True, slots=True)
class Brought:
    """The best drafter that a model brings along, if it brings one."""

    head: BroughtHead | None = None
    problem: str = ""  # why what is beside it does not draft for it, in a sentence, where it has none that does

    @property
    def file(self) -> Path | None:
        """The head's own file; None if there is none."""
        return None if self.head is None else self.head.path


def brought_by(target: Path, library: Iterable[Path] = ()) -> Brought:
    """The drafter of this target. `library`: files of the library, of which heads are considered, too; those beside the
    target come first. Takes some milliseconds for each head that was not seen before."""
    if _looked_at(target, file_stamp(target))[1]:
        return Brought(BroughtHead(HeadMethod.MTP))
    words, bits = words_of(target), bits_of(target.name)
    beside = files_beside(target)
    heads = {path: place for place, path in enumerate((*beside, *library)) if path != target}
    found: list[tuple[tuple[int, bool, int, int, str], BroughtHead]] = []
    problems: list[tuple[int, str]] = []
    num_models = 1 + sum(1 for path in beside if head_method(path) is None and not no_model(path.name))
    for path, place in heads.items():
        method = head_method(path)
        if method is None:
            continue
        alike, is_beside = likeness(path, words), place < len(beside)
        if reason := misfit(path, target):
            if is_beside and (alike or num_models == 1):
                problems.append((-alike, reason))
            continue
        rank = PREFERRED.index(method), not is_beside, -alike, abs(bits_of(path.name) - bits), path.name
        found.append((rank, BroughtHead(method, path)))
    if found:
        return Brought(min(found, key=lambda each: each[0])[1])
    return Brought(problem=min(problems, key=lambda each: each[0])[1] if problems else "")


def head_method(path: Path) -> HeadMethod | None:
    """The method of a file that is nothing but a head; None for every other file, and one that cannot be read."""
    return _looked_at(path, file_stamp(path))[0]


def method_in(name: str) -> HeadMethod | None:
    """The method that the name of a head shows, as on the hub; None for any other name."""
    found = _METHOD.search(PurePath(name).name.lower())
    return None if found is None else _METHODS[found["start"] or found["word"]]


def head_among(names: Iterable[str], model: str) -> str | None:
    """The head for a model of a repository, among the files of that; both are names with folders."""
    words, bits = words_of(PurePosixPath(model)), bits_of(model)
    folders = (PurePosixPath("."), PurePosixPath(model).parent)
    found = []
    for name in names:
        path, method = PurePosixPath(name), method_in(name)
        if method is None or _UNUSED.match(path.name.lower()):
            continue
        if path.parent in folders and is_gguf(name) and part_of(path.name)[1] == 1:
            rank = PREFERRED.index(method), -likeness(path, words), abs(bits_of(path.name) - bits)
            found.append((rank, name))
    return min(found)[1] if found and method_in(model) is None else None


def is_wanted(head: Path) -> bool:
    """True if a model in its folder, or below, has this head."""
    models = (path for path in head.parent.rglob("*.gguf") if path != head)
    return any(brought_by(path).file == head for path in models)


@lru_cache(4096)
def _looked_at(path: Path, stamp: str) -> tuple[HeadMethod | None, int]:
    """The method of a head, and the number of a model's own layers that draft for it."""
    try:
        with path.open("rb") as file:
            start = file.read(_PEEKED)
    except (OSError, ValueError):
        return None, 0
    said = next((method for name, method in _ARCHITECTURES.items() if _says(name) in start), None)
    if not stamp or (said is None and _OWN_LAYERS not in start):
        return None, 0
    try:
        header = header_at(path, stamp)
    except MendableError:  # it is named where it is to be paired
        return said, 0
    return method_of(header), own_layers(header)


def _says(architecture: bytes) -> bytes:
    """The bytes with which a header names it."""
    return b"general.architecture" + (8).to_bytes(4, "little") + len(architecture).to_bytes(8, "little") + architecture
