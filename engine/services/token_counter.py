"""Counts the tokens of a text beside the thread that writes with the target."""

from __future__ import annotations

import threading

from engine.target.interface import Target


class TokenCounter:
    """For the target in use. Tokenizing reads the vocabulary alone, which nothing ever changes, so that it may happen
    during a pass; `close` waits for it, so that no target is closed in the middle. Any thread may call any method."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._target: Target | None = None

    @property
    def is_open(self) -> bool:
        return self._target is not None

    def open(self, target: Target) -> None:
        with self._lock:
            self._target = target

    def close(self) -> None:
        """The target is about to be closed."""
        with self._lock:
            self._target = None

    def count(self, text: str) -> int | None:
        """None where no target is loaded, or the text is longer than any that fits into its context."""
        with self._lock:
            if self._target is None:
                return None
            limit = self._target.limits.max_bytes
            if len(text) > limit or len(text.encode("utf-8", "replace")) > limit:
                return None
            return len(self._target.tokenize(text))
