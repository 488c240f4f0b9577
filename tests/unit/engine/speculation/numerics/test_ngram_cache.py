"""What the cache makes of what it sees. Target tokens: 0 is [0 1] by the map, 1 is [2], 2 has no string, 3 is [0]."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.speculation.numerics.ngram_cache import NgramCache
from engine.speculation.numerics.string_trie import StringTrie
from engine.speculation.numerics.vocabulary_map import VocabularyMap
from engine.values.learned import NgramRecord

String = tuple[int, ...]


def trie_of(*strings: String) -> StringTrie:
    return StringTrie(
        VocabularyMap.build(
            [bytes(string) for string in strings],
            frozenset(),
            [bytes([token]) for token in range(250)],
            lambda items: [list(item) for item in items],
        )
    )


@pytest.fixture
def trie() -> StringTrie:
    return trie_of((0, 1), (2,), (), (0,))


@pytest.fixture
def cache(trie: StringTrie) -> NgramCache:
    return NgramCache(trie)


def entry(cache: NgramCache, string: String) -> NgramRecord:
    (found,) = (entry for entry in cache.entries() if entry.string == string)
    return found


def test_what_the_map_says_is_only_counted(cache: NgramCache, trie: StringTrie) -> None:
    cache.learn(0, (0, 1))
    cache.learn(0, (0, 1))
    assert trie.string_of(0) == (0, 1)
    assert entry(cache, (0, 1)) == NgramRecord((0, 1), 0, count=3, doubts=0, last_use=2)


def test_a_token_without_a_string_gets_the_first_one_seen(cache: NgramCache, trie: StringTrie) -> None:
    cache.learn(2, (7, 8, 9))
    assert trie.string_of(2) == (7, 8, 9)


def test_another_string_must_be_seen_more_often_than_the_current_one(cache: NgramCache, trie: StringTrie) -> None:
    cache.learn(0, (5, 6))
    assert trie.string_of(0) == (0, 1)  # the map counts for one
    cache.learn(0, (5, 6))
    assert trie.string_of(0) == (5, 6)
    cache.learn(0, (0, 1))
    assert trie.string_of(0) == (5, 6)
    cache.learn(0, (0, 1))
    assert trie.string_of(0) == (0, 1)


def test_of_two_tokens_the_more_frequent_one_has_the_string(cache: NgramCache, trie: StringTrie) -> None:
    for _ in range(4):
        cache.learn(2, (0, 1))
    assert trie.string_of(2) == (0, 1)
    assert trie.string_of(0) == ()
    for _ in range(9):
        cache.learn(0, (0, 1))
    assert trie.string_of(0) == (0, 1)
    assert trie.string_of(2) == ()


def test_one_observation_does_not_take_a_string_away(cache: NgramCache, trie: StringTrie) -> None:
    cache.learn(2, (0, 1))
    assert trie.string_of(0) == (0, 1)


def test_what_is_doubted_more_often_than_confirmed_is_not_live_until_confirmed_again(
    cache: NgramCache, trie: StringTrie
) -> None:
    cache.learn(0, (0, 1))
    cache.doubt(0)
    cache.doubt(0)
    assert trie.string_of(0) == (0, 1)
    cache.doubt(0)
    assert trie.string_of(0) == ()
    cache.doubt(0)  # nothing is live: nothing to doubt
    assert entry(cache, (0, 1)) == NgramRecord((0, 1), 0, count=2, doubts=3, last_use=1)
    cache.learn(0, (0, 1))
    assert trie.string_of(0) == (0, 1)


def test_strings_of_one_token_are_beyond_doubt(cache: NgramCache, trie: StringTrie) -> None:
    for _ in range(5):
        cache.doubt(1)
    assert trie.string_of(1) == (2,)
    assert len(cache) == 0


def test_strings_that_are_too_long_or_empty_are_left_alone(cache: NgramCache, trie: StringTrie) -> None:
    cache.learn(2, (1,) * 9)
    cache.learn(2, ())
    assert trie.string_of(2) == ()
    assert len(cache) == 0


def test_the_least_used_entry_leaves_first(trie: StringTrie) -> None:
    cache = NgramCache(trie, capacity=2)
    for _ in range(3):
        cache.learn(0, (5, 6))
    cache.learn(1, (2,))
    cache.learn(3, (0,))
    assert {found.string for found in cache.entries()} == {(5, 6), (0,)}
    assert trie.string_of(0) == (5, 6)


def test_an_evicted_token_falls_back_to_what_the_map_says(trie: StringTrie) -> None:
    cache = NgramCache(trie, capacity=2)
    cache.learn(2, (5, 6))
    cache.learn(1, (2,))
    cache.learn(1, (2,))
    cache.learn(3, (0,))
    assert trie.string_of(2) == ()
    cache = NgramCache(trie, capacity=1)
    cache.learn(0, (0, 1))
    for _ in range(3):
        cache.doubt(0)
    assert trie.string_of(0) == ()
    cache.learn(3, (0,))
    assert trie.string_of(0) == (0, 1)


def test_old_frequent_entries_give_way_to_new_ones_in_the_end() -> None:
    trie = trie_of((0,), (1,), (2,), (3,))
    cache = NgramCache(trie, capacity=2)
    old = NgramRecord((0,), 0, count=100, doubts=0, last_use=0)
    new = NgramRecord((1,), 1, count=3, doubts=0, last_use=2_000_000)
    cache.load([old, new])
    cache.learn(2, (2,))
    assert {found.string for found in cache.entries()} == {(1,), (2,)}


def test_changes_are_told_once_and_removed_entries_count_zero(trie: StringTrie) -> None:
    cache = NgramCache(trie, capacity=1)
    cache.learn(0, (0, 1))
    cache.learn(0, (0, 1))
    assert cache.take_changes() == (NgramRecord((0, 1), 0, count=3, doubts=0, last_use=2),)
    assert cache.take_changes() == ()
    cache.learn(1, (2,))
    changes = {change.string: change.count for change in cache.take_changes()}
    assert changes == {(0, 1): 0, (2,): 2}


def test_no_more_is_loaded_than_the_capacity(trie: StringTrie) -> None:
    cache = NgramCache(trie, capacity=3)
    cache.load(NgramRecord((9, number), 2, number + 1, 0, 5) for number in range(10))
    assert sorted(found.count for found in cache.entries()) == [8, 9, 10]
    assert trie.string_of(2) == (9, 9)


def test_entries_that_cannot_be_are_not_loaded(cache: NgramCache, trie: StringTrie) -> None:
    cache.load(
        [
            NgramRecord((), 2, 5, 0, 0),
            NgramRecord((5,) * 9, 2, 5, 0, 0),
            NgramRecord((5, 999), 2, 5, 0, 0),
            NgramRecord((5, 6), 99, 5, 0, 0),
            NgramRecord((5, 6), -1, 5, 0, 0),
            NgramRecord((5, 6), 2, 0, 0, 0),
            NgramRecord((5, 6), 2, 5, -1, 0),
        ]
    )
    assert len(cache) == 0
    assert trie.string_of(2) == ()


observations = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from([(0, 1), (2,), (5, 6), (0,), (7, 8)]), st.booleans()), max_size=60
)


@given(observations, st.integers(1, 6))
def test_the_books_agree_whatever_is_seen(seen: list[tuple[int, String, bool]], capacity: int) -> None:
    """Changes add up to the entries, the capacity holds, and a string that is live is not a doubtful one."""
    trie = trie_of((0, 1), (2,), (), (0,))
    cache = NgramCache(trie, capacity)
    kept: dict[String, NgramRecord] = {}
    for number, (token, string, is_doubt) in enumerate(seen):
        if is_doubt:
            cache.doubt(token)
        else:
            cache.learn(token, string)
        assert len(cache) <= capacity
        if number % 7 == 0:
            kept.update({change.string: change for change in cache.take_changes()})
    kept.update({change.string: change for change in cache.take_changes()})
    entries = {found.string: found for found in cache.entries()}
    assert {string: found for string, found in kept.items() if found in cache.entries()} == entries
    for string, found in entries.items():
        if trie.string_of(found.token) == string and len(string) > 1:
            assert found.doubts <= found.count


@given(observations)
def test_each_token_has_the_string_it_was_seen_with_most_often(seen: list[tuple[int, String, bool]]) -> None:
    """Without doubts or competition: every token has strings of its own here."""
    trie = trie_of((0, 1), (2,), (), (0,))
    cache = NgramCache(trie)
    counts = {(token, trie.string_of(token)): 1 for token in range(4) if trie.string_of(token)}
    for token, string, _ in seen:
        own = (100 + token, *string)
        cache.learn(token, own)
        counts[token, own] = counts.get((token, own), 0) + 1
    for token in range(4):
        mine = {string: count for (owner, string), count in counts.items() if owner == token}
        if mine:
            assert mine[trie.string_of(token)] == max(mine.values())


@given(observations)
def test_a_cache_that_was_saved_makes_the_same_trie(seen: list[tuple[int, String, bool]]) -> None:
    trie, again = trie_of((0, 1), (2,), (), (0,)), trie_of((0, 1), (2,), (), (0,))
    cache, loaded = NgramCache(trie), NgramCache(again)
    for token, string, _ in seen:
        cache.learn(token, (100 + token, *string))
    loaded.load(cache.entries())
    assert loaded.entries() == cache.entries()
    assert loaded.take_changes() == ()
    counts = {found.string: found.count for found in cache.entries()}
    for token in range(4):  # of equally frequent strings either may be live
        assert counts.get(again.string_of(token)) == counts.get(trie.string_of(token))
