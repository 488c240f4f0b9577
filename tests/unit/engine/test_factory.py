from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from engine.factory import Lazy, Services, row_of
from engine.values.commands import ChatCommand, Command, ReplyCommand, Send, UpdateRecall
from engine.values.config import EngineConfig
from engine.values.errors import StoreUnusable
from engine.values.stop_signal import StopSignal
from tests.fakes.commands import ALL_COMMANDS
from tests.fakes.precedence import NOBODY


def test_every_command_is_carried_out_by_something(tmp_path: Path) -> None:
    services = Services(
        EngineConfig(tmp_path), lambda _event: None, lambda _command: StopSignal(), MagicMock(), MagicMock(), NOBODY
    )
    for command in ALL_COMMANDS:
        assert callable(row_of(services._handlers, command))


def test_the_row_of_the_nearest_type_counts() -> None:
    table: dict[type, str] = {ReplyCommand: "mail", Command: "any", ChatCommand: "chat"}
    assert [row_of(table, kind) for kind in (Send, UpdateRecall, Command)] == ["mail", "chat", "any"]


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
