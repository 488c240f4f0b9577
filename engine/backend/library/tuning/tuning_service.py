"""Quantizations of a target's weights: what each costs and is worth here, and making one."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from engine.backend.library.library_service import LibraryService
from engine.backend.library.tuning.comparing import CONTEXT_SIZE, LoadSource, QuantizationBench
from engine.backend.library.tuning.measuring import PROMPTS, QUICK, USUAL, Extent
from engine.backend.quiet import Quiet
from engine.backend.storage import Repository
from engine.speculation.model.files.facts import facts_of
from engine.speculation.model.files.model_files import models_folder
from engine.speculation.model.files.sources import (
    StarterQuantization,
    file_source,
    is_known,
    starter_in_use,
    starter_path,
    starter_source,
)
from engine.speculation.model.interface import Interrupted
from engine.speculation.model.llama.cpu import usable_cores
from engine.speculation.model.llama.quantizations import (
    QUANTIZATIONS,
    USUAL_QUANTIZATIONS,
    check_free,
    check_quantization,
    free_bytes,
    make_quantization,
    quantization_path,
    quantization_sizes,
    settle,
)
from engine.speculation.model.llama.runtime import read_runtime
from engine.speculation.model.loading import check_memory
from engine.values.config import TargetSettings
from engine.values.errors import Cancelled, NotPossible, TargetMissing, TargetUnusable
from engine.values.quantizations import QuantizationFigures, QuantizationOffer, TuneProgress, TuneReport, TuneStep
from engine.values.requests import NEVER, ignore
from engine.values.sentences import say
from engine.values.stop_signal import StopSignal
from engine.values.targets import TargetSource

_STARTER_QUANTIZATIONS = ("Q8_0",)  # that it may be used in: all smaller ones are further away than is allowed
_WORKSHOP = ".forms-"
_Progress = Callable[[TuneProgress], object]
_LONGEST_S = 24 * 3600.0  # that one quantization takes to be made and measured


@dataclass(frozen=True)
class TuningService:
    """Measures and makes quantizations, which takes seconds or minutes and gives way to replies. Paths are absolute.
    What is stopped leaves no files."""

    _repository: Repository
    _library: Callable[[], LibraryService]
    _load_source: LoadSource
    _data_dir: Path
    _quiet: Quiet = Quiet()
    _rest: Callable[[], AbstractContextManager[None]] = nullcontext  # nothing learns inside

    def offers(self, path: Path, stop: StopSignal = NEVER) -> tuple[QuantizationOffer, ...]:
        """All quantizations that could be made, largest first. Raises TargetMissing, NotPossible and Cancelled."""
        path = self._original(path)
        quantizations = tuple(quantization for quantization in QUANTIZATIONS if quantization != _quantization(path))
        sizes = quantization_sizes(path, quantizations, stop)
        folder = self._folder_beside(path)
        free = free_bytes(folder)
        offers = []
        for quantization in quantizations:
            size, place = sizes[quantization], quantization_path(path, quantization, folder)
            problem = say("llama.cpp cannot make it: {complaint}.", complaint=size.complaint) if size.complaint else ""
            if place.exists():
                problem = say("{name} is there already.", name=place.name)
            elif size.num_bytes > free:
                problem = say("There is no room for it in {folder}.", folder=folder)
            offers.append(
                QuantizationOffer(quantization, size.num_bytes, place, problem, quantization in USUAL_QUANTIZATIONS)
            )
        return tuple(sorted(offers, key=lambda offer: -offer.size_bytes))

    def make(self, path: Path, quantization: str, stop: StopSignal = NEVER, progress: _Progress = ignore) -> Path:
        """Makes a quantization that stays, and adds its file to the library. Raises TargetMissing, NotPossible and
        Cancelled."""
        path = self._original(path)
        self._check_quantizations(path, (quantization,))
        made = quantization_path(path, quantization, self._folder_beside(path))
        on_step = _in_percents(progress)
        make_quantization(path, quantization, made, stop, partial(on_step, quantization, TuneStep.MAKING))
        self._library().take_in(made)
        return made

    def tune(
        self,
        path: Path,
        quantizations: Sequence[str] | None = None,
        keeps: bool = False,
        own_prompts: bool = False,
        stop: StopSignal = NEVER,
        progress: _Progress = ignore,
    ) -> tuple[TuneReport, tuple[Path, ...]]:
        """Measures what a target's passes cost on this machine, and compares it with quantizations (None: the usual
        ones) that are made for that, and kept in the library if it `keeps` them. Replies compared are those to the
        user's `own_prompts`, as far as there are enough. Returns the report, which is stored, and the files that were
        kept. Raises what loading raises, NotPossible and Cancelled."""
        path = self._original(path)
        folder = self._folder_beside(path)
        wanted = self._usual_quantizations(path) if quantizations is None else tuple(quantizations)
        if keeps:
            check_free([quantization_path(path, quantization, folder) for quantization in wanted])
        with _workshop(folder) as workshop:
            extent = self._with_prompts(USUAL, own_prompts)
            report, made = self._measure(path, wanted, workshop, stop, progress, extent, lambda _figures: keeps)
            kept = tuple(folder / file.name for file in made.values())
            for file, place in zip(made.values(), kept, strict=True):
                settle(file, place)
                self._library().take_in(place)
        self._library().report()
        return report, kept

    def tune_starter(
        self,
        quantizations: Sequence[str] | None = None,
        is_quick: bool = False,
        again: bool = True,
        own_prompts: bool = False,
        stop: StopSignal = NEVER,
        progress: _Progress = ignore,
    ) -> tuple[str, TuneReport | None]:
        """Uses the starter in the fastest quantization that is near enough to the installed one, from its next loading
        on. Returns this quantization (empty: as it was installed), and what was measured: None if it was decided before
        and is not to be decided `again`. Raises TargetMissing, and what `tune` does."""
        installed = starter_source()
        choice = StarterQuantization(self._data_dir, installed.identity)
        if not again and (choice.is_undone or self._is_measured(installed)):
            return self._starter_quantization(choice), None
        usual = _STARTER_QUANTIZATIONS if is_quick else self._usual_quantizations(installed.path)
        before = starter_in_use(self._data_dir)
        with _workshop(choice.folder) as workshop:
            extent = self._with_prompts(QUICK if is_quick else USUAL, own_prompts)
            wanted = tuple(quantizations or usual)
            report, made = self._measure(installed.path, wanted, workshop, stop, progress, extent, _is_free)
            choice.use(made.get(report.advice.quantization))
        self._follow_starter(before)
        return self._starter_quantization(choice), report

    def reset_starter(self) -> None:
        """Uses the starter as it was installed, until it is tuned again. Raises TargetMissing and FileUnusable."""
        before = starter_in_use(self._data_dir)
        StarterQuantization(self._data_dir, starter_source().identity).use(None, is_wish=True)
        self._follow_starter(before)

    def _with_prompts(self, extent: Extent, own: bool) -> Extent:
        """Puts the user's latest prompts in place of built-in ones."""
        return replace(extent, own_prompts=self._repository.latest_prompts(len(PROMPTS))) if own else extent

    def _follow_starter(self, before: TargetSource) -> None:
        """Moves the user's settings for the starter to the quantization in use."""
        after = starter_in_use(self._data_dir)
        if after.path != before.path:
            record = self._repository.target_of(before)
            self._repository.add_target(after)
            if record is not None:
                self._repository.change_target_options(after.path, record.options)
            if not before.path.exists():
                self._repository.remove_target(before.path)
        self._library().report()

    def _measure(
        self,
        path: Path,
        quantizations: Sequence[str],
        workshop: Path,
        stop: StopSignal,
        progress: _Progress,
        extent: Extent,
        keeps: Callable[[QuantizationFigures], bool],
    ) -> tuple[TuneReport, dict[str, Path]]:
        """Compares as `QuantizationBench.compare` does, and stores the report."""
        source, settings = self._source(path), self._settings(path)
        self._check_quantizations(path, quantizations)
        check_memory(path, settings)
        quietly, on_step = partial(self._quiet.run, stop=stop), _in_percents(progress)
        bench = QuantizationBench(source, settings, self._load_source, quietly, stop, on_step)
        try:
            with self._rest():
                report, made = bench.compare(quantizations, workshop, extent, keeps)
        except Interrupted:
            raise Cancelled("Measuring {name} was cancelled.", name=source.name) from None
        self._repository.save_tune_report(source.identity, report)
        return report, made

    def _source(self, path: Path) -> TargetSource:
        """Raises TargetMissing and TargetUnusable."""
        facts = facts_of(path)
        if facts.problem:
            raise TargetUnusable(facts.problem)
        if path == _installed_starter():
            return starter_source()
        source = file_source(path, facts.identity)
        return replace(source, trusted=is_known(source, self._repository.list_targets()))

    def _settings(self, path: Path) -> TargetSettings:
        """The user's settings for this target, in a small context."""
        record = self._repository.target_at(path)
        own = TargetSettings() if record is None else record.options.settings
        return replace(own, context_size=CONTEXT_SIZE)

    def _is_measured(self, source: TargetSource) -> bool:
        """True if it was measured with this build and number of threads, on a machine that was idle enough."""
        report = self._repository.tune_reports(read_runtime().key).get(source.identity)
        if report is None or not report.quantizations:
            return False
        return report.is_sure and report.threads == (self._settings(source.path).threads or usable_cores())

    def _original(self, path: Path) -> Path:
        """The installed starter, where `path` is the quantization that is used in its place."""
        installed = _installed_starter()
        if installed is not None and path == starter_in_use(self._data_dir).path:
            return installed
        return path

    def _usual_quantizations(self, path: Path) -> tuple[str, ...]:
        own = _quantization(path)
        return tuple(quantization for quantization in USUAL_QUANTIZATIONS if quantization != own)

    def _check_quantizations(self, path: Path, quantizations: Sequence[str]) -> None:
        """Raises TargetMissing, and NotPossible for what cannot be made of a file."""
        own = _quantization(path)
        for quantization in quantizations:
            check_quantization(quantization)
            if quantization == own:
                raise NotPossible(
                    "{name} is already in {form}; choose another quantization.", name=path.name, form=quantization
                )

    def _starter_quantization(self, choice: StarterQuantization) -> str:
        return "" if choice.path is None else _quantization(choice.path)

    def _folder_beside(self, path: Path) -> Path:
        """Where quantizations of a file go: next to it, or with the downloads if it belongs to the installation or its
        folder is read-only."""
        if path != _installed_starter() and os.access(path.parent, os.W_OK):
            return path.parent
        return models_folder(self._data_dir)


