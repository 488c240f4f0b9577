from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from engine.factory import Lazy
from engine.values.errors import StoreUnusable


def test_many_threads_get_the_one_that_was_built() -> None:
    lazy = Lazy(object)
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _number: lazy(), range(100)))) == 1


def test_building_is_tried_again_after_it_failed() -> None:
    outcomes = iter((StoreUnusable("The disk is full."), "a store"))

    def build() -> str:
        outcome = next(outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    lazy = Lazy(build)
    with pytest.raises(StoreUnusable):
        lazy()
    assert lazy.built is None
    assert lazy() == lazy() == "a store"


def test_what_fails_afterwards_is_tried_once() -> None:
    seen: list[str] = []

    def then(built: str) -> None:
        seen.append(built)
        raise StoreUnusable("The disk is full.")

    lazy = Lazy(lambda: "a store", then)
    with pytest.raises(StoreUnusable):
        lazy()
    assert lazy() == "a store"
    assert seen == ["a store"]
