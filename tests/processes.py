"""The whole suite runs in two processes side by side, each on processors of its own; what is named runs in one.

`-n 0` or `-p no:xdist` runs everything in one process, `-n NUMBER` in as many as wanted.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_MOST = 2  # a process takes up to two gigabytes
_TESTS = Path(__file__).parent


def spread(config: pytest.Config) -> None:
    """Asks pytest-xdist for two processes when the whole suite is run and nothing else was asked for."""
    option = config.option
    if not config.pluginmanager.hasplugin("xdist") or hasattr(config, "workerinput"):
        return
    named = {Path(argument).resolve() for argument in config.args}
    is_whole = _TESTS in named or _TESTS.parent in named
    if is_whole and option.numprocesses is None and option.dist == "no" and not (option.usepdb or option.collectonly):
        option.numprocesses = min(_MOST, len(_processors()) or os.cpu_count() or 1)
        option.dist = "worksteal"  # who has nothing left takes over from the other, so that both end together


def keep_apart(config: pytest.Config) -> None:
    """Gives this process its share of the processors, before anything counts them: two processes whose threads wait
    for one another on the same processors take several times as long."""
    worker = getattr(config, "workerinput", None)
    processors = _processors()
    if worker is not None and processors:
        number, count = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
        os.sched_setaffinity(0, processors[number % count :: count] or processors)


def _processors() -> list[int]:
    """Those that this process may use; none where the platform does not tell."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
