"""A working target that thinks before it answers, where its chat template lets it."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from tests.fakes.target import END, PIECES, FakeTarget
from tests.fakes.thinking_templates import FIELD_AND_SWITCH

TAGS = (b"<think>", b"</think>")
THOUGHT, ANSWER = "First I add.\nThen I check.", "It is 4."


class Thinker(FakeTarget):
    """Says the same to every prompt. It waits for `go_on` in the middle of its thought, where that is wanted."""

    def __init__(self, thought: str = THOUGHT, answer: str = ANSWER, chat_template: str = FIELD_AND_SWITCH) -> None:
        super().__init__(self._next, 4_096, chat_template=chat_template, more_pieces=TAGS)
        self._thought, self._answer = f"\n{thought}\n".encode(), f"\n\n{answer}".encode()
        self.waits_after: int | None = None  # bytes of the thought
        self.is_waiting, self.go_on = threading.Event(), threading.Event()

    @property
    def text(self) -> str:
        """That it holds."""
        return self._text_of(self.held).decode()

    def _text_of(self, tokens: Sequence[int]) -> bytes:
        return b"".join(self.vocabulary.pieces[token] for token in tokens)

    def _next(self, tokens: Sequence[int]) -> int:
        said = self._text_of(tokens).rsplit(b"assistant\n", 1)[-1]
        opening, closing = len(PIECES), len(PIECES) + 1
        if not said:
            return opening
        if TAGS[1] in said:
            answered = len(said.rsplit(TAGS[1], 1)[-1])
            return self._answer[answered] if answered < len(self._answer) else END
        thought = len(said) - len(TAGS[0])
        if thought == self.waits_after:
            self.is_waiting.set()
            self.go_on.wait(60)
        return self._thought[thought] if 0 <= thought < len(self._thought) else closing
