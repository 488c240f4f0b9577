"""One attack, in the process it gets for itself: `python -m tests.attacks.apart NAME SEED COUNT`. Prints its outcome in
JSON, on the last line."""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from tests.attacks.attack import Plan

_MOST_BYTES = 8 << 30  # of a process that an attack runs in: it must not take the machine along


def main(name: str, seed: str, count: str) -> None:
    _limit()
    with tempfile.TemporaryDirectory(prefix=f"slipstream-{name}-") as folder:
        outcome = import_module(f"tests.attacks.{name}").run(Plan(int(seed), int(count), Path(folder)))
    print(json.dumps(asdict(outcome)), flush=True)


def _limit() -> None:
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (_MOST_BYTES, _MOST_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    main(*sys.argv[1:])
