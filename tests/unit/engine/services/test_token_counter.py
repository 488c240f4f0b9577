"""Counting beside a reply, and while a target is being closed."""

from __future__ import annotations

import threading

from engine.services.token_counter import TokenCounter
from tests.fakes.target import FakeTarget


def test_it_counts_as_the_target_in_use_reads() -> None:
    counter = TokenCounter()
    assert counter.count("the ") is None
    assert not counter.is_open
    counter.open(FakeTarget())
    assert counter.is_open
    assert counter.count("the end") == 4
    assert counter.count("") == 0
    counter.open(FakeTarget(more_pieces=(b"the end",)))
    assert counter.count("the end") == 1
    counter.close()
    assert counter.count("the end") is None


def test_a_text_that_cannot_fit_is_not_even_tokenized() -> None:
    counter = TokenCounter()
    counter.open(FakeTarget(context_size=4))
    assert counter.count("x" * 64) == 64
    assert counter.count("x" * 65) is None
    assert counter.count("€" * 22) is None


def test_a_target_is_not_closed_in_the_middle_of_counting() -> None:
    began, go_on = threading.Event(), threading.Event()

    class SlowTarget(FakeTarget):
        def tokenize(self, text: str) -> list[int]:
            began.set()
            assert go_on.wait(10)
            assert not self.closed
            return super().tokenize(text)

    target, counter = SlowTarget(), TokenCounter()
    counter.open(target)
    counted: list[int | None] = []
    counting = threading.Thread(target=lambda: counted.append(counter.count("abc")))

    def close() -> None:
        counter.close()
        target.close()

    counting.start()
    assert began.wait(10)
    closing = threading.Thread(target=close)
    closing.start()
    go_on.set()
    counting.join(10)
    closing.join(10)
    assert counted == [3]
    assert target.closed
