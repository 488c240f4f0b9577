"""Finds the drafter for one target, loads it, and reconsiders after every reply."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from engine.speculation.drafter.choice import (
    STARTER_TORCH,
    built_in_source,
    downloaded_file,
    drafter_source,
    file_drafter,
    starter_drafter,
    starter_in_torch,
)
from engine.speculation.drafter.gguf import MAX_HELD
from engine.speculation.drafter.heads_folder import find_heads
from engine.speculation.drafter.siblings import LARGER, is_same_size, sibling_of
from engine.speculation.drafter.torch_library import import_apart, preload_torch
from engine.speculation.model.files.estimate import estimate, free_memory
from engine.speculation.model.files.facts import TargetFacts, facts_of
from engine.speculation.model.files.model_files import model_name
from engine.speculation.model.files.pairing import BroughtHead, brought_by
from engine.speculation.model.files.sources import file_source, starter_in_use
from engine.speculation.model.interface import Target, TargetDescription, TargetFeature, Vocabulary, leading
from engine.speculation.model.llama.heads_trial import try_heads
from engine.speculation.numerics.draft_length import PassCosts
from engine.speculation.proposers.brought import BroughtProposer
from engine.speculation.proposers.drafting import Drafting, NgramMemory
from engine.speculation.proposers.gguf_drafting import open_gguf
from engine.speculation.proposers.interface import SuppliedProposer
from engine.speculation.proposers.selection import Applicant, GivenStep, Pair, Selection, seen_again
from engine.values.config import AUTOMATIC, EngineConfig, TargetSettings
from engine.values.drafters import DrafterChoice, DrafterOffer, DrafterRecord, DrafterRunner, DrafterSource
from engine.values.errors import Cancelled, DrafterUnusable, MendableError, StoreUnusable, TargetMissing, TargetUnusable
from engine.values.sentences import Told, say, together
from engine.values.spare_time import SpareTime
from engine.values.targets import HeadMethod, TargetRecord

_logger = logging.getLogger("slipstream.drafters")

_MOST_FROM_LIBRARY = 4
_TORCH_BYTES = 250_000_000  # its libraries
_WORK_BYTES = 100_000_000  # of a pass, and the context of a small model
_MEMORY_SHARE = 0.5  # of what is free
OWN_LAYERS = "own-layers"  # the key of those that a target's own file brings; figures are stored by target


class DrafterMemory(Protocol):
    def drafter_records(self, target_identity: str) -> Mapping[str, DrafterRecord]: ...
    def save_drafter_record(self, target_identity: str, record: DrafterRecord) -> None: ...


class _Forgetful:
    def drafter_records(self, target_identity: str) -> Mapping[str, DrafterRecord]:  # noqa: ARG002
        return {}

    def save_drafter_record(self, target_identity: str, record: DrafterRecord) -> None: ...


@dataclass(frozen=True, slots=True)
class Known:
    """What a store knows; by default nothing."""

    ngrams: NgramMemory | None = None
    drafters: DrafterMemory = _Forgetful()
    library: Callable[[], Sequence[TargetRecord]] = tuple


class DrafterSupply:
    """The supply for one target. `choice` says who drafts; `load` may be called on another thread than the rest."""

    def __init__(
        self,
        config: EngineConfig,
        target: Target,
        identity: str = "",
        known: Known = Known(),
        on_drafting: Callable[[Drafting | None], None] = lambda _drafting: None,
        on_choice: Callable[[DrafterChoice], None] = lambda _choice: None,
    ) -> None:
        """`identity`: of the target, by which figures are stored; empty: they are not. `on_drafting` is given a drafter
        before it drafts, and None when it stops; `on_choice` every new choice."""
        self._config = config
        self._target = target
        self._identity = identity
        self._known = known
        self._on_drafting = on_drafting
        self._on_choice = on_choice
        self._applicants = Applicants(target.description, config.data_dir, known.library)
        self._selection: Selection | None = None
        self._fixed: DrafterSource | None = None  # that the user chose
        self._drafting: Drafting | None = None  # in use
        self._unused: Told = ""  # why the drafter that was made for the target does not draft
        self.choice = DrafterChoice(None, "")

    def choose(self, passes: PassCosts, given_step: GivenStep = lambda _source: None) -> DrafterChoice:
        """Decides who drafts at these costs of passes; `given_step` as for `Selection`. Raises DrafterUnusable where
        the user chose one that cannot be found."""
        wanted = self._config.speculation.drafter
        fixed = None
        if wanted != AUTOMATIC:
            fixed = drafter_source(wanted, self._config.data_dir, self._known.library)
        self._fixed = fixed
        records = self._known.drafters.drafter_records(self._identity) if self._identity else {}
        applicants = self._applicants.find(fixed, records, self._target.features)
        self._selection = Selection(passes, self._target.description.size_bytes, applicants, records, given_step)
        found = self._find(self._selection)
        self._decide(found)
        return found

    def reject(self, reason: str) -> DrafterChoice:
        """Decides that nothing drafts, since the user chose a drafter that cannot be found."""
        self._decide(DrafterChoice(None, reason, is_fixed=True))
        return self.choice

    def load(self, is_cancelled: Callable[[], bool], spare: SpareTime | None = None) -> SuppliedProposer:
        """The proposer of the chosen drafter; what takes long is done in spare time. If the user did not choose it and
        it cannot be used, the next one is tried. Raises what `open_drafting` raises."""
        spare = spare or SpareTime(lull_s=0.0)
        while True:
            source, selection = self.choice.chosen, self._selection
            assert source is not None
            assert selection is not None
            try:
                drafting = self.open(source, is_cancelled, spare.wait)
                break
            except DrafterUnusable as error:
                if self.choice.is_fixed:
                    raise
                _logger.warning("%s", error)
                if source.method is not None:  # who has such a drafter will look for it
                    self._unused = error.sentence
                selection.rule_out(source.key)
                self._decide(self._find(selection))
                if self.choice.chosen is None:
                    raise
        # During a reply, a measurement would show how busy the machine is. Heads that a target brings may look at its
        # memory, so they are measured on its thread, after the first reply.
        if spare.is_taken or source.method is not None:
            drafting.proposer.step_s = selection.step_of(source)
        else:  # before it is given to what teaches it
            drafting.proposer.measure_cost()
        if not is_cancelled():  # no other target or drafter came meanwhile
            self._drafting = drafting
            self._on_drafting(drafting)
        return drafting.proposer

    def open(
        self,
        source: DrafterSource,
        is_cancelled: Callable[[], bool] = lambda: False,
        pause: Callable[[], None] = lambda: None,
    ) -> Drafting:
        if source.runner is DrafterRunner.HEADS:
            return open_heads(source, self._target, is_cancelled, pause)
        if source.method is not None:
            tried = self._config.data_dir / "tried-heads"
            return open_brought(source, source.method, self._target, tried, is_cancelled, pause)
        return open_drafting(self._config, source, self._target.vocabulary, self._known.ngrams, is_cancelled, pause)

    def give_up(self) -> None:
        """Gives up the drafter in use, if there is one, since it failed in a reply: it is not chosen again."""
        drafting, self._drafting = self._drafting, None
        if drafting is not None and self._selection is not None:
            self._selection.rule_out(drafting.key)
            self._on_drafting(None)

    def reconsider(self) -> bool:
        """Reconsiders after a reply: stores what was seen of the drafter, and returns whether another one is to be
        loaded instead, or none. If figures cannot be stored, the reply is finished all the same."""
        drafting, selection = self._drafting, self._selection
        if drafting is None or selection is None:
            return False
        before = selection.record(drafting.key)
        record = seen_again(before, *drafting.proposer.take_guesses())
        selection.note(record)
        if self._identity and record != before:  # a step may have been measured though nothing was guessed
            try:
                self._known.drafters.save_drafter_record(self._identity, record)
            except StoreUnusable as error:
                _logger.warning("figures of a drafter are not kept: %s", error)
        found = self._find(selection, drafting.key)
        is_another = found.chosen is None or found.chosen.key != drafting.key
        if is_another:
            self._drafting = None
            self._on_drafting(None)
        self._decide(found)
        return is_another

    def _find(self, selection: Selection, current: str = "") -> DrafterChoice:
        """The best choice, or the user's own; `current` as for `Selection.choose`."""
        found = selection.choose(current)
        found = replace(found, why=together(found.why, self._unused)) if self._unused else found
        if self._fixed is not None:
            return replace(
                found, chosen=self._fixed, why=say("You chose {drafter}.", drafter=self._fixed.label), is_fixed=True
            )
        return replace(found, offer=self._applicants.offer(selection, found))

    def _decide(self, choice: DrafterChoice) -> None:
        self.choice = choice
        self._on_choice(choice)


