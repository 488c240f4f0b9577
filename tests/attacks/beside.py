"""What the machine alone does to a thread that should beat every millisecond: a process that does nothing else, beside
the one that is measured. It competes for the processor, and for nothing of the app's."""

from __future__ import annotations

import select
import subprocess
import sys
from time import perf_counter


class Beside:
    """The process. Ends with `close`."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.attacks.beside"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.longest_ms()  # it is running

    def longest_ms(self) -> float:
        """By how much a beat was late at most since this was last asked."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()


def _beat() -> None:
    longest, last = 0.0, perf_counter()
    while True:
        asked, _, _ = select.select([sys.stdin], [], [], 0.001)
        now = perf_counter()
        longest, last = max(longest, now - last - 0.001), now
        if asked:
            if not sys.stdin.readline():
                return
            print(longest * 1000, flush=True)
            longest = 0.0


if __name__ == "__main__":
    _beat()
