"""From the drafter's tokens to the target's, by longest match, and the way back: which tokens of either stand for the
same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from engine.numerics.string_trie import Node, StringTrie

Spell = Callable[[int], tuple[int, ...] | None]


class SegmentKind(StrEnum):
    DIRECT = "direct"  # one draft token is one target token
    MERGED = "merged"  # several draft tokens are one target token
    SPELLED = "spelled"  # a draft token that begins no string, as the target tokens that spell its bytes


@dataclass(frozen=True, slots=True)
class Segment:
    tokens: tuple[int, ...]  # the target's
    num_draft: int  # how many draft tokens they stand for
    kind: SegmentKind


class Speller:
    """The target tokens that spell a draft token's bytes, by longest match over the target's pieces."""

    def __init__(
        self, target_pieces: Sequence[bytes], target_special: frozenset[int], draft_pieces: Sequence[bytes]
    ) -> None:
        """`draft_pieces` are empty for special tokens."""
        # Of tokens with the same bytes the last is meant, as in the vocabulary map.
        self._tokens = {
            piece: token for token, piece in enumerate(target_pieces) if piece and token not in target_special
        }
        self._longest = max(map(len, self._tokens), default=0)  # bytes
        self._draft_pieces = draft_pieces
        self._known: dict[int, tuple[int, ...] | None] = {}

    def __call__(self, draft_token: int) -> tuple[int, ...] | None:
        """None where the target cannot spell it: special tokens, or bytes that no token of the target has."""
        if draft_token not in self._known:
            self._known[draft_token] = self._spell(self._draft_pieces[draft_token])
        return self._known[draft_token]

    def _spell(self, data: bytes) -> tuple[int, ...] | None:
        tokens = []
        start = 0
        while start < len(data):
            for end in range(min(len(data), start + self._longest), start, -1):
                token = self._tokens.get(data[start:end])
                if token is not None:
                    tokens.append(token)
                    start = end
                    break
            else:
                return None
        return tuple(tokens) or None


def translate(trie: StringTrie, path: Sequence[int], spell: Spell) -> list[Segment]:
    """The draft tokens as segments of target tokens; at each place the longest string that matches.

    Ends before the first draft token that begins no match and cannot be spelled: then the segments stand for less
    than the whole path.
    """
    segments = []
    start = 0
    while start < len(path):
        segment, _ = _first_segment(trie, path, start, spell)
        if segment is None:
            break
        segments.append(segment)
        start += segment.num_draft
    return segments


class Translation:
    """A translation that grows by one draft token at a time and tells what is certain already.

    A target token is certain as soon as no further draft token can make its match longer.
    """

    def __init__(self, trie: StringTrie, spell: Spell) -> None:
        self._trie = trie
        self._spell = spell
        self._tail: list[int] = []  # draft tokens that are not settled; they lead from the root to `node`
        self._node = trie.root
        self._ended = False
        self.segments: list[Segment] = []  # what is certain
        self.settled: list[int] = []  # the same as target tokens

    @property
    def node(self) -> Node:
        """Where the open tail stands: draft tokens that are no children of it close the tail."""
        return self._node

    @property
    def num_tokens(self) -> int:
        """Target tokens, the one that is open at the end included."""
        return len(self.settled) + (1 if self._tail else 0)

    def push(self, draft_token: int) -> bool:
        """False where the translation ends: a token, this or one that it closed, cannot be spelled, and nothing that
        comes after it is taken."""
        if self._ended:
            return False
        self._tail.append(draft_token)
        child = self._node.children.get(draft_token)
        if child is not None and child.children:
            self._node = child
            return True
        return self._settle()

    def finish(self) -> tuple[int, ...]:
        """All target tokens, the open tail resolved as if no draft token came after it. Changes nothing."""
        rest = translate(self._trie, self._tail, self._spell)
        return (*self.settled, *(token for segment in rest for token in segment.tokens))

    def _settle(self) -> bool:
        """Settle segments from the start of the tail on, until what is left can still grow into a longer match."""
        while self._tail:
            segment, node = _first_segment(self._trie, self._tail, 0, self._spell)
            if node is not None:
                self._node = node
                return True
            if segment is None:
                self._ended = True
                self._tail.clear()
                break
            self.segments.append(segment)
            self.settled.extend(segment.tokens)
            del self._tail[: segment.num_draft]
        self._node = self._trie.root
        return not self._ended


def align(
    target_tokens: Sequence[int],
    target_pieces: Sequence[bytes],
    draft_tokens: Sequence[int],
    draft_pieces: Sequence[bytes],
) -> Iterator[tuple[list[int], list[int]]]:
    """The smallest groups of target and draft tokens that stand for the same bytes, in order.

    Tokens without bytes are left out. Ends where the bytes differ, or before a group that one side leaves unfinished.
    """
    targets = [token for token in target_tokens if target_pieces[token]]
    drafts = [token for token in draft_tokens if draft_pieces[token]]
    first_target = first_draft = next_target = next_draft = 0
    ahead = 0  # bytes by which the target's side of the open group is longer
    while next_target < len(targets) or next_draft < len(drafts):
        if ahead <= 0 and next_target < len(targets):
            ahead += len(target_pieces[targets[next_target]])
            next_target += 1
        elif ahead > 0 and next_draft < len(drafts):
            ahead -= len(draft_pieces[drafts[next_draft]])
            next_draft += 1
        else:
            return
        if ahead == 0:
            group = targets[first_target:next_target], drafts[first_draft:next_draft]
            if _bytes(group[0], target_pieces) != _bytes(group[1], draft_pieces):
                return
            yield group
            first_target, first_draft = next_target, next_draft


def _first_segment(
    trie: StringTrie, path: Sequence[int], start: int, spell: Spell
) -> tuple[Segment | None, Node | None]:
    """The segment at `start`, None where nothing matches; and the node where the path ended, if it ended on one that
    goes on: a longer match may still come."""
    node: Node = trie.root
    token: int | None = None
    num_draft = 0
    still_open: Node | None = None
    for end in range(start, len(path)):
        child = node.children.get(path[end])
        if child is None:
            break
        node = child
        if node.token is not None:
            token, num_draft = node.token, end + 1 - start
    else:
        still_open = node if node.children else None
    if token is not None:
        kind = SegmentKind.DIRECT if num_draft == 1 else SegmentKind.MERGED
        return Segment((token,), num_draft, kind), still_open
    tokens = spell(path[start])
    return (Segment(tokens, 1, SegmentKind.SPELLED) if tokens else None), still_open


def _bytes(tokens: Sequence[int], pieces: Sequence[bytes]) -> bytes:
    return b"".join([pieces[token] for token in tokens])
