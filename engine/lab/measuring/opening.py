"""Makes what an order asks to measure, from what loads targets and drafters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from engine.decoding.speculation import Speculation, open_speculation
from engine.lab.measuring.measurement import Measurement
from engine.lab.measuring.order import ALWAYS_DRAFTING, PLAIN, RECALL, BenchOrder
from engine.lab.measuring.prompts import read_prompts
from engine.lab.measuring.windows import Drafting, Schooling
from engine.messages.learned import RecallText
from engine.numerics.draft_length import MAX_LENGTH, FixedCosts, PassCosts
from engine.proposers import catalogue
from engine.proposers.candidate import Always
from engine.proposers.chooser import Chooser
from engine.proposers.costs import measure_passes
from engine.proposers.interface import Proposer, Supplies
from engine.proposers.recall import RecallTexts
from engine.stop_signal import StopSignal
from engine.target.interface import Target, TargetFeature, TokenizingVocabulary
from engine.target.trace import TraceTarget

_ALONE = {ALWAYS_DRAFTING: "drafter", RECALL: "recall"}  # modes in which one proposer drafts, by key of its origin


def open_measurement(
    order: BenchOrder,
    load_target: Callable[[], Target],
    load_vocabulary: Callable[[Path], TokenizingVocabulary],
    make_drafting: Callable[[Target], Drafting],
    stop: StopSignal,
    remembered: Callable[[Target], Iterable[RecallText]] = lambda _target: (),
) -> Measurement:
    """`load_target` loads the order's target where that is a model, `load_vocabulary` what recorded replies are
    replayed in, `make_drafting` a drafter for it, and `remembered` is what is recalled from the beginning.

    Raises FileUnusable, Interrupted, and what these raise.
    """
    path = order.vocabulary
    chats = read_prompts(order.prompts, order.limit, recorded=path is not None)
    if order.shift is not None:
        chats += read_prompts(order.shift, order.limit, recorded=path is not None)
    target = load_target() if path is None else TraceTarget(load_vocabulary(path), path)
    try:
        memories = {mode: RecallTexts(remembered(target)) for mode in order.modes if mode != PLAIN}
        # Each mode has its own drafter, so that none learns from another.
        can_draft = TargetFeature.ROLLBACK in target.features
        draftings = {mode: make_drafting(target) for mode in memories if mode != RECALL and can_draft}
        speculations = {
            mode: _speculation(mode, order, _supplies(target, memory, draftings.get(mode)), stop)
            for mode, memory in memories.items()
        }
        if not order.learns:
            return Measurement(order, chats, target, speculations)
        schoolings = {mode: Schooling(drafting) for mode, drafting in draftings.items()}
        return Measurement(order, chats, target, speculations, memories, schoolings)
    except BaseException:
        target.close()
        raise


def _supplies(target: Target, memory: RecallTexts, drafting: Drafting | None) -> Supplies:
    def proposer(_is_cancelled: Callable[[], bool]) -> Proposer:
        assert drafting is not None
        return drafting.proposer

    return Supplies(target, lambda: memory.indexes, proposer)


def _speculation(mode: str, order: BenchOrder, supplies: Supplies, stop: StopSignal) -> Speculation:
    always = None
    if mode == ALWAYS_DRAFTING:
        always = Always(order.draft_length or 1, order.draft_length or MAX_LENGTH)

    def make_chooser() -> Chooser:
        costs, step_s = _costs(order, supplies.target, stop)
        return Chooser(costs, step_s=step_s, always=always)

    proposers = [listed for listed in catalogue.PROPOSERS if listed.origin.key == _ALONE.get(mode, listed.origin.key)]
    return open_speculation(make_chooser, supplies, proposers, at_once=True)


def _costs(order: BenchOrder, target: Target, stop: StopSignal) -> tuple[PassCosts, float | None]:
    if order.vocabulary is None:
        return measure_passes(target, stop), None
    costs = {num_rows: order.costs.pass_s(num_rows) for num_rows in range(1, MAX_LENGTH + 2)}
    return FixedCosts(costs), order.costs.draft_s(1)  # those that the report counts with
