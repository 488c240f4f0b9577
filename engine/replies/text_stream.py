"""From the bytes of tokens to text that can be shown at once."""

from __future__ import annotations

import codecs
from collections.abc import Sequence


class TextStream:
    """Gives out text as early as it is certain: never half a character, and nothing that may yet become a stop string.

    Bytes that are no UTF-8 come out as U+FFFD.
    """

    def __init__(self, stop_strings: Sequence[str] = ()) -> None:
        self._stop_strings = tuple(stop_strings)
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._withheld = ""
        self.num_decoded = 0  # characters that became whole, those that are held back or dropped included
        self.stopped = False  # a stop string has appeared; everything from it on is dropped

    def push(self, piece: bytes) -> str:
        """The text that became certain with these bytes; may be empty."""
        text = self._decoder.decode(piece)
        self.num_decoded += len(text)
        return self._release(text)

    def finish(self) -> str:
        """What is left when no more bytes follow. A character that was cut off is left out."""
        text, self._withheld = self._withheld, ""
        return text

    def _release(self, text: str) -> str:
        if self.stopped:
            return ""
        if not self._stop_strings:
            return text
        self._withheld += text
        found = [place for stop in self._stop_strings if (place := self._withheld.find(stop)) >= 0]
        if found:
            self.stopped = True
            released, self._withheld = self._withheld[: min(found)], ""
            return released
        keep = max(_overlap(self._withheld, stop) for stop in self._stop_strings)
        released = self._withheld[: len(self._withheld) - keep]
        self._withheld = self._withheld[len(released) :]
        return released


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of `text` that is a beginning of `stop`."""
    return next((n for n in range(min(len(text), len(stop) - 1), 0, -1) if text.endswith(stop[:n])), 0)