def open_heads(
    source: DrafterSource,
    target: Target,
    is_cancelled: Callable[[], bool] = lambda: False,
    pause: Callable[[], None] = lambda: None,
) -> Drafting:
    """Loads heads that were made for this target. Raises DrafterUnusable, what `pause` raises, and Cancelled as
    `open_drafting`."""
    if is_cancelled():
        raise Cancelled("Loading the heads was cancelled.")
    pause()
    preload_torch()
    pause()
    from engine.speculation.drafter.heads import load_heads
    from engine.speculation.proposers.heads import HeadsProposer

    try:
        heads = load_heads(source.path, target.description.path)
    except (TargetMissing, TargetUnusable) as error:  # its file is gone, or is another one by now
        raise DrafterUnusable(str(error)) from error
    return Drafting(source, source.key, target.vocabulary, HeadsProposer(heads, target.vocabulary, source.label), None)


def open_brought(
    source: DrafterSource,
    method: HeadMethod,
    target: Target,
    tried: Path,
    is_cancelled: Callable[[], bool] = lambda: False,
    pause: Callable[[], None] = lambda: None,
) -> Drafting:
    """Loads heads that this target, or a file made for it, brings; they are tried once before: see `try_heads`. Raises
    DrafterUnusable, what `pause` raises, and Cancelled."""
    if is_cancelled():
        raise Cancelled("Loading the heads was cancelled.")
    pause()
    leader, path = leading(target), None if source.path == target.description.path else source.path
    if not source.trusted:
        try_heads(method, path, target.description.path, tried, is_cancelled)
    pause()
    heads = leader.open_heads(method, path)
    return Drafting(source, source.key, target.vocabulary, BroughtProposer(heads, leader, source.label), None)


