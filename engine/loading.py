"""Loads a target, and the drafter that speculates for it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.config import EngineConfig, TargetSettings
from engine.decoding.pass_costs import measure_passes
from engine.decoding.speculation import CANNOT_ROLL_BACK, Speculation
from engine.drafter.choice import built_in_drafter
from engine.drafter.torch_library import preload_torch
from engine.errors import CardsTooSmall, MendableError
from engine.library.loading import fitted
from engine.numerics.suffix_index import SuffixIndex
from engine.proposers.chooser import Chooser
from engine.proposers.suffix_lookup import SuffixLookup
from engine.stop_signal import StopSignal
from engine.target.files import TargetFile
from engine.target.interface import Target, TargetFeature
from engine.target.llama_cpp import LlamaCppTarget
from engine.target.preflight import preflight

if TYPE_CHECKING:
    from engine.proposers.drafting import Drafting, NgramMemory

_logger = logging.getLogger("slipstream.loading")


def load_file(
    file: TargetFile, settings: TargetSettings, on_progress: Callable[[float], None], stop: StopSignal
) -> Target:
    """Loads a target with llama.cpp. Where the settings name no number of GPU layers, graphics cards get as much of it
    as they have room for, and the CPU the rest. Raises what `LlamaCppTarget.load` raises."""
    if not file.trusted:
        preflight(file.path, stop)
    try:
        return LlamaCppTarget.load(file.path, file.name, fitted(file.path, settings), on_progress, stop)
    except CardsTooSmall:
        if settings.gpu_layers is not None:
            raise
        return LlamaCppTarget.load(file.path, file.name, replace(settings, gpu_layers=0), on_progress, stop)


def speculate(
    config: EngineConfig,
    target: Target,
    stop: StopSignal,
    memory: NgramMemory | None = None,
    remembered: Callable[[], Sequence[SuffixIndex]] = tuple,
    on_changed: Callable[[Speculation], None] = lambda _speculation: None,
    at_once: bool = False,
    on_drafting: Callable[[Drafting], None] = lambda _drafting: None,
) -> Speculation:
    """Speculation for this target: from recall at once, and with the drafter as soon as a thread of its own has loaded
    it. `on_changed` hears of every change, and `on_drafting` is given the drafter before it drafts. With `at_once` the
    drafter is loaded before this returns, and what that raises is raised.

    Raises Interrupted.
    """
    settings = config.speculation
    if not settings.enabled:
        return Speculation.off("Speculation is switched off.")
    if TargetFeature.ROLLBACK not in target.features:
        return Speculation.off(CANNOT_ROLL_BACK)
    speculation = Speculation(Chooser(measure_passes(target, stop), SuffixLookup(remembered)), on_changed)

    def begin() -> None:
        drafting = make_drafting(config, target, memory, lambda: speculation.is_closed)
        if speculation.is_closed:  # another target or drafter came meanwhile
            return
        on_drafting(drafting)
        proposer = drafting.proposer
        speculation.begin(proposer, proposer.measure_cost())

    if at_once:
        begin()
    else:
        # No daemon: a process that ends while torch is being loaded would abort. It waits for a step of the loading.
        threading.Thread(
            target=_begin_or_give_up, args=(begin, speculation), name="slipstream-drafter", daemon=False
        ).start()
    return speculation


def _begin_or_give_up(begin: Callable[[], None], speculation: Speculation) -> None:
    try:
        begin()
    except MendableError as error:
        speculation.give_up(str(error))
    except BaseException as error:  # panics of Rust libraries are no Exception
        _logger.exception("the drafter could not be loaded")
        reason = f"The drafter could not be loaded ({type(error).__name__}); replies are written without it."
        speculation.give_up(reason)


def make_drafting(
    config: EngineConfig,
    target: Target,
    memory: NgramMemory | None = None,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> Drafting:
    """The drafter of the settings for this target; raises what `open_drafting` raises."""
    preload_torch()
    from engine.proposers.drafting import open_drafting  # imports torch

    settings = config.speculation
    folder = settings.drafter or built_in_drafter()
    return open_drafting(settings, folder, config.data_dir / "vocabulary-maps", target.vocabulary, memory, is_cancelled)
