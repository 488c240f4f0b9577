"""What takes long waits until nobody waits for a reply."""

from __future__ import annotations

import threading
import time

import pytest

from engine.values.errors import Cancelled
from engine.values.spare_time import SpareTime

LULL_S = 0.05


class Errand:
    """Waits for spare time, on a thread of its own."""

    def __init__(self, spare: SpareTime) -> None:
        self.outcome = ""
        self._spare = spare
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._spare.wait()
            self.outcome = "done"
        except Cancelled:
            self.outcome = "cancelled"

    def ended(self, patience_s: float = 10.0) -> str:
        """Empty where it still waits."""
        self._thread.join(patience_s)
        return self.outcome


def test_without_a_lull_it_is_there_at_once() -> None:
    spare = SpareTime(lull_s=0.0)
    assert not spare.is_taken
    spare.wait()


def test_it_begins_some_time_after_a_start() -> None:
    began = time.monotonic()
    SpareTime(LULL_S).wait()
    assert time.monotonic() - began >= LULL_S


def test_while_somebody_waits_for_a_reply_nothing_is_done() -> None:
    spare = SpareTime(LULL_S)
    with spare.taken():
        errand = Errand(spare)
        with spare.taken():
            pass
        assert spare.is_taken
        assert errand.ended(3 * LULL_S) == ""
        until = time.monotonic()
    assert not spare.is_taken
    assert errand.ended() == "done"
    assert time.monotonic() - until >= LULL_S


def test_a_reply_that_fails_gives_the_time_back() -> None:
    spare = SpareTime(LULL_S)
    with pytest.raises(ZeroDivisionError), spare.taken():
        raise ZeroDivisionError
    spare.wait()


def test_what_nobody_needs_any_more_is_not_waited_for() -> None:
    spare = SpareTime(LULL_S)
    with spare.taken():
        errand = Errand(spare)
        spare.end()
        assert errand.ended() == "cancelled"
    with pytest.raises(Cancelled):
        spare.wait()