def open_drafting(
    config: EngineConfig,
    source: DrafterSource,
    target: Vocabulary,
    memory: NgramMemory | None = None,
    is_cancelled: Callable[[], bool] = lambda: False,
    pause: Callable[[], None] = lambda: None,
) -> Drafting:
    """Loads a drafter for a target. torch is imported only for those that it runs. Takes seconds the first time, when
    the map between both vocabularies is built. Before every step that takes longer than tenths of a second, `pause` is
    called, which returns when it may begin.

    Raises DrafterUnusable, StoreUnusable, what `pause` raises, and Cancelled when `is_cancelled` says so before it
    begins.
    """
    if is_cancelled():
        raise Cancelled("Loading the drafter was cancelled.")
    if source.runner is DrafterRunner.LLAMA_CPP:
        return open_gguf(config.speculation, source, config.data_dir, target, memory, pause)
    maps = config.data_dir / "vocabulary-maps"
    pause()
    preload_torch()
    pause()
    import_apart(
        "engine.speculation.drafter.from_gguf",
        "engine.speculation.drafter.trial",
        "engine.speculation.proposers.teachable",
    )
    from engine.speculation.drafter.from_gguf import torch_folder
    from engine.speculation.drafter.trial import try_out
    from engine.speculation.proposers.teachable import open_teachable

    pause()
    if source.path.is_file():
        source = replace(source, path=torch_folder(source.path, config.data_dir, is_cancelled))
    elif not source.trusted:
        try_out(source.path, config.speculation.device, config.data_dir / "tried-drafters", is_cancelled)
    return open_teachable(config.speculation, source, maps, target, memory, pause)


class Applicants:
    def __init__(
        self, target: TargetDescription, data_dir: Path, library: Callable[[], Sequence[TargetRecord]]
    ) -> None:
        self._target = target
        self._data_dir = data_dir
        self._library = library
        self._facts: TargetFacts | None = None  # of the target

    def find(
        self,
        fixed: DrafterSource | None = None,
        known: Collection[str] = (),
        features: Collection[TargetFeature] = (),
    ) -> list[Applicant]:
        """`features`: of the target, from which heads guess. `fixed`: the user's choice, which is among them whatever
        it is; `known`: keys of drafters that were used for this target. Reads the headers of files that are not known
        yet."""
        path, records, starter = self._target.path, self._library(), _starter()
        self._facts = _facts(path, next((each.facts for each in records if each.path == path), ""))
        # As installed, and the quantization that is used in its place.
        starters = frozenset() if starter is None else frozenset({starter.path, starter_in_use(self._data_dir).path})
        found = [*self._ours(starter, path in starters, known), *self._from_library(records, starters)]
        heads = find_heads(self._data_dir, path) if TargetFeature.STATES in features else []
        found += [Applicant(each, Pair.HEADS, _TORCH_BYTES + each.size_bytes) for each in heads]
        found += self._brought(records) if TargetFeature.LEADS in features else ()
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

    def _brought(self, records: Sequence[TargetRecord]) -> Iterator[Applicant]:
        """The drafter that was made for this target, if it brings one along."""
        target = self._target
        head = brought_by(target.path, (record.path for record in records)).head
        if head is None:
            return
        if head.path is not None:
            known = file_source(head.path)
            key, path, size = known.identity or f"file:{head.path}", head.path, known.size_bytes
        else:
            own = 0 if self._facts is None else self._facts.own_layers
            key, path, size = OWN_LAYERS, target.path, target.size_bytes * own // max(1, target.num_layers)
        source = DrafterSource(key, _named(head), DrafterRunner.BROUGHT, path, size, method=head.method)
        yield Applicant(source, Pair.BROUGHT, (size if head.path else 0) + _WORK_BYTES)

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


def _named(head: BroughtHead) -> str:
    """What lists and sentences call a drafter made for one model."""
    return head.method.value if head.path is None else f"{head.method.value} ({model_name(head.path)})"


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
