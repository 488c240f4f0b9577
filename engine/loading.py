"""Loads a target, and the drafter that speculates for it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Protocol

from engine.speculation.decoding.speculation import Speculation, open_speculation
from engine.speculation.drafter.gguf import room_for_drafter
from engine.speculation.model.files.estimate import fitting_beside
from engine.speculation.model.files.facts import facts_of
from engine.speculation.model.files.model_files import model_name
from engine.speculation.model.files.projectors import projector_of
from engine.speculation.model.interface import ParallelTarget, Target, TargetFeature
from engine.speculation.model.llama.batch import BatchTarget
from engine.speculation.model.llama.embedder import Embedder
from engine.speculation.model.llama.llama_cpp import LlamaCppTarget
from engine.speculation.model.llama.preflight import preflight
from engine.speculation.model.llama.runtime import gpu_support
from engine.speculation.model.loading import fitted
from engine.speculation.numerics.suffix_index import SuffixIndex
from engine.speculation.proposers import catalogue
from engine.speculation.proposers.costs import measure_passes
from engine.speculation.proposers.draft_policy import DraftPolicy
from engine.speculation.proposers.interface import Supplies
from engine.speculation.proposers.supply import DrafterSupply
from engine.values.config import EngineConfig, TargetSettings
from engine.values.draft_policy import LearnedPolicy
from engine.values.errors import CardsTooSmall, DrafterUnusable, StoreUnusable, TargetUnsupported, TargetUnusable
from engine.values.owner import Owner
from engine.values.sentences import say
from engine.values.spare_time import SpareTime
from engine.values.stop_signal import StopSignal
from engine.values.targets import TargetSource

_FEWEST_BESIDE = 2  # sequences: one would gain nothing
_MOST_TOKENS = 1 << 19  # of a vocabulary; the largest have 300,000

_logger = logging.getLogger("slipstream.speculation")


class PolicyMemory(Protocol):
    """Stores what the draft policy knows of one target on this machine."""

    def load(self) -> LearnedPolicy | None: ...
    def save(self, policy: LearnedPolicy) -> None: ...


def load_target(
    source: TargetSource, settings: TargetSettings, on_progress: Callable[[float], None], stop: StopSignal
) -> Target:
    """The one way from a source to a target: llama.cpp loads its file, with the projector next to it. If the settings
    name no number of GPU layers, graphics cards get as much of it as they have room for, and the CPU the rest; the
    cards keep room for the starter, which is likely to draft. Raises what `LlamaCppTarget.load` raises."""
    path, name = source.path, source.name
    with_heads = facts_of(path).own_layers > 0
    if not source.trusted:
        _check_header(path)
        preflight(path, stop)
    projector = projector_of(path)
    try:
        fitting = fitted(path, settings, room_for_drafter(path))
        return LlamaCppTarget.load(path, name, fitting, on_progress, stop, projector=projector, with_heads=with_heads)
    except CardsTooSmall:
        if settings.gpu_layers is not None:
            raise
        less = replace(settings, gpu_layers=0)
        return LlamaCppTarget.load(path, name, less, on_progress, stop, projector=projector, with_heads=with_heads)


def load_embedder(path: Path, stop: StopSignal) -> Embedder:
    """Checks the file as every unknown one, then loads it. Raises what `Embedder.load` raises."""
    _check_header(path)
    preflight(path, stop, embeds=True)
    return Embedder.load(path, model_name(path), stop)


def open_beside(target: Target, num_slots: int, context_size: int) -> ParallelTarget:
    """Several sequences on the weights of a target of `load_target`, at most `num_slots`: as many as a small part of
    the memory holds. The target's own sequence stays as it is. Raises TargetUnusable where there is no room."""
    assert isinstance(target, LlamaCppTarget)
    support = gpu_support() if target.description.num_gpu_layers else None
    num_fitting, num_bytes = fitting_beside(facts_of(target.description.path), num_slots, context_size, support)
    if num_fitting < _FEWEST_BESIDE:
        raise TargetUnusable(
            "There is no memory for {count} sequences beside {name}.",
            count=_FEWEST_BESIDE,
            name=target.description.name,
        )
    _logger.info("%d sequences beside the chat take about %.0f MB", num_fitting, num_bytes / 1e6)
    return BatchTarget.beside(target, num_fitting, context_size)


