"""What recall looks in beside the chat at hand: texts in the tokens of one vocabulary, that come and go."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from engine.messages.learned import RecallText
from engine.numerics.suffix_index import SuffixIndex

MOST_TOKENS = 1_000_000  # remembered; beyond, the oldest texts are left out
_FEW_TOKENS = 8192  # are indexed anew with every text that comes
_FEW_SHARE = 8  # so are as many as an eighth of the others


class Remembered:
    """Two indexes: a large one that is seldom made anew, and a small one for what came since. Any thread may call any
    method; `indexes` never waits."""

    def __init__(self, texts: Iterable[RecallText] = ()) -> None:
        self._lock = threading.Lock()
        self._texts = {text.message_id: text for text in texts}
        self._new: dict[int, RecallText] = {}
        self.indexes: tuple[SuffixIndex, ...] = ()
        self._merge()

    @property
    def num_tokens(self) -> int:
        return sum(index.num_tokens for index in self.indexes)

    def add(self, texts: Iterable[RecallText]) -> None:
        with self._lock:
            self._new |= {text.message_id: text for text in texts if text.message_id not in self._texts}
            num_new = sum(len(text.tokens) for text in self._new.values())
            old = self.indexes[0]
            if num_new > max(_FEW_TOKENS, old.num_tokens // _FEW_SHARE):
                self._merge()
            else:
                self.indexes = (old, _index(self._new))

    def knows(self, message_id: int) -> bool:
        with self._lock:
            return message_id in self._texts or message_id in self._new

    def forget(self, *conversation_ids: int) -> None:
        """None of their texts is found any more."""
        gone = set(conversation_ids)
        with self._lock:
            kept = {number: text for number, text in self._all() if text.conversation_id not in gone}
            if len(kept) < len(self._texts) + len(self._new):
                self._texts, self._new = kept, {}
                self._merge()

    def _all(self) -> Iterable[tuple[int, RecallText]]:
        return (self._texts | self._new).items()

    def _merge(self) -> None:
        kept: dict[int, RecallText] = {}
        num_tokens = 0
        for number, text in sorted(self._all(), reverse=True):
            num_tokens += len(text.tokens)
            if num_tokens > MOST_TOKENS:
                break
            kept[number] = text
        self._texts, self._new = kept, {}
        self.indexes = (_index(kept),)


def _index(texts: dict[int, RecallText]) -> SuffixIndex:
    """Later messages have higher numbers."""
    return SuffixIndex(texts[number].tokens for number in sorted(texts))
