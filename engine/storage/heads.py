"""Which branches of a conversation were looked at, so that flipping back leads to where one was.

A branch is named by its leaf. The leaves that were left are kept with their conversation, latest last, as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Sequence, Set

_MOST = 64  # of one conversation

Heads = tuple[int, ...]  # ids of messages


def with_left(heads: Heads, head: int | None) -> Heads:
    """This branch is no longer the current one; None: there was none."""
    return heads if head is None else (*(each for each in heads if each != head), head)[-_MOST:]


def latest_of(heads: Sequence[int], below: Set[int]) -> int:
    """Of these messages, which hang from one, that which was left last; else the one that was written last."""
    return next((head for head in reversed(heads) if head in below), max(below))


def to_json(heads: Heads) -> str:
    return json.dumps(heads, separators=(",", ":"))


def from_json(stored: str) -> Heads:
    """What makes no sense counts as not left."""
    try:
        found = json.loads(stored)
    except (TypeError, ValueError, RecursionError):  # SQLite holds any kind of value in any column
        return ()
    return tuple(each for each in found if type(each) is int) if isinstance(found, list) else ()
