"""Applicants for drafting: our own drafters, smaller models of the library, and one that could be downloaded."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from engine.speculation.drafter.choice import (
    STARTER_TORCH,
    built_in_source,
    downloaded_file,
    file_drafter,
    starter_drafter,
    starter_in_torch,
)
from engine.speculation.drafter.gguf import MAX_HELD
from engine.speculation.drafter.heads_folder import find_heads
from engine.speculation.drafter.siblings import LARGER, is_same_size, sibling_of
from engine.speculation.model.files.estimate import estimate, free_memory
from engine.speculation.model.files.facts import TargetFacts, facts_of
from engine.speculation.model.files.sources import starter_in_use
from engine.speculation.model.interface import TargetDescription
from engine.speculation.proposers.selection import Applicant, Pair, Selection
from engine.values.config import TargetSettings
from engine.values.drafters import DrafterChoice, DrafterOffer, DrafterRunner, DrafterSource
from engine.values.errors import MendableError, TargetMissing
from engine.values.targets import TargetRecord

_MOST_FROM_LIBRARY = 4
_TORCH_BYTES = 250_000_000  # its libraries
_WORK_BYTES = 100_000_000  # of a pass, and the context of a small model
_MEMORY_SHARE = 0.5  # of what is free


class Applicants:
    """The applicants for one target."""

    def __init__(
        self, target: TargetDescription, data_dir: Path, library: Callable[[], Sequence[TargetRecord]]
    ) -> None:
        self._target = target
        self._data_dir = data_dir
        self._library = library
        self._facts: TargetFacts | None = None  # of the target

    def find(
        self, fixed: DrafterSource | None = None, known: Collection[str] = (), has_states: bool = False
    ) -> list[Applicant]:
        """`has_states`: whether the target provides its states, from which heads guess. `fixed`: the user's choice,
        which is among them whatever it is; `known`: keys of drafters that were used for this target. Reads the headers
        of files that are not known yet."""
        path, records, starter = self._target.path, self._library(), _starter()
        self._facts = _facts(path, next((each.facts for each in records if each.path == path), ""))
        # As installed, and the quantization that is used in its place.
        starters = frozenset() if starter is None else frozenset({starter.path, starter_in_use(self._data_dir).path})
        found = [*self._ours(starter, path in starters, known), *self._from_library(records, starters)]
        heads = find_heads(self._data_dir, path) if has_states else []
        found += [Applicant(each, Pair.HEADS, _TORCH_BYTES + each.size_bytes) for each in heads]
        if fixed is not None and all(each.source.key != fixed.key for each in found):
            pair = Pair.HEADS if fixed.runner is DrafterRunner.HEADS else Pair.UNKNOWN
            found.append(Applicant(fixed, pair, fixed.size_bytes + _WORK_BYTES))
        return found

    def offer(self, selection: Selection, choice: DrafterChoice) -> DrafterOffer | None:
        """A model to download, if that would be clearly better and there is room for it."""
        details = None if self._facts is None else self._facts.details
        sibling = None if details is None else sibling_of(details, self._target.size_bytes)
        if sibling is None or downloaded_file(sibling.hub_name, self._data_dir) is not None:
            return None
        source = DrafterSource(sibling.hub_name, sibling.name, DrafterRunner.LLAMA_CPP, Path(), sibling.size_bytes)
        applicant = Applicant(source, Pair.FAMILY, sibling.size_bytes + _WORK_BYTES)
        prospect = selection.prospect(applicant)
        if applicant.memory_bytes > _MEMORY_SHARE * free_memory() or not selection.is_clearly_better(prospect, choice):
            return None
        now = selection.speedup_of(choice)
        return DrafterOffer(sibling.hub_name, sibling.name, sibling.size_bytes, prospect.speedup, now)

    def _ours(self, starter: DrafterSource | None, is_starter: bool, known: Collection[str]) -> Iterator[Applicant]:
        """`is_starter`: whether that is the target."""
        if starter is None:
            yield Applicant(built_in_source(), Pair.DISTILLED, _TORCH_BYTES)
            return
        yield Applicant(built_in_source(), Pair.TAUGHT if is_starter else Pair.DISTILLED, _TORCH_BYTES)
        if not is_starter:
            yield Applicant(starter, Pair.SMALL, starter.size_bytes + _WORK_BYTES)
        if not is_starter and STARTER_TORCH in known:  # else it guesses as the starter does, and takes more memory
            yield Applicant(starter_in_torch(starter), Pair.SMALL, starter.size_bytes + _WORK_BYTES + _TORCH_BYTES)

    def _from_library(self, records: Sequence[TargetRecord], starters: Collection[Path]) -> list[Applicant]:
        """Smaller models: those of the target's own family first, then the smallest."""
        found: list[tuple[bool, int, TargetRecord]] = []
        for record in records:
            if not 0 < record.size_bytes <= self._target.size_bytes / LARGER or record.path in starters:
                continue
            facts = _facts(record.path, record.facts)
            if facts is None or facts.problem or facts.details is None or not facts.details.can_speculate:
                continue
            memory = estimate(facts, TargetSettings(context_size=MAX_HELD)).total
            if memory <= _MEMORY_SHARE * free_memory():
                found.append((_is_family(facts, self._facts), memory, record))
        found.sort(key=lambda each: (not each[0], each[2].size_bytes))
        return [
            Applicant(file_drafter(record.path, (record,)), Pair.FAMILY if is_family else Pair.SMALL, memory)
            for is_family, memory, record in found[:_MOST_FROM_LIBRARY]
        ]


def _is_family(one: TargetFacts, other: TargetFacts | None) -> bool:
    """True if two models seem to have one vocabulary; loading shows whether they do."""
    a, b = one.details, None if other is None else other.details
    if a is None or b is None or a.architecture != b.architecture or a.vocabulary_kind != b.vocabulary_kind:
        return False
    return is_same_size(a.vocabulary_size, b.vocabulary_size)


def _facts(path: Path, stored: str) -> TargetFacts | None:
    try:
        return facts_of(path, stored)
    except MendableError:
        return None


def _starter() -> DrafterSource | None:
    """None in an installation without it."""
    try:
        return starter_drafter()
    except TargetMissing:
        return None
