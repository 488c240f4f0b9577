"""Makes what an order asks to measure, from what loads targets and drafters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from engine.decoding.pass_costs import measure_passes
from engine.decoding.speculation import CANNOT_ROLL_BACK, Speculation
from engine.lab.measuring.measurement import Measurement
from engine.lab.measuring.order import ALWAYS_DRAFTING, PLAIN, RECALL, BenchOrder
from engine.lab.measuring.prompts import read_prompts
from engine.lab.measuring.windows import Drafting, Schooling
from engine.messages.learned import RecallText
from engine.numerics.draft_length import MAX_LENGTH, FixedCosts, PassCosts
from engine.numerics.suffix_index import SuffixIndex
from engine.proposers.chooser import Always, Chooser
from engine.proposers.remembered import Remembered
from engine.proposers.suffix_lookup import SuffixLookup
from engine.stop_signal import StopSignal
from engine.target.interface import Target, TargetFeature
from engine.target.trace import TokenizingVocabulary, TraceTarget


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

    Raises PromptsUnreadable, Interrupted, and what these raise.
    """
    path = order.vocabulary
    chats = read_prompts(order.prompts, order.limit, recorded=path is not None)
    if order.shift is not None:
        chats += read_prompts(order.shift, order.limit, recorded=path is not None)
    target = load_target() if path is None else TraceTarget(load_vocabulary(path), path)
    try:
        memories = {mode: Remembered(remembered(target)) for mode in order.modes if mode != PLAIN}
        # Each mode has its own drafter, so that none learns from another.
        draftings = {mode: make_drafting(target) for mode in memories if mode != RECALL and _can_draft(target)}
        speculations = {
            mode: _speculation(mode, order, target, _indexes_of(memory), draftings.get(mode), stop)
            for mode, memory in memories.items()
        }
        if not order.learns:
            return Measurement(order, chats, target, speculations)
        schoolings = {mode: Schooling(drafting) for mode, drafting in draftings.items()}
        return Measurement(order, chats, target, speculations, memories, schoolings)
    except BaseException:
        target.close()
        raise


def _speculation(
    mode: str,
    order: BenchOrder,
    target: Target,
    remembered: Callable[[], Sequence[SuffixIndex]],
    drafting: Drafting | None,
    stop: StopSignal,
) -> Speculation:
    if not _can_draft(target):
        return Speculation.off(CANNOT_ROLL_BACK)
    always = None
    if mode == ALWAYS_DRAFTING:
        always = Always(order.draft_length or 1, order.draft_length or MAX_LENGTH)
    costs, step_s = _costs(order, target, stop)
    speculation = Speculation(Chooser(costs, None if always else SuffixLookup(remembered), step_s, always))
    if drafting is not None:
        speculation.begin(drafting.proposer, drafting.proposer.measure_cost())
    return speculation


def _can_draft(target: Target) -> bool:
    return TargetFeature.ROLLBACK in target.features


def _costs(order: BenchOrder, target: Target, stop: StopSignal) -> tuple[PassCosts, float | None]:
    if order.vocabulary is None:
        return measure_passes(target, stop), None
    costs = {num_rows: order.costs.pass_s(num_rows) for num_rows in range(1, MAX_LENGTH + 2)}
    return FixedCosts(costs), order.costs.draft_s(1)  # those that the report counts with


def _indexes_of(memory: Remembered) -> Callable[[], Sequence[SuffixIndex]]:
    return lambda: memory.indexes
