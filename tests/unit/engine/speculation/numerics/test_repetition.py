from __future__ import annotations

import random

import pytest

from engine.speculation.numerics.repetition import repeats

DICE = random.Random(5)
BEFORE = [DICE.randrange(1000) for _ in range(300)]


@pytest.mark.parametrize("period", [1, 2, 3, 7, 24, 40, 100, 256])
def test_a_repetition_is_noticed_once_it_is_long_enough(period: int) -> None:
    """The repeated tokens hold one token twice, so that the shortest distance of a token to itself is no period."""
    again = [DICE.randrange(1000) for _ in range(period)]
    again[0] = again[period // 2]
    endless, needed = again * (1200 // period), max(128, 4 * period)
    assert not repeats(BEFORE + endless[: needed - 1])
    assert repeats(BEFORE + endless[:needed])
    assert repeats(endless[: needed + 5])
    assert not repeats([*endless, 1000])


def test_what_only_looks_alike_is_no_repetition() -> None:
    numbered = [token for number in range(100) for token in (1000 + number, *BEFORE[:9])]
    chorus = [token for verse in range(6) for token in (*BEFORE[20 * verse : 20 * verse + 20], *BEFORE[200:240])]
    for text in (numbered, chorus, BEFORE * 3, [7] * 127, []):
        assert not any(repeats(text[:end]) for end in range(len(text) + 1))
