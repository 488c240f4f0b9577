from __future__ import annotations

from pathlib import Path

import pytest

from engine.lab.measuring.order import BenchOrder
from engine.values.errors import SettingInvalid

PROMPTS = Path("prompts.jsonl")


def test_a_mode_that_does_not_exist_is_refused_with_those_that_do() -> None:
    modes = "plain, auto, chain, auto-without-lookahead, neural, tree, medusa, medusa-tree, brought, self"
    with pytest.raises(SettingInvalid, match=rf"^There is no mode “guess”; choose from {modes}, recall, lookahead\.$"):
        BenchOrder("starter", PROMPTS, modes=("plain", "guess"))


@pytest.mark.parametrize("modes", [(), ("plain", "plain")])
def test_every_mode_is_named_once(modes: tuple[str, ...]) -> None:
    with pytest.raises(SettingInvalid, match="Name each mode once"):
        BenchOrder("starter", PROMPTS, modes=modes)


def test_plain_can_be_measured_against_itself() -> None:
    assert BenchOrder.parse_modes("plain, plain,auto") == ("plain", "plain-2", "auto")
    assert BenchOrder.parse_modes("auto,auto") == ("auto", "auto"), "which is refused"
    with pytest.raises(SettingInvalid, match="Name each mode once"):
        BenchOrder("starter", PROMPTS, modes=BenchOrder.parse_modes("plain,plain,plain"))


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(SettingInvalid, match="The limit is 0"):
        BenchOrder("starter", PROMPTS, limit=0)


def test_a_window_below_one_is_refused() -> None:
    with pytest.raises(SettingInvalid, match="The window is 0"):
        BenchOrder("starter", PROMPTS, window=0)


def test_a_target_may_name_the_vocabulary_of_recorded_replies() -> None:
    assert BenchOrder("trace:some/vocab.gguf", PROMPTS).vocabulary == Path("some/vocab.gguf")
    assert BenchOrder("starter", PROMPTS).vocabulary is None
