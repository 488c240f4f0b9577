"""The lab from the command line: measuring speed, and making and exporting a drafter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from engine.backend.profile import drafter_export
from engine.backend.profile.transfer import read_profile
from engine.lab.distillation.progress import DistillProgress
from engine.lab.measuring.measurement import Measurement
from engine.lab.measuring.opening import open_measurement
from engine.lab.measuring.order import BenchOrder, Way
from engine.lab.measuring.shallow import FOLDER, shallow_copy
from engine.loading import load_target
from engine.opening import open_repository
from engine.speculation.drafter.timing import measure_step
from engine.speculation.model.files.sources import resolve_target
from engine.speculation.model.interface import Interrupted, Target
from engine.speculation.model.llama.cpu import usable_cores
from engine.speculation.model.llama.vocabulary import load_vocabulary
from engine.speculation.numerics.draft_length import PassCosts
from engine.speculation.proposers.drafting import Drafting, Teachable
from engine.speculation.proposers.selection import GivenStep
from engine.speculation.proposers.supply import DrafterSupply, Known
from engine.use_cases.chat import list_library, resolve
from engine.values.config import EngineConfig, TargetSettings
from engine.values.distilling import DistillSettings
from engine.values.drafters import DrafterChoice, DrafterSource
from engine.values.errors import Cancelled, DrafterUnusable
from engine.values.exports import DrafterExported, ExportOrder
from engine.values.learned import NgramRecord, RecallText
from engine.values.stop_signal import StopSignal


def export_drafter(config: EngineConfig, order: ExportOrder) -> DrafterExported:
    """Writes a drafter with what it has learned about a target, as another program loads it, and checks it. Raises
    what resolving the target raises, FileUnusable, DrafterUnusable, AdapterUnusable and StoreUnusable."""
    with closing(open_repository(config)) as repository:
        target = resolve_target(order.target, repository)
        return drafter_export.export_drafter(config, order, target, repository, repository.list_targets())


def open_bench(config: EngineConfig, order: BenchOrder, stop: StopSignal) -> Measurement:
    """The measurement of an order, loaded; the caller closes it.

    Raises FileUnusable, Cancelled, and what resolving and loading the target and the drafter raise.
    """
    profile = None if order.profile is None else _Profile(order.profile)

    def load(name: str) -> Target:
        return load_target(resolve(config, name), TargetSettings(), lambda _progress: None, stop)

    def drafting_for(target: Target, passes: PassCosts, given_step: GivenStep, way: Way) -> Drafting | None:
        supply = DrafterSupply(config, target, known=Known(profile, library=lambda: list_library(config)))
        if way.copies:
            source: DrafterSource | None = shallow_copy(target.description.path, config.data_dir / FOLDER, passes)
        else:
            choice = supply.choose(passes, given_step)
            source = _always_drafting(choice, way) if way.always else choice.chosen
        if source is None:
            return None
        drafting = supply.open(source)
        if profile is not None and drafting.teachable is not None:
            profile.teach(drafting.teachable)
        return drafting

    def recalled(target: Target) -> Sequence[RecallText]:
        return () if profile is None else profile.texts(target)

    try:
        return open_measurement(order, load, load_vocabulary, drafting_for, stop, recalled)
    except Interrupted as error:
        raise Cancelled(f"Loading {order.target} was cancelled.") from error


def _always_drafting(choice: DrafterChoice, way: Way) -> DrafterSource:
    """Who drafts in a mode in which one must. Raises DrafterUnusable where there are no heads."""
    best = [choice.chosen] if choice.chosen is not None else []
    best += [prospect.source for prospect in choice.prospects]
    for source in best:
        if way.supplied_by(source.runner):
            return source
    if way.is_brought:
        raise DrafterUnusable("No drafter made for this model is beside it or in the library.")
    raise DrafterUnusable("There are no heads for this model; make some with `slipstream distill --heads 4`.")


class _Profile:
    """The contents of a profile, for a measurement. Implements `proposers.drafting.NgramMemory`, but saves
    nothing."""

    def __init__(self, path: Path) -> None:
        """Raises FileUnusable."""
        self._learned = read_profile(path).learned

    def load(self, target_fingerprint: str, drafter_fingerprint: str) -> Sequence[NgramRecord]:
        return self._learned.ngrams.get((target_fingerprint, drafter_fingerprint), ())

    def save(self, target_fingerprint: str, drafter_fingerprint: str, changed: Sequence[NgramRecord]) -> None: ...

    def teach(self, drafting: Teachable) -> None:
        """Puts the published adapter in use, if there is one for this drafter. Raises AdapterUnusable."""
        for adapter in self._learned.adapters.get(drafting.pair, ()):
            if adapter.is_published:
                drafting.use(drafting.read_adapter(adapter.weights))

    def texts(self, target: Target) -> tuple[RecallText, ...]:
        """Numbered so that they are older than every text of the measurement."""
        texts = self._learned.recall.get(target.vocabulary.fingerprint, ())
        return tuple(RecallText(place - len(texts), -1, tokens) for place, tokens in enumerate(texts))


def distill(
    config: EngineConfig, settings: DistillSettings, folder: Path, on_progress: Callable[[DistillProgress], None]
) -> None:
    """Makes a drafter or heads for a target. Takes as long as the settings say, and the time to write or read the
    corpus.

    Raises what resolving and loading the target raise, FileUnusable, DrafterUnusable, and MendableError when
    something cannot be written.
    """
    file = resolve(config, settings.target)
    if settings.heads is not None:
        from engine.lab.distillation.heads import distill_heads

        distill_heads(settings, file, folder, on_progress)
        return
    from engine.lab.distillation.recipe import distill as make  # transformers: two seconds that no bench needs

    def judge(drafter: Path, order: BenchOrder) -> Measurement:
        speculation = replace(order.speculation, drafter=str(drafter))
        return open_bench(replace(config, speculation=speculation), order, StopSignal())

    from engine.speculation.drafter.checkpoint import load_drafter

    def measure(drafter: Path) -> float:
        return measure_step(load_drafter(drafter, config.speculation.device, usable_cores()).model)

    if settings.start is not None and not settings.start.exists():
        raise DrafterUnusable(f"There is no folder {settings.start}; choose the folder of a drafter to start from.")
    make(settings, file, folder, on_progress, judge, measure)
