"""The strings that target tokens are made of, as a trie over draft tokens.

It starts as the vocabulary map, and changes when the target writes its tokens in another way. Nodes are made when
they are first looked at: until then a node is an interval of the map's sorted rows, so that 150,000 strings cost
nothing at the start. Used by one thread at a time (looking makes nodes).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from engine.speculation.numerics.vocabulary_map import MAX_STRING, NO_TOKEN, Strings, VocabularyMap

_FEW = 32  # rows, for which numpy's cost per call is larger than that of a loop


class TrieNode:
    """A place in the trie. `token` is the target token whose string ends here, if one does."""

    __slots__ = ("_children", "_make_children", "token")

    def __init__(self, token: int | None = None, make_children: Callable[[], dict[int, TrieNode]] = dict) -> None:
        self.token = token
        self._make_children = make_children
        self._children: dict[int, TrieNode] | None = None

    @property
    def children(self) -> dict[int, TrieNode]:
        """Children by draft token. Every one of them leads to a target token. A live view, which only the trie
        changes."""
        if self._children is None:
            self._children = self._make_children()
        return self._children


class _SortedRows:
    """The map's strings in lexicographic order: those that start alike are an interval."""

    def __init__(self, strings: VocabularyMap) -> None:
        self._tokens = strings.order
        rows = strings.strings[strings.order]
        # One column more, so that a string of full length ends like any other.
        self._columns = np.full((MAX_STRING + 1, len(rows)), NO_TOKEN, dtype=np.int32)  # shape (MAX_STRING + 1, n)
        self._columns[:MAX_STRING] = rows.T

    def node(self, token: int | None, depth: int, start: int, end: int) -> TrieNode:
        """A node of that depth whose longer strings are the rows start … end."""
        return TrieNode(token, partial(self._children, depth, start, end) if start < end else dict)

    def _children(self, depth: int, start: int, end: int) -> dict[int, TrieNode]:
        column = self._columns[depth, start:end]
        if len(column) <= _FEW:
            borders = [place for place, (one, two) in enumerate(pairwise(column.tolist()), 1) if one != two]
        else:
            borders = (np.flatnonzero(column[1:] != column[:-1]) + 1).tolist()
        starts = [0, *borders]
        children = {}
        for key, first, last in zip(column[starts].tolist(), starts, [*borders, len(column)], strict=True):
            token, inner = None, start + first
            if self._columns[depth + 1, inner] == NO_TOKEN:  # the shortest of an interval comes first
                token, inner = int(self._tokens[inner]), inner + 1
            children[key] = self.node(token, depth + 1, inner, start + last)
        return children


class StringTrie:
    """The trie. Every target token is at one node at most, and every node has one token at most."""

    def __init__(self, strings: VocabularyMap) -> None:
        self._map = strings
        self._rows = strings.strings.copy()  # shape (target vocabulary, MAX_STRING)
        self.root = _SortedRows(strings).node(None, 0, 0, len(strings.order))
        # To be added to a drafter's logits, shape (draft vocabulary,): 0 for the children of the root, minus infinity
        # for all others. A live view, to be read only.
        self.root_mask: npt.NDArray[np.float32] = np.full(strings.num_draft_tokens, -np.inf, dtype=np.float32)
        self.root_mask[self._rows[strings.order, 0]] = 0

    def untaught(self) -> StringTrie:
        """A new trie of the same map, ignoring what was assigned in this one."""
        return StringTrie(self._map)

    def node(self, path: Sequence[int]) -> TrieNode | None:
        found: TrieNode | None = self.root
        for draft_token in path:
            found = found.children.get(draft_token) if found is not None else None
        return found

    def rows(self, ids: npt.NDArray[np.int64]) -> Strings:
        """The strings of these target tokens, shape (k, MAX_STRING), padded with NO_TOKEN. A copy."""
        return self._rows[ids]

    def firsts(self, ids: npt.NDArray[np.int64]) -> Strings:
        """The draft token with which each of their strings begins, shape (k,); NO_TOKEN for those without one. A
        copy."""
        firsts: Strings = self._rows[ids, 0]
        return firsts

    def string_of(self, token: int) -> tuple[int, ...]:
        """The token's string; empty if it has none."""
        return _string(self._rows[token])

    def static_string_of(self, token: int) -> tuple[int, ...]:
        """The token's string in the vocabulary map, whatever was assigned since."""
        return _string(self._map.strings[token])

    def can_hold(self, token: int, string: Sequence[int]) -> bool:
        """True if the string is short enough, and both are of the vocabularies that the trie was made for."""
        if len(string) > MAX_STRING or not 0 <= token < len(self._rows):
            return False
        return not string or (min(string) >= 0 and max(string) < len(self.root_mask))

    def assign(self, token: int, string: Sequence[int]) -> bool:
        """Makes this the string of the token; an empty one takes its string away.

        A token that was at the same node loses its string. False, and nothing is changed, where the trie cannot hold
        the token or the string: see `can_hold`.
        """
        if not self.can_hold(token, string):
            return False
        old = self.string_of(token)
        if old == tuple(string):
            return True
        if old:
            self._remove(token, old)
        if string:
            self._insert(token, string)
        return True

    def _insert(self, token: int, string: Sequence[int]) -> None:
        place = self.root
        for draft_token in string:
            place = place.children.setdefault(draft_token, TrieNode())
        if place.token is not None:
            self._rows[place.token] = NO_TOKEN
        place.token = token
        self._rows[token, : len(string)] = string
        self.root_mask[string[0]] = 0

    def _remove(self, token: int, string: tuple[int, ...]) -> None:
        """Takes the token away, and the branch that led to it alone."""
        places = [self.root]
        for draft_token in string:
            places.append(places[-1].children[draft_token])
        assert places[-1].token == token
        places[-1].token = None
        self._rows[token] = NO_TOKEN
        for depth in range(len(string), 0, -1):
            if places[depth].token is not None or places[depth].children:
                return
            del places[depth - 1].children[string[depth - 1]]
        self.root_mask[string[0]] = -np.inf


def _string(row: Strings) -> tuple[int, ...]:
    tokens = row.tolist()
    return tuple(tokens[: tokens.index(NO_TOKEN)] if tokens[-1] == NO_TOKEN else tokens)
