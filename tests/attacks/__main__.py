"""Attacks the app with what nobody wishes it: `python -m tests.attacks [NAME …] [--count N] [--seed S]`.

Each attack runs in a process of its own with bounded time and memory, and gets a line: how many tries there were, how
many of them failed, and what was measured. `--list` names them. Ends with 1 if any try failed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import time

from tests.attacks.attack import Outcome
from tests.attacks.catalogue import NAMES, attack

_MOST_TOLD = 10  # failures of one attack


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description="Attacks the app.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"only these: {', '.join(NAMES)}")
    parser.add_argument("--count", type=int, help="tries of each attack, instead of its own number")
    parser.add_argument("--seed", type=int, default=1, help="what the tries are made from (1)")
    parser.add_argument("--list", action="store_true", help="name the attacks")
    chosen = parser.parse_args()
    unknown = [name for name in chosen.names if name not in NAMES]
    if unknown:
        parser.error(f"there is no attack {unknown[0]}; choose from {', '.join(NAMES)}")
    failed = 0
    for name in chosen.names or NAMES:
        count = chosen.count or attack(name).count
        if chosen.list:
            print(f"{name:11}{count:>6}  {attack(name).about}")
            continue
        start = time.monotonic()
        outcome = _in_process(name, chosen.seed, count)
        figures = "".join(f" · {key}: {value}" for key, value in outcome.figures.items())
        verdict = f"{len(outcome.failures)} of {outcome.tried} failed" if outcome.failures else f"{outcome.tried} held"
        print(f"{name:11}{verdict}{figures} · {time.monotonic() - start:.0f} s", flush=True)
        for failure in outcome.failures[:_MOST_TOLD]:
            print(f"    {failure}")
        failed += bool(outcome.failures)
    return 1 if failed else 0


def _in_process(name: str, seed: int, count: int) -> Outcome:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.attacks.apart", name, str(seed), str(count)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        start_new_session=True,
    )
    try:
        out, complaints = process.communicate(timeout=attack(name).patience_s)
    except subprocess.TimeoutExpired:
        return Outcome(count, [f"it came to no end in {attack(name).patience_s:.0f} s"])
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its own children, too
        process.wait()
    if process.returncode:
        return Outcome(count, [f"its process ended with {process.returncode}: {complaints[-2000:]}"])
    return Outcome(**json.loads(out.splitlines()[-1]))


if __name__ == "__main__":
    sys.exit(main())
