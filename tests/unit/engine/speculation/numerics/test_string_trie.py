"""The trie against a dictionary that is searched token by token."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.speculation.numerics.string_trie import StringTrie, TrieNode
from engine.speculation.numerics.vocabulary_map import MAX_STRING, NO_TOKEN, VocabularyMap

NUM_DRAFT = 4

String = tuple[int, ...]
strings = st.lists(st.integers(0, NUM_DRAFT - 1), max_size=5).map(tuple)


def map_of(strings: list[String]) -> VocabularyMap:
    """Draft tokens are single bytes here, so that a target token's bytes are its string."""
    return VocabularyMap.build(
        [bytes(string) for string in strings],
        frozenset(),
        [bytes([token]) for token in range(NUM_DRAFT)],
        lambda items: [list(item) for item in items],
    )


def trie_of(strings: list[String]) -> StringTrie:
    return StringTrie(map_of(strings))


class Naive:
    def __init__(self, strings: list[String]) -> None:
        self.size = len(strings)
        self.strings = {string: token for token, string in enumerate(strings) if string}

    def assign(self, token: int, string: String) -> None:
        self.strings = {other: owner for other, owner in self.strings.items() if owner != token}
        if string:
            self.strings[string] = token

    def children(self, path: String) -> set[int]:
        depth = len(path)
        return {string[depth] for string in self.strings if len(string) > depth and string[:depth] == path}


def check(trie: StringTrie, naive: Naive) -> None:
    def walk(node: TrieNode, path: String) -> None:
        assert node.token == naive.strings.get(path)
        assert set(node.children) == naive.children(path)
        for draft_token, child in node.children.items():
            walk(child, (*path, draft_token))

    walk(trie.root, ())
    of_token = {token: string for string, token in naive.strings.items()}
    rows = trie.rows(np.arange(naive.size))
    assert rows.shape == (naive.size, MAX_STRING)
    for token, row in enumerate(rows.tolist()):
        string = of_token.get(token, ())
        assert trie.string_of(token) == string
        assert row == [*string, *[NO_TOKEN] * (MAX_STRING - len(string))]
    for string, token in naive.strings.items():
        node = trie.node(string)
        assert node is not None
        assert node.token == token
    assert set(np.flatnonzero(trie.root_mask == 0)) == naive.children(())
    assert np.isneginf(trie.root_mask[trie.root_mask != 0]).all()


@given(st.lists(strings, min_size=1, max_size=12))
def test_the_trie_is_what_the_map_says(given_strings: list[String]) -> None:
    check(trie_of(given_strings), Naive(given_strings))


@settings(deadline=None)
@given(
    st.lists(strings, min_size=1, max_size=10),
    st.lists(st.tuples(st.integers(0, 9), strings, st.booleans()), max_size=25),
)
def test_assigned_strings_move_and_push_others_out(
    given_strings: list[String], moves: list[tuple[int, String, bool]]
) -> None:
    trie, naive = trie_of(given_strings), Naive(given_strings)
    for token, string, look in moves:
        token %= len(given_strings)  # noqa: PLW2901
        assert trie.assign(token, string)
        naive.assign(token, string)
        if look:  # nodes that nobody has looked at are made later, from what they were at the start
            check(trie, naive)
    check(trie, naive)


def test_what_cannot_stand_in_the_trie_changes_nothing() -> None:
    trie = trie_of([(0, 1), (2,)])
    for token, string in [(0, (0,) * (MAX_STRING + 1)), (0, (NUM_DRAFT,)), (0, (-1,)), (2, (0,)), (-1, (0,))]:
        assert not trie.assign(token, string)
    check(trie, Naive([(0, 1), (2,)]))


def test_the_longest_strings_end_where_they_end() -> None:
    longest = (1, 2, 3, 0, 1, 2, 3, 0)
    trie = trie_of([longest, longest[:-1], (1,)])
    node = trie.node(longest)
    assert node is not None
    assert node.token == 0
    assert not node.children
    assert trie.string_of(0) == longest


def test_a_path_that_leads_nowhere_has_no_node() -> None:
    trie = trie_of([(0, 1)])
    assert trie.node((0, 2, 3)) is None
    assert trie.node((5,)) is None
    assert trie.node(()) is trie.root


def test_rows_are_not_changed_by_later_assignments() -> None:
    trie = trie_of([(0, 1), (2,)])
    before = trie.rows(np.array([0, 1]))
    trie.assign(0, (3,))
    assert before[0, :2].tolist() == [0, 1]


def test_the_static_string_stays_what_the_map_says() -> None:
    trie = trie_of([(0, 1), (2,)])
    trie.assign(0, (3,))
    assert trie.static_string_of(0) == (0, 1)


def test_direct_only_knows_single_tokens_alone() -> None:
    trie = StringTrie(map_of([(0, 1), (2,), (0,)]).only_direct())
    check(trie, Naive([(), (2,), (0,)]))
