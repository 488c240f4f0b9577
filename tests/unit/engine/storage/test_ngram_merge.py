"""Joining n-grams of two stores: nothing is counted twice, and no order matters but on a draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from engine.messages.learned import NgramRecord
from engine.storage.ngrams import changes_by

OWN = NgramRecord((1, 2), token=7, count=5, doubts=2, last_use=100)


def joined(imported: Sequence[NgramRecord], own: Sequence[NgramRecord]) -> dict[tuple[int, ...], NgramRecord]:
    return {ngram.string: ngram for ngram in (*own, *changes_by(imported, own))}


def test_of_one_token_the_larger_counts_stand() -> None:
    (changed,) = changes_by([replace(OWN, count=9, doubts=1)], [OWN])
    assert changed == replace(OWN, count=9)


def test_what_is_not_known_is_added_and_what_is_known_stays() -> None:
    new = replace(OWN, string=(3,), last_use=100)
    assert changes_by([new, OWN], [OWN]) == [new]
    assert changes_by([], [OWN]) == []


def test_whose_token_a_string_is_the_larger_count_decides_and_a_draw_leaves_it() -> None:
    other = replace(OWN, token=8)
    assert changes_by([replace(other, count=5)], [OWN]) == []
    assert changes_by([replace(other, count=6, doubts=0)], [OWN]) == [replace(other, count=6, doubts=0)]


def test_the_latest_use_of_both_is_now() -> None:
    own = [OWN, replace(OWN, string=(9,), last_use=1000)]
    imported = [replace(OWN, string=(3,), last_use=40), replace(OWN, string=(4,), last_use=50)]
    assert [ngram.last_use for ngram in changes_by(imported, own)] == [990, 1000]
    far_ahead = [replace(OWN, string=(3,), last_use=2**40), replace(OWN, string=(4,), last_use=5)]
    assert [ngram.last_use for ngram in changes_by(far_ahead, own)] == [1000, 0]
    assert changes_by(imported, []) == imported


ngrams = st.lists(
    st.builds(
        NgramRecord,
        string=st.lists(st.integers(0, 2), min_size=1, max_size=2).map(tuple),
        token=st.integers(0, 2),
        count=st.integers(1, 5),
        doubts=st.integers(0, 5),
        last_use=st.integers(0, 20),
    ),
    max_size=8,
    unique_by=lambda ngram: ngram.string,
)


@given(imported=ngrams, own=ngrams)
def test_a_second_time_nothing_changes(imported: list[NgramRecord], own: list[NgramRecord]) -> None:
    after = joined(imported, own)
    assert changes_by(imported, list(after.values())) == []
    assert changes_by(own, own) == []


@given(imported=ngrams, own=ngrams)
def test_nothing_is_lost_and_nothing_is_made_up(imported: list[NgramRecord], own: list[NgramRecord]) -> None:
    after = joined(imported, own)
    assert set(after) == {ngram.string for ngram in (*imported, *own)}
    for string, ngram in after.items():
        both = [each for each in (*imported, *own) if each.string == string]
        assert ngram.count == max(each.count for each in both)
        assert ngram.token in {each.token for each in both if each.count == ngram.count}
