"""Which branches of a conversation were looked at, so that flipping back leads to where one was."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Set

_MOST = 64  # of one conversation


class RecentHeads:
    """The leaves that branches were left at since the start. Any thread may call any method."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left: dict[int, list[int]] = defaultdict(list)  # by conversation; ids of messages, latest last

    def leave(self, conversation_id: int, head: int | None) -> None:
        """This branch, named by its leaf, is no longer the current one."""
        if head is not None:
            with self._lock:
                self._left[conversation_id] = [*self._left[conversation_id], head][-_MOST:]

    def latest_of(self, conversation_id: int, below: Set[int]) -> int:
        """Of these messages, which hang from one, that which was left last; else the one that was written last."""
        with self._lock:
            left = self._left.get(conversation_id, ())
        return next((head for head in reversed(left) if head in below), max(below))
