"""Carries out the commands about forms of a target's weights: what each costs and is worth here, and making one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from engine.config import TargetSettings
from engine.errors import Cancelled, TargetUnusable
from engine.library.estimate import estimate
from engine.library.facts import facts_of
from engine.library.loading import check_memory
from engine.messages.commands import ListForms, MakeForm, ResetStarter, TuneStarter, TuneTarget, TuningCommand
from engine.messages.events import FormMade, FormsListed, Listener, StarterTuned, TargetTuned, TuneProgress
from engine.messages.forms import FormFigures, FormOffer, TuneReport, TuneStep
from engine.messages.targets import TargetSource
from engine.services.library_service import LibraryService
from engine.services.quiet import Quiet
from engine.stop_signal import StopSignal
from engine.storage import Repository
from engine.target.cpu import usable_cores
from engine.target.downloads import models_folder
from engine.target.forms import FORMS, USUAL_FORMS, form_path, form_sizes, free_bytes, make_form, settle
from engine.target.identity import file_identity
from engine.target.interface import Interrupted, Target
from engine.target.runtime import read_runtime
from engine.target.sources import file_source, starter_in_use, starter_source
from engine.target.starter_form import StarterForm
from engine.tuning.measuring import QUICK, USUAL, Compared, Extent, Measuring

STARTER_FORMS = ("Q8_0",)  # what it may be used in: all smaller ones are further away than is allowed
_CONTEXT_SIZE = 1024  # tokens: more than any of the prompts takes with its reply
_MEMORY_SHARE = 0.9  # of what is free, for two forms side by side

LoadSource = Callable[[TargetSource, TargetSettings, Callable[[float], None], StopSignal], Target]


@dataclass(frozen=True)
class TuningService:
    """Any thread may call any method, and all give way to replies."""

    _repository: Repository
    _library: Callable[[], LibraryService]
    _load_source: LoadSource
    _data_dir: Path
    _emit: Listener
    _quiet: Quiet = Quiet()
    _rest: Callable[[], AbstractContextManager[None]] = nullcontext  # nothing learns inside

    def handle(self, command: TuningCommand, stop: StopSignal) -> None:
        match command:
            case ListForms(path):
                self._emit(FormsListed(command, self.offers(path, stop)))
            case TuneTarget(path, forms, keeps):
                report, kept = self.tune(path, stop, forms, keeps)
                self._emit(TargetTuned(command, report, kept))
            case MakeForm(path, form):
                self._emit(FormMade(command, self.make(path, form, stop)))
            case TuneStarter(again):
                self._emit(StarterTuned(*self.tune_starter(stop, again)))
            case ResetStarter():
                self.reset_starter()
                self._emit(StarterTuned("", None))

    def offers(self, path: Path, stop: StopSignal) -> tuple[FormOffer, ...]:
        """All forms that could be made. Raises TargetMissing, NotPossible and Cancelled."""
        own = self._quantization(path)
        forms = tuple(form for form in FORMS if form != own)
        sizes = form_sizes(path, forms, stop)
        folder = self._folder_beside(path)
        free = free_bytes(folder)
        offers = []
        for form in forms:
            size, place = sizes[form], form_path(path, form, folder)
            problem = f"llama.cpp cannot make it: {size.complaint}." if size.complaint else ""
            if place.exists():
                problem = f"{place.name} is there already."
            elif size.num_bytes > free:
                problem = f"There is no room for it in {folder}."
            offers.append(FormOffer(form, size.num_bytes, place, problem))
        return tuple(sorted(offers, key=lambda offer: -offer.size_bytes))

    def make(self, path: Path, form: str, stop: StopSignal) -> Path:
        """The new file, which is in the library. Raises NotPossible and Cancelled."""
        made = form_path(path, form, self._folder_beside(path))
        make_form(path, form, made, stop, self._progress(path, form, TuneStep.MAKING))
        self._library().take_in(made)
        return made

    def tune(
        self,
        path: Path,
        stop: StopSignal,
        forms: Sequence[str] | None = None,
        keeps: bool = False,
        extent: Extent = USUAL,
    ) -> tuple[TuneReport, tuple[Path, ...]]:
        """The report, which is stored, and the files that were kept. Raises what loading raises, NotPossible and
        Cancelled."""
        with self._workshop(self._folder_beside(path)) as folder:
            report, made = self._measure(path, forms, folder, stop, extent, lambda _figures: keeps)
            kept = []
            for file in made.values():
                place = self._folder_beside(path) / file.name
                settle(file, place)
                self._library().take_in(place)
                kept.append(place)
        self._library().report()
        return report, tuple(kept)

    def tune_starter(
        self, stop: StopSignal, again: bool = True, forms: Sequence[str] = STARTER_FORMS, extent: Extent = QUICK
    ) -> tuple[str, TuneReport | None]:
        """The form that the starter is used in from now on (empty: as it was installed), and what was measured for
        that: None where it was decided before and is not to be `again`. Raises TargetMissing, and what `tune` does."""
        installed = starter_source()
        choice = StarterForm(self._data_dir, installed.identity)
        if not again and (choice.is_undone or self._report_of(installed) is not None):
            return self._starter_form(choice), None
        before = starter_in_use(self._data_dir)
        with self._workshop(choice.folder) as folder:
            report, made = self._measure(installed.path, forms, folder, stop, extent, _is_free)
            advice = report.advice
            choice.use(made[advice.form] if advice.is_free and advice.form else None)
        self._follow_starter(before)
        return self._starter_form(choice), report

    def reset_starter(self) -> None:
        """Uses the starter as it was installed. Raises TargetMissing and FileUnusable."""
        before = starter_in_use(self._data_dir)
        StarterForm(self._data_dir, starter_source().identity).use(None, is_wish=True)
        self._follow_starter(before)

    def _follow_starter(self, before: TargetSource) -> None:
        """What the user set for the starter goes on with it, whatever its form."""
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
        forms: Sequence[str] | None,
        folder: Path,
        stop: StopSignal,
        extent: Extent,
        keeps: Callable[[FormFigures], bool],
    ) -> tuple[TuneReport, dict[str, Path]]:
        """The report, which is stored, and by form the files in `folder` of those that it `keeps`."""
        source = self._source(path)
        settings = self._settings(source)
        check_memory(path, settings)
        wanted = [form for form in USUAL_FORMS if form != self._quantization(path)] if forms is None else list(forms)
        load = self._loader(source, settings, stop)
        on_step = _Steps(path, self._emit)
        measuring = Measuring(path, load, extent, partial(self._quiet.run, stop=stop), on_step.note)
        compared: list[tuple[FormFigures, Compared]] = []
        made: dict[str, Path] = {}
        try:
            with self._rest():
                measuring.alone()
                for form in wanted:
                    on_step.form = form
                    file = form_path(path, form, folder)
                    make_form(path, form, file, stop, partial(on_step.note, TuneStep.MAKING))
                    fits = self._fit_together(path, file, settings)
                    seen = measuring.beside(file) if fits else measuring.apart(file)
                    figures = FormFigures(form, file_identity(file), file.stat().st_size, (), seen.error, seen.distance)
                    compared.append((figures, seen))
                    if keeps(figures):
                        made[form] = file
                    else:
                        file.unlink()
        except Interrupted:
            raise Cancelled(f"Measuring {source.name} was cancelled.") from None
        report = self._make_report(source, settings, measuring.passes, compared)
        self._repository.save_tune_report(source.identity, report)
        return report, made

    def _make_report(
        self,
        source: TargetSource,
        settings: TargetSettings,
        passes: dict[int, float],
        compared: Sequence[tuple[FormFigures, Compared]],
    ) -> TuneReport:
        """What passes cost in other forms follows from the original's by their ratios, which were measured side by
        side: so all figures are of the same moment."""
        facts = facts_of(source.path)
        form = facts.details.quantization if facts.details else ""
        original = FormFigures(form, source.identity, facts.stamp.size_bytes, tuple(passes.items()))
        forms = tuple(
            replace(figures, passes=tuple((n, seconds * seen.ratios[n]) for n, seconds in passes.items()))
            for figures, seen in compared
        )
        threads = settings.threads or usable_cores()
        return TuneReport(read_runtime().key, threads, datetime.now(UTC), original, forms)

    def _source(self, path: Path) -> TargetSource:
        """Raises TargetMissing and TargetUnusable."""
        facts = facts_of(path)
        if facts.problem:
            raise TargetUnusable(facts.problem)
        source = file_source(path, facts.identity)
        record = self._repository.target_of(source)
        return replace(source, trusted=record is not None and record.last_used_at is not None)

    def _settings(self, source: TargetSource) -> TargetSettings:
        record = self._repository.target_of(source)
        own = TargetSettings() if record is None else record.options.settings
        return replace(own, context_size=_CONTEXT_SIZE)

    def _loader(self, source: TargetSource, settings: TargetSettings, stop: StopSignal) -> Callable[[Path], Target]:
        """Loads the file of the source, and forms of it. An unknown file gets its first look only once."""
        tried = False

        def load(path: Path) -> Target:
            nonlocal tried
            file = replace(source, path=path, trusted=tried or source.trusted)
            target = self._load_source(file, settings, lambda _share: None, stop)
            tried = True
            return target

        return load

    def _fit_together(self, path: Path, other: Path, settings: TargetSettings) -> bool:
        needed = [estimate(facts_of(each), settings) for each in (path, other)]
        return sum(each.on_machine for each in needed) <= _MEMORY_SHARE * needed[0].available

    def _report_of(self, source: TargetSource) -> TuneReport | None:
        report = self._repository.tune_reports(read_runtime().key).get(source.identity)
        threads = self._settings(source).threads or usable_cores()
        return report if report is not None and report.threads == threads else None

    def _starter_form(self, choice: StarterForm) -> str:
        return "" if choice.path is None else self._quantization(choice.path)

    def _quantization(self, path: Path) -> str:
        """Raises TargetMissing."""
        details = facts_of(path).details
        return "" if details is None else details.quantization

    def _folder_beside(self, path: Path) -> Path:
        """Where other forms of a file go: beside it, or with the downloads where nothing can be written there."""
        if os.access(path.parent, os.W_OK):
            return path.parent
        folder = models_folder(self._data_dir)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @contextmanager
    def _workshop(self, beside: Path) -> Iterator[Path]:
        """A folder for files that may go to `beside`; it is gone afterwards, with what is left in it."""
        beside.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".forms-", dir=beside) as folder:
            yield Path(folder)

    def _progress(self, path: Path, form: str, step: TuneStep) -> Callable[[float], None]:
        steps = _Steps(path, self._emit, form)
        return partial(steps.note, step)


class _Steps:
    """Reports progress in whole percents."""

    def __init__(self, path: Path, emit: Listener, form: str = "") -> None:
        self.form = form  # that is being made or measured
        self._path = path
        self._emit = emit
        self._last: tuple[str, TuneStep, int] | None = None

    def note(self, step: TuneStep, share: float) -> None:
        at = self.form, step, int(100 * share)
        if at != self._last:
            self._last = at
            self._emit(TuneProgress(self._path, self.form, step, share))


def _is_free(figures: FormFigures) -> bool:
    return figures.distance is not None and figures.distance.is_free
