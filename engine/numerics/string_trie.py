"""The strings that target tokens are made of, as a trie over draft tokens.

It starts as the vocabulary map says and changes as the target is seen to write otherwise. Nodes are made when somebody
looks at them: until then a node is an interval of the map's sorted rows, so that 150,000 strings cost nothing at the
start. Used by one thread at a time (looking makes nodes).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from engine.numerics.vocabulary_map import MAX_STRING, NO_TOKEN, Strings, VocabularyMap

_FEW = 32  # rows


class Node:
    """A place in the trie. `token` is the target token whose string ends here, if one does."""

    __slots__ = ("_children", "_depth", "_end", "_source", "_start", "token")

    def __init__(
        self,
        token: int | None = None,
        source: _SortedRows | None = None,
        depth: int = 0,
        start: int = 0,
        end: int = 0,
    ) -> None:
        """What lies below are the rows start … end of the source: by default nothing."""
        self.token = token
        self._source = source
        self._depth = depth
        self._start = start
        self._end = end
        self._children: dict[int, Node] | None = {} if start == end else None

    @property
    def children(self) -> Mapping[int, Node]:
        """By draft token. Every one of them leads to a target token. A live view, to be read only."""
        return self._children if self._children is not None else self._expand()

    def _expand(self) -> dict[int, Node]:
        self._children = self._source.children(self._depth, self._start, self._end) if self._source else {}
        self._source = None
        return self._children

    def _branches(self) -> dict[int, Node]:
        """The children, to be changed."""
        return self._children if self._children is not None else self._expand()


class _SortedRows:
    """The map's strings in lexicographic order: what starts alike stands together."""

    def __init__(self, strings: VocabularyMap) -> None:
        self._tokens = strings.order
        rows = strings.strings[strings.order]
        # One column more, so that a string of full length ends like any other.
        self._columns = np.full((MAX_STRING + 1, len(rows)), NO_TOKEN, dtype=np.int32)  # shape (MAX_STRING + 1, n)
        self._columns[:MAX_STRING] = rows.T

    def __len__(self) -> int:
        return len(self._tokens)

    def children(self, depth: int, start: int, end: int) -> dict[int, Node]:
        """The nodes one step below the node of that depth whose longer strings are the rows start … end."""
        if end - start <= _FEW:
            keys, starts = self._few_branches(depth, start, end)
        else:
            column = self._columns[depth, start:end]
            places = np.flatnonzero(column[1:] != column[:-1]) + (start + 1)
            starts = [start, *places.tolist()]
            keys = self._columns[depth, starts].tolist()
        children = {}
        for key, first, last in zip(keys, starts, [*starts[1:], end], strict=True):
            if self._columns[depth + 1, first] == NO_TOKEN:  # the shortest of an interval comes first
                children[key] = Node(int(self._tokens[first]), self, depth + 1, first + 1, last)
            else:
                children[key] = Node(None, self, depth + 1, first, last)
        return children

    def _few_branches(self, depth: int, start: int, end: int) -> tuple[list[int], list[int]]:
        """The draft tokens that the rows go on with, and the first row of each: without numpy's cost per call."""
        keys: list[int] = []
        starts: list[int] = []
        for place, key in enumerate(self._columns[depth, start:end].tolist(), start):
            if not keys or key != keys[-1]:
                keys.append(key)
                starts.append(place)
        return keys, starts


class StringTrie:
    """Every target token stands at one node at most, and every node is the place of one token at most."""

    def __init__(self, strings: VocabularyMap) -> None:
        self._map = strings
        self._rows = strings.strings.copy()  # shape (target vocabulary, MAX_STRING)
        source = _SortedRows(strings)
        self._root = Node(None, source, 0, 0, len(source))
        self._root_mask = np.full(strings.num_draft_tokens, -np.inf, dtype=np.float32)
        self._root_mask[self._rows[strings.order, 0]] = 0

    @classmethod
    def direct_only(cls, strings: VocabularyMap) -> StringTrie:
        """A trie of the tokens that are one draft token: what drafting is without merging."""
        return cls(strings.only_direct())

    @property
    def root(self) -> Node:
        return self._root

    @property
    def root_mask(self) -> npt.NDArray[np.float32]:
        """To be added to a drafter's logits, shape (draft vocabulary,): 0 for the children of the root, minus infinity
        for all others. A live view, to be read only."""
        return self._root_mask

    def node(self, path: Sequence[int]) -> Node | None:
        found: Node | None = self._root
        for draft_token in path:
            found = found.children.get(draft_token) if found is not None else None
        return found

    def rows(self, ids: npt.NDArray[np.int64]) -> Strings:
        """The strings of these target tokens, shape (k, MAX_STRING), padded with NO_TOKEN. A copy."""
        return self._rows[ids]

    def string_of(self, token: int) -> tuple[int, ...]:
        """Empty where the token has none."""
        return _string(self._rows[token])

    def static_string_of(self, token: int) -> tuple[int, ...]:
        """What the vocabulary map says, whatever was assigned since."""
        return _string(self._map.strings[token])

    def can_hold(self, token: int, string: Sequence[int]) -> bool:
        """Whether the string is short enough, and both are of the vocabularies that the trie was made for."""
        if len(string) > MAX_STRING or not 0 <= token < len(self._rows):
            return False
        return not string or (min(string) >= 0 and max(string) < len(self._root_mask))

    def assign(self, token: int, string: Sequence[int]) -> bool:
        """From now on the token is made of that string; of none where it is empty.

        A token that stood there loses its string. False, and nothing changed, where the token or the string cannot
        stand in this trie: see `can_hold`.
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
        place = self._root
        for draft_token in string:
            branches = place._branches()
            child = branches.get(draft_token)
            if child is None:
                child = branches[draft_token] = Node()
            place = child
        if place.token is not None:
            self._rows[place.token] = NO_TOKEN
        place.token = token
        self._rows[token, : len(string)] = string
        self._root_mask[string[0]] = 0

    def _remove(self, token: int, string: tuple[int, ...]) -> None:
        """Takes the token away, and the branch that led to it alone."""
        places = [self._root]
        for draft_token in string:
            places.append(places[-1]._branches()[draft_token])
        assert places[-1].token == token
        places[-1].token = None
        self._rows[token] = NO_TOKEN
        for depth in range(len(string), 0, -1):
            if places[depth].token is not None or places[depth].children:
                return
            del places[depth - 1]._branches()[string[depth - 1]]
        self._root_mask[string[0]] = -np.inf


def _string(row: Strings) -> tuple[int, ...]:
    tokens = row.tolist()
    return tuple(tokens[: tokens.index(NO_TOKEN)] if tokens[-1] == NO_TOKEN else tokens)