def _check_header(path: Path) -> None:
    """Raises TargetMissing or TargetUnusable for one that is broken, or larger than any sound one: llama.cpp has no
    bounds of its own. Raises TargetUnsupported for a drafter that was made for another model."""
    found = facts_of(path)
    if found.details is None:
        raise TargetUnusable(found.problem)
    if found.head is not None:
        raise TargetUnsupported(found.problem)
    if found.details.vocabulary_size > _MOST_TOKENS:
        raise TargetUnusable("{name} is damaged; download it again.", name=path.name)


def speculate(
    config: EngineConfig,
    target: Target,
    stop: StopSignal,
    supply: DrafterSupply,
    recalled: Callable[[Owner], Sequence[SuffixIndex]] = lambda _owner: (),
    on_changed: Callable[[Speculation], None] = lambda _speculation: None,
    at_once: bool = False,
    memory: PolicyMemory | None = None,
) -> Speculation:
    """Speculation for this target with every proposer there is, and the drafter that `supply` chooses: none is loaded
    where none pays, and one that cannot be found is reported in a sentence, unless it is wanted `at_once`. It goes on
    from the costs and chances in `memory`, which keeps the costs from the first loading on, and to which every reply
    that may be learned from adds. For the rest see `open_speculation`. Raises Interrupted."""
    if not config.speculation.enabled:
        return Speculation.off(say("Speed-up is off."))
    if TargetFeature.ROLLBACK not in target.features:  # nothing is to be measured then
        return Speculation.cannot_roll_back()
    known = _recalled(memory)
    passes = measure_passes(target, stop, None if known is None else known.costs)
    try:
        choice = supply.choose(passes)
    except DrafterUnusable as error:
        if at_once:
            raise
        choice = supply.reject(str(error))
    spare = SpareTime(lull_s=0.0) if at_once else SpareTime()
    load = partial(supply.load, spare=spare)
    supplies = Supplies(target, recalled, load, lambda: supply.choice.label)
    proposers = catalogue.paying(passes, choice.chosen)

    def think_again(speculation: Speculation) -> None:
        policy = speculation.learned_policy
        if memory is not None and policy is not None:
            _keep(memory, policy)
        if speculation.is_loading:  # the one that was chosen last is yet to show what it can do
            return
        if not speculation.is_drafting:
            supply.give_up()
        if not supply.reconsider():
            return
        for listed in catalogue.SUPPLIED:
            speculation.drop(listed.origin)
        chosen = supply.choice.chosen
        if chosen is None:
            speculation.explain(catalogue.DRAFTER, supply.choice.why)
        else:
            speculation.load([catalogue.supplied_by(chosen.runner).proposer_class()], supplies)

    policy = DraftPolicy(passes, known=known)
    if memory is not None and known is None:
        _keep(memory, policy.known)  # how fast this machine is counts before the first reply, too
    speculation = open_speculation(policy, supplies, proposers, on_changed, at_once, think_again, spare)
    if choice.chosen is None:
        tell = speculation.give_up if choice.is_fixed else speculation.explain
        tell(catalogue.DRAFTER, choice.why)
    return speculation


def _recalled(memory: PolicyMemory | None) -> LearnedPolicy | None:
    """None if the store cannot be read: everything is measured again."""
    try:
        return None if memory is None else memory.load()
    except StoreUnusable as error:
        _logger.warning("what was known of the draft policy cannot be read: %s", error)
        return None


def _keep(memory: PolicyMemory, policy: LearnedPolicy) -> None:
    """A store that cannot be written does not keep the reply from finishing."""
    try:
        memory.save(policy)
    except StoreUnusable as error:
        _logger.warning("what is known of the draft policy is not kept: %s", error)
