from __future__ import annotations

import pytest

from engine.drafter.checkpoint import choose_device
from engine.errors import DrafterUnusable


def test_there_is_always_a_device() -> None:
    assert choose_device() in {"cuda", "mps", "cpu"}


def test_the_wanted_one_is_taken() -> None:
    assert choose_device("cpu") == "cpu"


@pytest.mark.parametrize("wanted", ["tpu", "", "cuda:99", "cpu:0; rm"])
def test_an_absent_one_is_refused_and_the_present_ones_are_named(wanted: str) -> None:
    with pytest.raises(DrafterUnusable, match=r"choose .*cpu\.$"):
        choose_device(wanted)
