"""What memory knew of a reply before it was written, against a slow plain search."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.speculation.learning import remembered
from engine.speculation.learning.adapting import never_stop
from engine.speculation.learning.remembered import NOT_COPIED, RecentTexts, Remembered
from engine.speculation.learning.samples import Sample
from engine.speculation.numerics.habits import expected
from engine.speculation.numerics.suffix_index import LONGEST_MATCH, GrowingText, SuffixIndex

texts = st.lists(st.integers(0, 2), min_size=1, max_size=40)


def sample(tokens: Sequence[int], reply_start: int = 1) -> Sample:
    size = len(tokens)
    return Sample(np.array(tokens, np.int32), np.ones(size, np.float32), np.full(size, -1, np.int32), reply_start)


def memory_of(*earlier: Sequence[int]) -> RecentTexts:
    memory = RecentTexts()
    for number, text in enumerate(earlier):
        memory.add(number, np.array(text, np.int32))
    return memory


def copy_of(earlier: Sequence[Sequence[int]], here: Sequence[int], least: int) -> int | None:
    """What followed where a text went on longest as `here` ends, the latest such place."""
    best, found = least - 1, None
    for text in [here, *reversed(earlier)]:
        for end in reversed(range(1, len(text))):
            length = 0
            while length < min(end, len(here), LONGEST_MATCH) and text[end - 1 - length] == here[-1 - length]:
                length += 1
            if length > best:
                best, found = length, text[end]
    return found


@given(earlier=st.lists(texts, max_size=4), here=st.lists(st.integers(0, 2), min_size=2, max_size=40))
@settings(deadline=None)
def test_recall_drafts_where_the_text_is_a_copy(earlier: list[list[int]], here: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(remembered, "_SURE_MATCH", 3)
        patch.setattr(remembered, "_BLOCK_TOKENS", 30)  # two texts or one
        known = memory_of(*earlier).of(sample(here), never_stop)
    for place, written in enumerate(here[1:], 1):
        copy = copy_of(earlier, here[:place], 3)
        assert known.copied[place - 1] == (NOT_COPIED if copy is None else copy == written)


@given(earlier=st.lists(texts, max_size=4), here=st.lists(st.integers(0, 2), min_size=2, max_size=40))
@settings(deadline=None)
def test_habits_let_expect_what_they_would_in_a_chat(earlier: list[list[int]], here: list[int]) -> None:
    known = memory_of(*earlier).of(sample(here), never_stop)
    index = [SuffixIndex(earlier)] if earlier else []
    for place in range(1, len(here)):
        text = GrowingText()
        text.extend(here[:place])
        likely = expected([text.habits, *(each.habits for each in index)], here[max(0, place - 8) : place])
        masses = dict(zip(known.tokens[place - 1].tolist(), known.masses[place - 1].tolist(), strict=True))
        wanted = {} if likely is None else likely.probabilities
        weight = 0 if likely is None else remembered._WEIGHTS[likely.kind]
        for token, share in wanted.items():
            if token:  # 0 also fills up the rows
                assert masses[token] == pytest.approx(share * weight, rel=1e-5)
        assert known.masses[place - 1].sum() == pytest.approx(sum(wanted.values()) * weight, rel=1e-5)


def test_what_is_forgotten_is_not_remembered() -> None:
    song = [*range(40)]
    memory = memory_of(song, [7] * 5)
    assert (memory.of(sample(song), never_stop).copied == 1).sum() == 40 - remembered._SURE_MATCH
    memory.forget([0])
    assert (memory.of(sample(song), never_stop).copied == NOT_COPIED).all()
    memory.forget([1])
    assert not memory.of(sample(song), never_stop).masses.any()


def test_the_oldest_texts_leave_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "_BLOCK_TOKENS", 50)
    monkeypatch.setattr(remembered, "_MOST_TOKENS", 100)
    songs = [range(start, start + 40) for start in range(0, 400, 40)]
    memory = memory_of(*songs)
    known = [bool((memory.of(sample(song), never_stop).copied == 1).any()) for song in songs]
    assert known == sorted(known)
    assert 3 <= sum(known) <= 4


def test_somebody_who_waits_is_asked_for_at_every_place() -> None:
    calls = 0

    def count() -> None:
        nonlocal calls
        calls += 1

    memory_of([1, 2, 3]).of(sample([1, 2, 3, 4, 5, 6]), count)
    assert calls >= 5


def test_nothing_is_remembered_where_there_is_no_memory() -> None:
    nothing = Remembered.nothing(3)
    assert nothing.copied.tolist() == [NOT_COPIED] * 3
    assert not nothing.masses.any()
