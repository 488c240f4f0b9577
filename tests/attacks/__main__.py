"""Attacks the app with what nobody wishes it: `python -m tests.attacks [NAME …] [--count N] [--seed S]`.

Each attack runs in a process of its own with bounded time and memory, and gets a line: how many tries there were, how
many of them failed, and what was measured. `--list` names them. Ends with 1 if any try failed.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil

from tests.attacks.attack import Attack, Outcome
from tests.attacks.catalogue import ATTACKS

_MOST_TOLD = 10  # failures of one attack
_PR_SET_CHILD_SUBREAPER = 36  # see prctl(2)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description="Attacks the app.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"only these: {', '.join(ATTACKS)}")
    parser.add_argument("--count", type=int, help="tries of each attack, instead of its own number")
    parser.add_argument("--seed", type=int, default=1, help="what the tries are made from (1)")
    parser.add_argument("--list", action="store_true", help="name the attacks")
    chosen = parser.parse_args()
    unknown = [name for name in chosen.names if name not in ATTACKS]
    if unknown:
        parser.error(f"there is no attack {unknown[0]}; choose from {', '.join(ATTACKS)}")
    failed = 0
    for attack in [ATTACKS[name] for name in chosen.names or ATTACKS]:
        count = chosen.count or attack.count
        if chosen.list:
            print(f"{attack.name:11}{count:>6}  {attack.about}")
            continue
        start = time.monotonic()
        outcome = _in_process(attack, chosen.seed, count)
        figures = "".join(f" · {key}: {value}" for key, value in outcome.figures.items())
        verdict = f"{len(outcome.failures)} of {outcome.tried} failed" if outcome.failures else f"{outcome.tried} held"
        print(f"{attack.name:11}{verdict}{figures} · {time.monotonic() - start:.0f} s", flush=True)
        for failure in outcome.failures[:_MOST_TOLD]:
            print(f"    {failure}")
        failed += bool(outcome.failures)
    return 1 if failed else 0


def _in_process(attack: Attack, seed: int, count: int) -> Outcome:
    with _alone():
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.attacks.apart", attack.name, str(seed), str(count)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
            start_new_session=True,
        )
        try:
            out, complaints = process.communicate(timeout=attack.patience_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return Outcome(count, [f"it came to no end in {attack.patience_s:.0f} s"])
    if process.returncode:
        return Outcome(count, [f"its process ended with {process.returncode}: {complaints[-2000:]}"])
    return Outcome(**json.loads(out.splitlines()[-1]))


@contextmanager
def _alone() -> Iterator[None]:
    """Whatever is started inside ends here, whoever started it and whether or not that one still lives."""
    known = set(psutil.Process().children(recursive=True))
    _adopt(True)
    try:
        yield
    finally:
        while left := set(psutil.Process().children(recursive=True)) - known:
            for process in left:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            psutil.wait_procs(left, timeout=1.0)
        _adopt(False)


def _adopt(is_wished: bool) -> None:
    """Whether processes become children of this one when the one that started them ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(is_wished), 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main())
