"""Makes what an order asks to measure, from what loads targets and drafters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from engine.measuring.measurement import Measurement
from engine.measuring.order import ALWAYS_DRAFTING, PLAIN, BenchOrder
from engine.measuring.prompts import read_prompts
from engine.numerics.draft_length import MAX_LENGTH, FixedCosts
from engine.pace import Pace, measure_passes
from engine.proposers.interface import Proposer
from engine.speculation import CANNOT_ROLL_BACK, Speculation
from engine.stop_signal import StopSignal
from engine.target.interface import Target
from engine.target.trace import TokenizingVocabulary, TraceTarget


def open_measurement(
    order: BenchOrder,
    load_target: Callable[[], Target],
    load_vocabulary: Callable[[Path], TokenizingVocabulary],
    make_proposer: Callable[[Target], Proposer],
    stop: StopSignal,
) -> Measurement:
    """`load_target` loads the order's target where that is a model, `load_vocabulary` what recorded replies are
    replayed in, `make_proposer` makes a proposer that has learned nothing yet.

    Raises PromptsUnreadable, Interrupted, and what these raise.
    """
    path = order.vocabulary
    chats = read_prompts(order.prompts, order.limit, recorded=path is not None)
    target = load_target() if path is None else TraceTarget(load_vocabulary(path), path)
    try:
        speculations = {
            mode: _speculation(mode, order, target, make_proposer, stop) for mode in order.modes if mode != PLAIN
        }
        return Measurement(order, chats, target, speculations)
    except BaseException:
        target.close()
        raise


def _speculation(
    mode: str, order: BenchOrder, target: Target, make_proposer: Callable[[Target], Proposer], stop: StopSignal
) -> Speculation:
    """Each mode has its own, so that none learns from another."""
    proposer = make_proposer(target)
    if proposer.needs - target.features:
        return Speculation.off(CANNOT_ROLL_BACK)
    speculation = Speculation(_pace(mode, order, target, stop))
    speculation.begin(proposer, proposer.measure_cost())
    return speculation


def _pace(mode: str, order: BenchOrder, target: Target, stop: StopSignal) -> Pace:
    shortest, longest = 0, MAX_LENGTH
    if mode == ALWAYS_DRAFTING:
        shortest = order.draft_length or 1
        longest = order.draft_length or MAX_LENGTH
    if order.vocabulary is not None:  # the costs that the report counts with
        costs = {num_rows: order.costs.pass_s(num_rows) for num_rows in range(1, MAX_LENGTH + 2)}
        return Pace(FixedCosts(costs), order.costs.draft_s(1), shortest, longest)
    return Pace(measure_passes(target, stop), None, shortest, longest)
