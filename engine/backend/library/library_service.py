"""The library of targets: its files, what they are, and what the user set for them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from engine.backend.library.outlook import BUILT_IN_STEP_S, MeasuredPasses, expect, starter_step
from engine.backend.library.saved_downloads import SavedDownloads
from engine.backend.library.scanning import find_models
from engine.backend.library.suggestions import expected_speed, quantization_speeds, read_suggestions
from engine.backend.storage import Repository
from engine.speculation.model.files.estimate import estimate
from engine.speculation.model.files.facts import TargetFacts, encode, facts_of
from engine.speculation.model.files.model_files import is_gguf, model_name, part_paths
from engine.speculation.model.files.pairing import Brought, brought_by, head_method, is_wanted
from engine.speculation.model.files.projectors import is_needed, projector_of
from engine.speculation.model.files.sources import file_source, starter_in_use, starter_source
from engine.speculation.model.files.templates import preview, template_facts
from engine.speculation.proposers.selection import Pair
from engine.values.config import TargetOptions, TargetSettings
from engine.values.conversations import ChatTurn
from engine.values.errors import MendableError, NotPossible, StoreUnusable, TargetMissing
from engine.values.events import Listener, TargetInfo, TargetsListed
from engine.values.outlook import ExpectedSpeeds, MachineFigures
from engine.values.quantizations import QuantizationSpeed, TuneReport
from engine.values.requests import NEVER
from engine.values.stop_signal import StopSignal
from engine.values.targets import (
    Added,
    GpuSupport,
    HubFile,
    LibraryTarget,
    MemoryEstimate,
    Purpose,
    Suggestion,
    TargetRecord,
    TargetSource,
    TemplateFacts,
)

_logger = logging.getLogger("slipstream.library")
_FOR_EVERYTHING = (Purpose.CHAT, Purpose.LANGUAGES, Purpose.SMALL)


@dataclass(frozen=True, slots=True)
class _Starters:
    installed: TargetSource
    used: TargetSource  # in its place, or the same

    @property
    def unused(self) -> Path | None:
        """The installed file, where another quantization is used in its place."""
        return None if self.used.path == self.installed.path else self.installed.path


@dataclass(frozen=True)
class LibraryService:
    """Lists, adds, removes and estimates targets; paths are absolute. Any thread may call any method: all state is in
    the store and on the disk. Changes end with `TargetsListed`."""

    _repository: Repository
    _downloads: SavedDownloads
    _loaded: Callable[[], TargetInfo | None]  # the target in use
    _emit: Listener
    _gpu_support: Callable[[], GpuSupport] = GpuSupport  # called for every estimate, as free memory changes
    _room_for_drafter: Callable[[Path], int] = lambda _target: 0  # bytes of cards that are left to what drafts for it
    _build: Callable[[], str] = str  # of llama.cpp, as `Runtime.key`; empty: nothing was measured with it

    def list(self) -> tuple[LibraryTarget, ...]:
        """The starter first, then last used first. What is not known yet is read and stored."""
        starters = self._starters()
        if starters is not None and self._repository.target_at(starters.used.path) is None:
            self._repository.add_target(starters.used)
        reports = self._repository.tune_reports(self._build())
        records = self._repository.list_targets()
        if starters is not None:
            records = tuple(record for record in records if record.path != starters.unused)
        heads = tuple(record.path for record in records if head_method(record.path) is not None)
        listed = [self._listed(record, starters, reports, heads) for record in records]
        return tuple(sorted(listed, key=lambda target: not target.is_starter))

    def add(self, paths: tuple[Path, ...], stop: StopSignal = NEVER) -> Added:
        """Adds model files, and those in folders, without copying them. Raises NotPossible, with the first reason, if
        all files were left out."""
        found = find_models(paths, stop.is_set)
        left_out, new, num_sound = list(found.left_out), set[Path](), 0
        for path in found.paths:
            if stop.is_set():
                break
            try:
                facts, record = self._look_at(path)
            except TargetMissing as error:
                left_out.append(str(error))
                continue
            if facts.problem and facts.head is None:  # a drafter drafts for its model from the library, too
                left_out.append(facts.problem)
                continue
            num_sound += 1
            if record is None:
                self._repository.add_target(file_source(path, facts.identity), encode(facts))
                new.add(path)
        targets = self.report()
        if not num_sound and left_out:
            if len(left_out) == 1:
                raise NotPossible(left_out[0])
            raise NotPossible(
                "{reason} ({number:,} more file(s) (was|were) left out.)", reason=left_out[0], number=len(left_out) - 1
            )
        return Added(tuple(each for each in targets if each.path in new), tuple(left_out))

    def take_in(self, path: Path) -> None:
        """Adds a downloaded file, even one that cannot be loaded: the list then says why."""
        self._repository.add_target(file_source(path))
        self.report()

    def problem_of(self, path: Path) -> str:
        """Why a file cannot be loaded as a target, in a sentence; empty if it can. Raises TargetMissing."""
        return self._look_at(path)[0].problem

    def remove(self, path: Path, delete_file: bool = False) -> None:
        """Takes a target out of the library. Raises NotPossible."""
        starters = self._starters()
        if starters is not None and path == starters.used.path:
            raise NotPossible("The starter model belongs to Slipstream and stays in the list.")
        if delete_file:
            projector, head = projector_of(path), brought_by(path).file
            self._delete(path)
            if projector is not None and self._downloads.holds(projector) and not is_needed(projector):
                projector.unlink(missing_ok=True)
            if head is not None and self._downloads.holds(head) and not is_wanted(head):
                head.unlink(missing_ok=True)
            self._downloads.remove_empty(path.parent)
        self._repository.remove_target(path)
        self.report()

    def change_options(self, path: Path, options: TargetOptions) -> None:
        """Settings take effect when the target is loaded next, sampling with the next reply, and the system prompt in
        new conversations. Raises TargetMissing."""
        if self._repository.target_at(path) is None:
            starters = self._starters()
            if starters is None or path != starters.used.path:
                raise TargetMissing("{name} is not in the library; add it first.", name=path.name)
            self._repository.add_target(starters.used)
        self._repository.change_target_options(path, options)
        self.report()

    def templates(self, path: Path) -> TemplateFacts:
        """Raises TargetMissing or TargetUnusable."""
        return template_facts(path)

    def preview_template(self, source: str, facts: TemplateFacts, turns: tuple[ChatTurn, ...]) -> str:
        """Raises NotPossible."""
        return preview(source, facts, turns)

    def estimate(self, path: Path, settings: TargetSettings) -> MemoryEstimate:
        """The user's own settings for the target fill the gaps in `settings`. Raises TargetMissing."""
        facts, record = self._look_at(path)
        settings = settings.filled_up(record.options.settings) if record else settings
        support = self._gpu_support()
        reserved = self._room_for_drafter(path)
        return estimate(facts, settings, support, self._loaded_estimate(support), reserved, self._head_of(path))

    def quantization_speeds(self, files: Sequence[HubFile]) -> tuple[QuantizationSpeed, ...]:
        """Speeds of the quantizations of one model on the hub, fastest here first; empty where nothing like it was
        measured."""
        return quantization_speeds(self._repository.tune_reports(self._build()).values(), files)

    def suggestions(self) -> tuple[Suggestion, ...]:
        """Suggested models, the more capable first, with the speeds expected here from what was measured."""
        measured = [(each.read_bytes, each.seconds[1]) for each in self._measured()]
        return tuple(
            replace(each, tokens_per_s=expected_speed(each.read_share * each.file.size_bytes, measured))
            for each in read_suggestions()
        )

    def expect_speeds(self, machine: MachineFigures | None = None) -> ExpectedSpeeds:
        """How fast the target in use and suggested models will be, and what speed-up will bring, from what was
        measured before and just now (`machine`)."""
        measured, loaded, starters = self._measured(), self._loaded(), self._starters()
        if machine is not None:
            now = MeasuredPasses(machine.size_bytes, machine.passes)
            measured = (now, *(each for each in measured if not each.is_like(now)))
        starter_bytes = 0 if starters is None else starters.used.size_bytes
        step_s = starter_step(starter_bytes, measured) if starter_bytes else 0.0
        found = []
        if loaded is not None and loaded.server is None:
            is_starter = starters is not None and Path(loaded.path) == starters.used.path
            own = (BUILT_IN_STEP_S, Pair.TAUGHT) if is_starter else (step_s, Pair.SMALL)
            found.append(expect(loaded.name, loaded.size_bytes, measured, *own))
        for each in sorted(read_suggestions(), key=lambda suggestion: suggestion.file.size_bytes):
            if each.purpose in _FOR_EVERYTHING:
                size = each.read_share * each.file.size_bytes
                found.append(expect(each.name, size, measured, step_s, Pair.SMALL, each))
        return ExpectedSpeeds(tuple(each for each in found if each is not None), step_s)

    def _head_of(self, path: Path) -> TargetFacts | None:
        """The facts of the drafter that a target brings along in a file of its own; None if there is none."""
        head = brought_by(path, [record.path for record in self._repository.list_targets()]).file
        try:
            return None if head is None else self._look_at(head)[0]
        except TargetMissing:
            return None

    def _measured(self) -> tuple[MeasuredPasses, ...]:
        """Passes of targets and of their quantizations, on this machine with this build."""
        build = self._build()
        seconds = self._repository.measured_passes(build)
        shares = {each.file.size_bytes: each.read_share for each in read_suggestions()}  # of mixtures of experts
        measured = [
            MeasuredPasses(each.size_bytes * shares.get(each.size_bytes, 1.0), seconds[each.identity])
            for each in self._repository.list_targets()
            if each.identity in seconds
        ]
        for report in self._repository.tune_reports(build).values():
            quantizations = report.original, *report.quantizations
            measured += [MeasuredPasses(each.size_bytes, dict(each.passes)) for each in quantizations]
        return tuple(measured)

    def report(self) -> tuple[LibraryTarget, ...]:
        """Lists the library for all who listen."""
        targets = self.list()
        self._emit(TargetsListed(targets))
        return targets

    def _delete(self, path: Path) -> None:
        loaded = self._loaded()
        if loaded is not None and loaded.server is None and _are_same(Path(loaded.path), path):
            raise NotPossible(
                "{name} is loaded; choose another model first, then delete its file.", name=model_name(path)
            )
        if self._repository.target_at(path) is None:
            raise NotPossible("{name} is not in the library, so its file is left alone.", name=path.name)
        if not is_gguf(path.name):
            raise NotPossible("{name} does not end in .gguf, so it is left alone; delete it yourself.", name=path.name)
        try:
            for part in part_paths(path):
                part.unlink(missing_ok=True)
        except OSError as error:
            raise NotPossible(
                "{path} cannot be deleted ({reason}); fix that, or only remove it from the list.",
                path=path,
                reason=error.strerror,
            ) from error

    def _starters(self) -> _Starters | None:
        """None for an installation without a starter."""
        try:
            return _Starters(starter_source(), starter_in_use(self._repository.data_dir))
        except TargetMissing:
            return None

    def _listed(
        self,
        record: TargetRecord,
        starters: _Starters | None,
        reports: Mapping[str, TuneReport],
        heads: Sequence[Path],
    ) -> LibraryTarget:
        is_starter = starters is not None and record.path == starters.used.path
        head = None
        try:
            facts, record = self._look_again(record)
            size_bytes, details, problem = facts.stamp.size_bytes, facts.details, facts.problem
            head = facts.head
        except TargetMissing as error:
            size_bytes, details, problem = record.size_bytes, None, str(error)
        brought = Brought() if problem else brought_by(record.path, heads)
        return LibraryTarget(
            name=record.name,
            path=record.path,
            size_bytes=size_bytes,
            last_used_at=record.last_used_at,
            is_starter=is_starter,
            details=details,
            problem=problem,
            options=record.options,
            identity=record.identity,
            tuned=reports.get(starters.installed.identity if is_starter and starters is not None else record.identity),
            starter_quantization=details.quantization
            if is_starter and details and starters and starters.unused
            else "",
            sees_pictures=not problem and projector_of(record.path) is not None,
            brings=None if brought.head is None else brought.head.method,
            unfit_drafter=brought.problem,
            head=head,
        )

    def _look_at(self, path: Path) -> tuple[TargetFacts, TargetRecord | None]:
        """The facts of a file, and its record if it is in the library. Raises TargetMissing."""
        record = self._repository.target_at(path)
        return (facts_of(path), None) if record is None else self._look_again(record)

    def _look_again(self, record: TargetRecord) -> tuple[TargetFacts, TargetRecord]:
        """The facts of a file of the library, and its current record: a file that has changed is another target. Raises
        TargetMissing."""
        facts = facts_of(record.path, record.facts)
        new = encode(facts)
        if new != record.facts or facts.identity not in ("", record.identity):
            try:
                record = self._repository.add_target(file_source(record.path, facts.identity), new)
            except StoreUnusable as error:  # it is read again next time
                _logger.warning("the facts of a model file were not stored: %s", error)
        return facts, record

    def _loaded_estimate(self, support: GpuSupport) -> MemoryEstimate | None:
        loaded = self._loaded()
        if loaded is None or loaded.server is not None:
            return None
        settings = TargetSettings(max(32, loaded.context_size), gpu_layers=loaded.num_gpu_layers)
        try:
            return estimate(self._look_at(Path(loaded.path))[0], settings, support)
        except MendableError:
            return None


def _are_same(path: Path, other: Path) -> bool:
    """Even where one is a link to the other."""
    try:
        return path.samefile(other)
    except OSError:
        return path == other
