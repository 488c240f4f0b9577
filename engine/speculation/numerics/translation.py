"""Turns the drafter's tokens into the target's by longest match, and aligns the two by their bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from engine.speculation.numerics.string_trie import StringTrie, TrieNode

Spell = Callable[[int], tuple[int, ...] | None]
_LONGEST_PIECE = 4096  # bytes of a draft token; the longest known are runs of some hundred spaces


class SegmentKind(StrEnum):
    DIRECT = "direct"  # one draft token became one target token
    MERGED = "merged"  # several draft tokens became one target token
    SPELLED = "spelled"  # a draft token that begins no string became the target tokens that spell its bytes


@dataclass(frozen=True, slots=True)
class Segment:
    tokens: tuple[int, ...]  # the target's
    num_draft: int  # draft tokens that became these
    kind: SegmentKind


class Speller:
    """Spells a draft token's bytes with target tokens, by longest match over the target's pieces."""

    def __init__(
        self, target_pieces: Sequence[bytes], target_special: frozenset[int], draft_pieces: Sequence[bytes]
    ) -> None:
        """`draft_pieces` are empty for special tokens."""
        # Of tokens with the same bytes the last is taken, as in the vocabulary map.
        self._tokens = {
            piece: token for token, piece in enumerate(target_pieces) if piece and token not in target_special
        }
        self._longest = max(map(len, self._tokens), default=0)  # bytes
        self._draft_pieces = draft_pieces
        self._known: dict[int, tuple[int, ...] | None] = {}

    def __call__(self, draft_token: int) -> tuple[int, ...] | None:
        """The target tokens; None if the target cannot spell the token: a special one, a page of text, or bytes that no
        token of the target has."""
        if draft_token not in self._known:
            self._known[draft_token] = self._spell(self._draft_pieces[draft_token])
        return self._known[draft_token]

    def _spell(self, data: bytes) -> tuple[int, ...] | None:
        if len(data) > _LONGEST_PIECE:
            return None
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
    """The draft tokens as segments of target tokens, by the longest match at each place.

    Ends before the first draft token that begins no match and cannot be spelled: the segments then cover only part of
    the path.
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
    """A translation that grows by one draft token at a time, for a proposer that drafts as many target tokens as may be
    checked: it shows how many there are, and which draft tokens would continue the last one.

    A target token is settled once no further draft token can make its match longer; draft tokens that are not settled
    are the open tail.
    """

    def __init__(self, trie: StringTrie, spell: Spell) -> None:
        self._trie = trie
        self._spell = spell
        self.open: list[int] = []  # the open tail: draft tokens that lead from the root to `node`
        self._ended = False
        self.node = trie.root  # draft tokens that are no children of it close the tail
        self.segments: list[Segment] = []  # that are settled
        self.settled: list[int] = []  # their target tokens

    @property
    def num_tokens(self) -> int:
        """The number of target tokens, including the open one at the end."""
        return len(self.settled) + bool(self.open)

    def push(self, draft_token: int) -> bool:
        """Adds a draft token. Returns False where the translation ends: this token, or one that it closed, cannot be
        spelled, and no token after it is taken."""
        if self._ended:
            return False
        self.open.append(draft_token)
        child = self.node.children.get(draft_token)
        if child is not None and child.children:
            self.node = child
            return True
        return self._settle()

    def whole(self) -> list[Segment]:
        """All segments, with the open tail translated as if no draft token came after it. Changes nothing."""
        return [*self.segments, *translate(self._trie, self.open, self._spell)]

    def finish(self) -> tuple[int, ...]:
        return tuple(token for segment in self.whole() for token in segment.tokens)

    def _settle(self) -> bool:
        """Settles segments from the start of the tail on, until the rest can still grow into a longer match."""
        while self.open:
            segment, node = _first_segment(self._trie, self.open, 0, self._spell)
            if node is not None:
                self.node = node
                return True
            if segment is None:
                self._ended = True
                self.open.clear()
                break
            self.segments.append(segment)
            self.settled.extend(segment.tokens)
            del self.open[: segment.num_draft]
        self.node = self._trie.root
        return not self._ended


def align(
    target_tokens: Sequence[int],
    target_pieces: Sequence[bytes],
    draft_tokens: Sequence[int],
    draft_pieces: Sequence[bytes],
) -> Iterator[tuple[list[int], list[int]]]:
    """The smallest groups of target and draft tokens with the same bytes, in order.

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
) -> tuple[Segment | None, TrieNode | None]:
    """The segment at `start`, None where nothing matches; and the node where the path ended, if the node has children:
    a longer match may still come."""
    node: TrieNode = trie.root
    token: int | None = None
    num_draft = 0
    still_open: TrieNode | None = None
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
