from __future__ import annotations

import threading

from engine.backend.teaching.era import Era


def test_what_was_noted_in_one_era_does_not_last_into_the_next() -> None:
    era = Era()
    before = era.number
    with era.lasting(before) as lasts:
        assert lasts
    with era.ending():
        era.begin_next()
    with era.lasting(before) as lasts:
        assert not lasts
    with era.lasting(era.number) as lasts:
        assert lasts


def test_nobody_waits_for_an_era_that_is_about_to_end() -> None:
    era = Era()
    with era.ending(), era.lasting(era.number) as lasts:
        assert not lasts
    with era.lasting(era.number) as lasts:
        assert lasts, "nothing came of it"


def test_an_era_does_not_end_in_the_middle_of_what_is_kept() -> None:
    era = Era()
    ended = threading.Event()

    def end() -> None:
        with era.ending():
            ended.set()

    thread = threading.Thread(target=end)
    with era.lasting(era.number) as lasts:
        assert lasts
        thread.start()
        assert not ended.wait(0.1)
    thread.join()
    assert ended.is_set()
