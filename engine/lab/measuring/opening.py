"""Makes what an order asks to measure, from what loads targets and drafters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from engine.decoding.speculation import Speculation, open_speculation
from engine.lab.measuring.measurement import Measurement
from engine.lab.measuring.order import (
    ALWAYS,
    ALWAYS_DRAFTING,
    CHAIN,
    MEDUSA,
    MEDUSA_TREE,
    RECALL,
    TREE,
    WITHOUT_DRAFTS,
    BenchOrder,
)
from engine.lab.measuring.prompts import read_prompts
from engine.lab.measuring.windows import Schooling
from engine.messages.drafters import DrafterSource
from engine.messages.learned import RecallText
from engine.numerics.draft_length import MAX_LENGTH, USUAL_LENGTH, FixedCosts, PassCosts
from engine.proposers import catalogue
from engine.proposers.candidate import Always
from engine.proposers.chooser import Chooser
from engine.proposers.costs import measure_passes
from engine.proposers.drafting import Teachable
from engine.proposers.interface import Proposer, Supplies
from engine.proposers.recall import RecallTexts
from engine.proposers.selection import GivenStep
from engine.stop_signal import StopSignal
from engine.target.body import BodyTarget
from engine.target.interface import Target, TargetFeature, TokenizingVocabulary
from engine.target.trace import TraceTarget


class Drafting(Protocol):
    """What `engine.proposers.drafting.Drafting` is to a measurement."""

    @property
    def source(self) -> DrafterSource: ...
    @property
    def proposer(self) -> Proposer: ...
    @property
    def teachable(self) -> Teachable | None: ...


# For a target, at these costs of passes and of a step where that is given, and in this mode; None where none pays, but
# not in a mode of `ALWAYS`.
MakeDrafting = Callable[[Target, PassCosts, GivenStep, str], Drafting | None]

# Modes in which one proposer drafts, by key of its origin.
_ALONE = {ALWAYS_DRAFTING: "drafter", TREE: "drafter", RECALL: "recall", MEDUSA: "heads", MEDUSA_TREE: "heads"}


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
        memories = {mode: RecallTexts(remembered(target)) for mode in order.modes if mode not in WITHOUT_DRAFTS}
        # Each mode has its own drafter, so that none learns from another.
        draftings: dict[str, Drafting] = {}
        speculations: dict[str, Speculation] = {}
        for mode, memory in memories.items():
            costs, given_step = _costs(order, target, stop)
            drafting, step_s = None, None
            if mode != RECALL and TargetFeature.ROLLBACK in target.features:
                drafting = make_drafting(target, costs, given_step, mode)
            if drafting is not None:
                draftings[mode], step_s = drafting, given_step(drafting.source)
            always = _always(order) if mode in ALWAYS else None
            draws_trees = mode not in (ALWAYS_DRAFTING, CHAIN, MEDUSA)
            chooser = Chooser(costs, step_s=step_s, always=always, draws_trees=draws_trees)
            source = None if drafting is None else drafting.source
            speculations[mode] = _speculation(mode, chooser, _supplies(target, memory, drafting), source)
        drafters = {mode: drafting.source for mode, drafting in draftings.items()}
        taught = {mode: each.teachable for mode, each in draftings.items() if order.teaches}
        schoolings = {mode: Schooling(teachable) for mode, teachable in taught.items() if teachable is not None}
        memories = memories if order.remembers else {}
        return Measurement(order, chats, target, speculations, memories, schoolings, drafters)
    except BaseException:
        target.close()
        raise


def _supplies(target: Target, memory: RecallTexts, drafting: Drafting | None) -> Supplies:
    load = None if drafting is None else lambda _is_cancelled: drafting.proposer
    return Supplies(target, lambda: memory.indexes, load)


def _speculation(mode: str, chooser: Chooser, supplies: Supplies, supplied: DrafterSource | None) -> Speculation:
    listed = catalogue.proposers(supplied)
    alone = [each for each in listed if each.origin.key == _ALONE.get(mode, each.origin.key)]
    return open_speculation(chooser, supplies, alone, at_once=True)


def _always(order: BenchOrder) -> Always:
    return Always(order.draft_length or 1, order.draft_length or USUAL_LENGTH)


def _costs(order: BenchOrder, target: Target, stop: StopSignal) -> tuple[PassCosts, GivenStep]:
    if not order.is_simulated:
        return measure_passes(target, stop), lambda _source: None
    costs = {num_rows: order.costs.pass_s(num_rows) for num_rows in range(1, MAX_LENGTH + 2)}
    return FixedCosts(costs), lambda source: order.costs.of_drafter(source).step_s  # those that the report counts with
