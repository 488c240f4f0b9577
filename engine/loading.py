"""Loads a target, and the drafter that speculates for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.config import EngineConfig, TargetSettings
from engine.decoding.speculation import Speculation, open_speculation
from engine.drafter.choice import built_in_drafter
from engine.drafter.torch_library import preload_torch
from engine.errors import CardsTooSmall
from engine.library.loading import fitted
from engine.messages.targets import TargetSource
from engine.numerics.suffix_index import SuffixIndex
from engine.proposers import catalogue
from engine.proposers.chooser import Chooser
from engine.proposers.costs import measure_passes
from engine.proposers.interface import Proposer, Supplies
from engine.stop_signal import StopSignal
from engine.target.interface import Target
from engine.target.llama_cpp import LlamaCppTarget
from engine.target.preflight import preflight

if TYPE_CHECKING:
    from engine.proposers.drafting import Drafting, NgramMemory


def load_target(
    source: TargetSource, settings: TargetSettings, on_progress: Callable[[float], None], stop: StopSignal
) -> Target:
    """The one way from a source to a target: llama.cpp loads its file. Where the settings name no number of GPU layers,
    graphics cards get as much of it as they have room for, and the CPU the rest. Raises what `LlamaCppTarget.load`
    raises."""
    path, name = source.path, source.name
    if not source.trusted:
        preflight(path, stop)
    try:
        return LlamaCppTarget.load(path, name, fitted(path, settings), on_progress, stop)
    except CardsTooSmall:
        if settings.gpu_layers is not None:
            raise
        return LlamaCppTarget.load(path, name, replace(settings, gpu_layers=0), on_progress, stop)


def speculate(
    config: EngineConfig,
    target: Target,
    stop: StopSignal,
    memory: NgramMemory | None = None,
    recalled: Callable[[], Sequence[SuffixIndex]] = tuple,
    on_changed: Callable[[Speculation], None] = lambda _speculation: None,
    at_once: bool = False,
    on_drafting: Callable[[Drafting], None] = lambda _drafting: None,
) -> Speculation:
    """Speculation for this target with every proposer there is; `on_drafting` is given the drafter before it drafts.
    For the rest see `open_speculation`. Raises Interrupted."""
    if not config.speculation.enabled:
        return Speculation.off("Speculation is switched off.")

    def load_drafter(is_cancelled: Callable[[], bool]) -> Proposer:
        drafting = make_drafting(config, target, memory, is_cancelled)
        if not is_cancelled():  # no other target or drafter came meanwhile
            on_drafting(drafting)
        return drafting.proposer

    supplies = Supplies(target, recalled, load_drafter)
    return open_speculation(
        lambda: Chooser(measure_passes(target, stop)), supplies, catalogue.PROPOSERS, on_changed, at_once
    )


def make_drafting(
    config: EngineConfig,
    target: Target,
    memory: NgramMemory | None = None,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> Drafting:
    """The drafter of the settings for this target; raises what `open_drafting` raises."""
    preload_torch()
    from engine.drafter.trial import try_out  # imports torch
    from engine.proposers.drafting import open_drafting

    settings = config.speculation
    folder = settings.drafter or built_in_drafter()
    if folder != built_in_drafter() and folder.is_dir():  # that there is none is said when it is loaded
        try_out(folder, settings.device, config.data_dir / "tried-drafters", is_cancelled)
    return open_drafting(settings, folder, config.data_dir / "vocabulary-maps", target.vocabulary, memory, is_cancelled)
