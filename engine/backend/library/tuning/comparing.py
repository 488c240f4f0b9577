"""Makes other quantizations of a target, one after the other, and measures each next to the original."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from engine.backend.library.tuning.measuring import Compared, Extent, Measuring, Quietly
from engine.speculation.model.files.estimate import estimate
from engine.speculation.model.files.facts import facts_of
from engine.speculation.model.files.identity import file_identity
from engine.speculation.model.interface import Target
from engine.speculation.model.llama.cpu import usable_cores
from engine.speculation.model.llama.quantizations import make_quantization, quantization_path
from engine.speculation.model.llama.runtime import read_runtime
from engine.values.config import TargetSettings
from engine.values.quantizations import QuantizationFigures, TuneReport, TuneStep
from engine.values.stop_signal import StopSignal
from engine.values.targets import TargetSource

CONTEXT_SIZE = 1024  # tokens: more than any of the prompts takes with its reply
_MEMORY_SHARE = 0.9  # of what is free, for two quantizations side by side

LoadSource = Callable[[TargetSource, TargetSettings, Callable[[float], None], StopSignal], Target]
OnStep = Callable[
    [str, TuneStep, float], None
]  # with the quantization (empty: the original) and the share that is done


@dataclass(frozen=True, slots=True)
class QuantizationBench:
    """Compares the quantizations of one target. Every method raises what making and loading raise, Cancelled and
    Interrupted."""

    source: TargetSource
    settings: TargetSettings
    load_source: LoadSource
    quietly: Quietly
    stop: StopSignal
    on_step: OnStep

    def compare(
        self, quantizations: Sequence[str], folder: Path, extent: Extent, keeps: Callable[[QuantizationFigures], bool]
    ) -> tuple[TuneReport, dict[str, Path]]:
        """The report, and the files in `folder` of the quantizations that it `keeps`, by quantization; the others are
        removed."""
        seen: list[tuple[QuantizationFigures, Compared]] = []
        made: dict[str, Path] = {}
        current = ""
        measuring = Measuring(
            self.source.path, self._loader(), extent, self.quietly, lambda *step: self.on_step(current, *step)
        )
        if not quantizations:
            measuring.alone()
        for quantization in quantizations:
            current = quantization
            file = quantization_path(self.source.path, quantization, folder)
            make_quantization(
                self.source.path, quantization, file, self.stop, partial(self.on_step, quantization, TuneStep.MAKING)
            )
            compared = measuring.beside(file) if self._fits_beside(file) else measuring.apart(file)
            identity, size_bytes = file_identity(file), file.stat().st_size
            figures = QuantizationFigures(quantization, identity, size_bytes, (), compared.error, compared.distance)
            seen.append((figures, compared))
            if keeps(figures):
                made[quantization] = file
            else:
                file.unlink()
        return self._report(measuring.passes, seen), made

    def _report(self, passes: dict[int, float], seen: Sequence[tuple[QuantizationFigures, Compared]]) -> TuneReport:
        """What passes cost in other quantizations follows from the original's by their ratios, which were measured side
        by side: so all figures are of one moment."""
        facts = facts_of(self.source.path)
        own = facts.details.quantization if facts.details else ""
        original = QuantizationFigures(own, self.source.identity, facts.stamp.size_bytes, tuple(passes.items()))
        quantizations = tuple(
            replace(figures, passes=tuple((n, seconds * compared.ratios[n]) for n, seconds in passes.items()))
            for figures, compared in seen
        )
        threads = self.settings.threads or usable_cores()
        return TuneReport(read_runtime().key, threads, datetime.now(UTC), original, quantizations)

    def _loader(self) -> Callable[[Path], Target]:
        """Loads a file of these weights. An unknown one gets its first look once; what is made of it needs none."""
        is_known = self.source.trusted

        def load(path: Path) -> Target:
            nonlocal is_known
            source = replace(self.source, path=path, trusted=is_known)
            target = self.load_source(source, self.settings, lambda _share: None, self.stop)
            is_known = True
            return target

        return load

    def _fits_beside(self, file: Path) -> bool:
        needed = [estimate(facts_of(each), self.settings) for each in (self.source.path, file)]
        return sum(each.on_machine for each in needed) <= _MEMORY_SHARE * needed[0].available
