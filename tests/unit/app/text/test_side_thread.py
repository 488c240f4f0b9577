"""Work beside the interface ends with what it is for."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread

from app.text.side_thread import Lifetime, stopper


class _LastToHold:
    """Waiting work that alone holds the object that it is for."""

    def __init__(self, on_end: Callable[[], None]) -> None:
        self._on_end = on_end

    def __call__(self) -> None: ...

    def __del__(self) -> None:
        self._on_end()


def test_dropping_the_work_that_waits_may_end_what_it_was_for() -> None:
    thread, go_on = ThreadPoolExecutor(1), Event()
    stop = stopper(thread, Lifetime())
    thread.submit(go_on.wait)
    for _ in range(2):
        thread.submit(_LastToHold(stop))
    stopping = Thread(target=stop, daemon=True)
    stopping.start()
    stopping.join(30)
    go_on.set()
    assert not stopping.is_alive()
