"""Times a step of a drafter."""

from __future__ import annotations

import math
import time

from engine.speculation.drafter.interface import Drafter

_FEWEST_TURNS, _MOST_TURNS = 3, 12  # steps that are timed with each number of threads
_MEASURING_S = 0.04  # about as long as timing takes, but for these turns


def measure_step(drafter: Drafter) -> float:
    """Seconds for reading one token, at best, with the fastest number of threads, which the drafter keeps. It goes on
    holding what it holds, except for the last token where there is no room for another."""
    num_held = min(drafter.num_held, drafter.max_held - 1)
    most = drafter.most_threads
    best_s = dict.fromkeys(sorted({1, min(2, most), most}), math.inf)
    began = time.perf_counter()
    for turn in range(_MOST_TURNS):
        for num_threads in best_s:  # in turns, so that other work of the machine disturbs all of them alike
            drafter.use_threads(num_threads)
            drafter.roll_back(num_held)
            started = time.perf_counter()
            drafter.read([turn])
            best_s[num_threads] = min(best_s[num_threads], time.perf_counter() - started)
        if turn + 1 >= _FEWEST_TURNS and time.perf_counter() - began > _MEASURING_S:
            break
    drafter.roll_back(num_held)
    quickest = min(best_s, key=best_s.__getitem__)
    drafter.use_threads(quickest)
    return best_s[quickest]
