"""Makes what an order asks to measure, from what loads targets and drafters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from engine.lab.measuring.machine import memory_mb
from engine.lab.measuring.measurement import Measurement, Schooling
from engine.lab.measuring.order import WAYS, BenchOrder, Way
from engine.lab.measuring.prompts import read_prompts
from engine.lab.measuring.report import Preparation
from engine.speculation.decoding.speculation import Speculation, open_speculation
from engine.speculation.model.body import BodyTarget
from engine.speculation.model.interface import Target, TargetFeature, TokenizingVocabulary
from engine.speculation.model.llama.trace import TraceTarget
from engine.speculation.numerics.draft_length import MAX_LENGTH, USUAL_LENGTH, FixedCosts, PassCosts
from engine.speculation.proposers import catalogue
from engine.speculation.proposers.catalogue import Listed
from engine.speculation.proposers.costly import Always
from engine.speculation.proposers.costs import measure_passes
from engine.speculation.proposers.draft_policy import DraftPolicy
from engine.speculation.proposers.drafting import Teachable
from engine.speculation.proposers.interface import Proposer, Supplies
from engine.speculation.proposers.recall import RecallTexts
from engine.speculation.proposers.selection import GivenStep
from engine.values.clock import now
from engine.values.drafters import DrafterSource
from engine.values.learned import RecallText
from engine.values.stop_signal import StopSignal


class MeasuredDrafting(Protocol):
    """The part of `proposers.drafting.Drafting` that a measurement needs."""

    @property
    def source(self) -> DrafterSource: ...
    @property
    def proposer(self) -> Proposer: ...
    @property
    def teachable(self) -> Teachable | None: ...


# Takes a target, the costs of passes, and those of a step if given. Returns a drafting even if it does not pay, if the
# mode always drafts; else None if none pays.
MakeDrafting = Callable[[Target, PassCosts, GivenStep, Way], MeasuredDrafting | None]

# Keys of origins in modes of which a drafter, or heads, may draft.
_WITH_SUPPLIED = ("", *(listed.origin.key for listed in catalogue.SUPPLIED))


def open_measurement(
    order: BenchOrder,
    load_target: Callable[[str], Target],
    load_vocabulary: Callable[[Path], TokenizingVocabulary],
    make_drafting: MakeDrafting,
    stop: StopSignal,
    remembered: Callable[[Target], Iterable[RecallText]] = lambda _target: (),
) -> Measurement:
    """`load_target` loads a model by its name or path: the order's target where that is one, and its body;
    `load_vocabulary` loads what recorded replies are replayed in, `make_drafting` a drafter for the target, and
    `remembered` is what is recalled from the beginning.

    Raises FileUnusable, Interrupted, and what these raise.
    """
    path = order.vocabulary
    chats = read_prompts(order.prompts, order.limit, recorded=path is not None)
    if order.shift is not None:
        chats += read_prompts(order.shift, order.limit, recorded=path is not None)
    target: Target = load_target(order.target) if path is None else TraceTarget(load_vocabulary(path), path)
    try:
        if order.body is not None:
            target = BodyTarget(target, load_target(str(order.body)))
        memories = {mode: RecallTexts(remembered(target)) for mode in order.modes if WAYS[mode].drafts}
        # Each mode has its own drafter, so that none learns from another.
        draftings: dict[str, MeasuredDrafting] = {}
        speculations: dict[str, Speculation] = {}
        preparations: dict[str, Preparation] = {}
        for mode, memory in memories.items():
            way = WAYS[mode]
            costs, given_step = _costs(order, target, stop)
            drafting, step_s = None, None
            began, before_mb = now(), memory_mb()
            if way.alone in _WITH_SUPPLIED and TargetFeature.ROLLBACK in target.features:
                drafting = make_drafting(target, costs, given_step, way)
            if drafting is not None:
                draftings[mode], step_s = drafting, given_step(drafting.source)
            length = order.draft_length
            always = Always(length or 1, length or USUAL_LENGTH) if way.always else None
            policy = DraftPolicy(costs, step_s=step_s, always=always, draws_trees=way.branches)
            source = None if drafting is None else drafting.source
            supplies, wanted = _supplies(target, memory, drafting), _wanted(way, costs, source)
            speculations[mode] = open_speculation(policy, supplies, wanted, at_once=True)
            preparations[mode] = Preparation(now() - began, max(0.0, memory_mb() - before_mb))
        drafters = {mode: drafting.source for mode, drafting in draftings.items()}
        taught = {mode: each.teachable for mode, each in draftings.items() if order.teaches}
        schoolings = {mode: Schooling(each, order.remembers) for mode, each in taught.items() if each is not None}
        memories = memories if order.remembers else {}
        return Measurement(order, chats, target, speculations, memories, schoolings, drafters, preparations)
    except BaseException:
        target.close()
        raise


def _supplies(target: Target, memory: RecallTexts, drafting: MeasuredDrafting | None) -> Supplies:
    load = None if drafting is None else lambda _is_cancelled: drafting.proposer
    return Supplies(target, lambda _owner: memory.indexes, load)


def _wanted(way: Way, costs: PassCosts, supplied: DrafterSource | None) -> list[Listed]:
    if way.alone:
        return [each for each in catalogue.proposers(supplied) if each.origin.key == way.alone]
    return [each for each in catalogue.paying(costs, supplied) if each.origin.key != way.without]


def _costs(order: BenchOrder, target: Target, stop: StopSignal) -> tuple[PassCosts, GivenStep]:
    if not order.is_simulated:
        return measure_passes(target, stop), lambda _source: None
    costs = {num_rows: order.costs.pass_s(num_rows) for num_rows in range(1, MAX_LENGTH + 2)}
    return FixedCosts(costs), lambda source: order.costs.of_drafter(source).step_s  # those that the report counts with
