from __future__ import annotations

import logging

import pytest

from tests.benchmarks.first_chats import is_met, logged


@pytest.mark.parametrize(
    ("num_logged", "page", "bench", "met"),
    [(0, 1.1, 1.1, True), (3, 1.04, 1.0, True), (4, 1.0, 1.0, False), (0, 1.06, 1.0, False), (0, 1.0, 1.06, False)],
)
def test_both_bars_are_to_be_met(num_logged: int, page: float, bench: float, met: bool) -> None:
    assert is_met(60, num_logged, page, bench) is met


def test_what_the_log_says_of_replies_is_heard_meanwhile_alone() -> None:
    logger = logging.getLogger("slipstream.chat")
    with logged() as lines:
        logger.warning("reply %d was slow", 7)
        logger.info("nothing")
    logger.warning("later")
    assert lines == ["reply 7 was slow"]
