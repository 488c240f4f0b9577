"""The whole suite runs in two processes side by side, each on processors of its own; named tests run in one.

`-n 0` or `-p no:xdist` runs everything in one process, `-n NUMBER` in that many.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_MOST = 2  # a process takes up to two gigabytes
_TESTS = Path(__file__).parent


def spread(config: pytest.Config) -> None:
    """Sets pytest-xdist to two processes when the whole suite is run and no option says otherwise."""
    option = config.option
    if not config.pluginmanager.hasplugin("xdist") or hasattr(config, "workerinput"):
        return
    named = {Path(argument).resolve() for argument in config.args}
    is_whole = _TESTS in named or _TESTS.parent in named
    if is_whole and option.numprocesses is None and option.dist == "no" and not (option.usepdb or option.collectonly):
        option.numprocesses = min(_MOST, len(_processors()) or os.cpu_count() or 1)
        option.dist = "worksteal"  # a process without tests left takes some of the other's, so that both end together


def keep_apart(config: pytest.Config) -> None:
    """Binds this process to its share of the processors, before anything counts them: two processes whose threads wait
    for one another on the same processors take several times as long."""
    worker = getattr(config, "workerinput", None)
    processors = _processors()
    if worker is not None and processors:
        number, count = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
        os.sched_setaffinity(0, processors[number % count :: count] or processors)


def _processors() -> list[int]:
    """The processors that this process may use; none where the platform does not say."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
