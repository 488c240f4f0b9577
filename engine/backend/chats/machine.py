"""Measures what the target in use costs on this machine: passes over few tokens, and reading a prompt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from statistics import median
from typing import NamedTuple

import psutil

from engine.backend.library.outlook import sound
from engine.speculation.model.interface import Interrupted, Target
from engine.speculation.model.llama.passes import sample_tokens, time_pass
from engine.speculation.numerics.draft_length import PassCosts
from engine.values.clock import now
from engine.values.errors import Cancelled
from engine.values.outlook import MachineFigures
from engine.values.stop_signal import StopSignal
from engine.values.targets import TargetSource

_ROWS = (1, 2, 4, 8, 16)
_PASSES_S = 3.0  # for all of them together, once each of the needed ones was timed
_MOST_TURNS = 12
_NEEDED = (1, 2, 4)
_SLOW_S = 0.1  # a pass that takes longer is timed once in a turn: how its graph is built makes no difference
_WEIGHT = 6  # passes of replies, for what the draft policy knows
_BUSY = 1.3  # times the least, in the middle: on a quiet machine, passes differ by some hundredths
_OTHERS = 0.2  # of the processor's time: what other programs take where the machine is quiet is less
_READING_S = 1.0
_READ_TOKENS = (32, 512)  # fewest and most


def measure_machine(
    target: Target, source: TargetSource, report: Callable[[float], object], stop: StopSignal
) -> MachineFigures:
    """The target holds nothing before and after. `report` takes the share that is done. Raises Cancelled."""
    before = _Work.now()
    try:
        times = _time_passes(target, lambda share: report(share * _PASSES_S / (_PASSES_S + _READING_S)), stop)
        passes = {num: min(each) for num, each in times.items()}
        reads_per_s = _time_reading(target, passes, stop)
    except Interrupted as error:
        raise Cancelled("Measuring was stopped.") from error
    finally:
        target.roll_back(0)
    report(1.0)
    name, size_bytes = target.description.name, target.description.size_bytes
    is_busy = median(times[1]) > _BUSY * passes[1] or others_share(before, _Work.now()) > _OTHERS
    return MachineFigures(name, source.identity, size_bytes, passes, reads_per_s, is_busy)


class _Work(NamedTuple):
    """Seconds of all cores together since the machine was started."""

    whole: float
    idle: float
    ours: float  # of this process

    @classmethod
    def now(cls) -> _Work:
        times, own = psutil.cpu_times(), psutil.Process().cpu_times()
        idle = times.idle + getattr(times, "iowait", 0.0)
        return cls(times.user + times.system + getattr(times, "nice", 0.0) + idle, idle, own.user + own.system)


def others_share(before: tuple[float, float, float], after: tuple[float, float, float]) -> float:
    """Share of the processor's time that other programs used meanwhile, 0 … 1."""
    whole, idle, ours = (late - early for early, late in zip(before, after, strict=True))
    return max(0.0, whole - idle - ours) / whole if whole > 0 else 0.0


def tell_costs(passes: PassCosts, machine: MachineFigures) -> None:
    """What was measured counts as several passes of replies: it took longer than the measuring at loading, and the
    least of several turns says more than what a busy machine took then."""
    passes.enter(0)
    for num_tokens, seconds in sound(machine.passes).items():
        for _ in range(_WEIGHT):
            passes.refine(num_tokens, seconds)


def _time_passes(target: Target, report: Callable[[float], object], stop: StopSignal) -> dict[int, list[float]]:
    """V(n) in several turns. The least counts: whatever else the machine does makes a pass longer, nothing makes it
    shorter."""
    limits = target.limits
    most = max(1, min(limits.max_rows, limits.max_tokens, limits.context_size // 2))
    tokens = sample_tokens(target, max(_ROWS))
    rows = [num for num in _ROWS if num <= most]
    began, found = now(), defaultdict[int, list[float]](list)
    for place, num in enumerate(rows * _MOST_TURNS):
        share = max((now() - began) / _PASSES_S, place / len(rows) / _MOST_TURNS)
        if share >= 1 and all(each in found for each in rows if each in _NEEDED):
            break
        report(min(1.0, share))
        seconds = time_pass(target, tokens[:num], stop)
        if seconds < _SLOW_S:  # the first one builds the graph of this size
            seconds = min(seconds, time_pass(target, tokens[:num], stop))
        found[num].append(seconds)
    return found


def _time_reading(target: Target, passes: dict[int, float], stop: StopSignal) -> float:
    """Tokens of a prompt per second."""
    most = max(passes)
    fewest, usual = _READ_TOKENS
    num = min(max(fewest, int(_READING_S * most / passes[most])), usual, target.limits.context_size // 2)
    tokens = sample_tokens(target, num)
    began = now()
    size = target.limits.max_tokens
    for start in range(0, num, size):
        target.evaluate(tokens[start : start + size], 1, stop)
    return num / (now() - began)