@contextmanager
def _workshop(beside: Path) -> Iterator[Path]:
    """A temporary folder for files that may move to `beside`. Raises NotPossible."""
    try:
        beside.mkdir(parents=True, exist_ok=True)
        for left in beside.glob(f"{_WORKSHOP}*"):  # by a program that was killed
            if time.time() - left.stat().st_mtime > _LONGEST_S:
                shutil.rmtree(left)
        folder = tempfile.TemporaryDirectory(prefix=_WORKSHOP, dir=beside)
    except OSError as error:
        raise NotPossible(
            "{beside} cannot be written ({reason}); fix that and try again.", beside=beside, reason=error.strerror
        ) from error
    with folder as name:
        yield Path(name)


def _in_percents(progress: _Progress) -> Callable[[str, TuneStep, float], None]:
    """Reports progress in whole percents."""
    last: tuple[str, TuneStep, int] | None = None

    def report(quantization: str, step: TuneStep, share: float) -> None:
        nonlocal last
        at = quantization, step, int(100 * share)
        if at != last:
            last = at
            progress(TuneProgress(quantization, step, share))

    return report


def _installed_starter() -> Path | None:
    try:
        return starter_path()
    except TargetMissing:
        return None


def _quantization(path: Path) -> str:
    """Raises TargetMissing."""
    details = facts_of(path).details
    return "" if details is None else details.quantization


def _is_free(figures: QuantizationFigures) -> bool:
    return figures.distance is not None and figures.distance.is_free
