"""A working target: bytes, a few merged tokens and ChatML's special ones, and logits from a function of what it
holds."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from engine.stop_signal import StopSignal
from engine.target.interface import (
    FloatRows,
    Interrupted,
    StateRows,
    TargetDescription,
    TargetFeature,
    TargetLimits,
    Vocabulary,
)

SPECIAL = (b"<|im_start|>", b"<|im_end|>")
MERGED = (b"the ", b"ing", b"user", b"assistant", b"system", b"ha", b"hah")
PIECES = (*(bytes([value]) for value in range(256)), *MERGED, *SPECIAL)
START, END = len(PIECES) - 2, len(PIECES) - 1

NUM_THOUGHTS = 5  # tokens

NextToken = Callable[[Sequence[int]], int]


class FakeTarget:
    """Implements `engine.target.interface.Target`. `next_token` gives the token after those that are held."""

    def __init__(
        self,
        next_token: NextToken = lambda _tokens: END,
        context_size: int = 512,
        can_roll_back: bool = True,
        chat_template: str | None = None,
        max_tokens: int = 8,
        more_pieces: tuple[bytes, ...] = (),
        max_rollback: int | None = None,
    ) -> None:
        """`more_pieces` make another vocabulary, and another tokenization; `max_rollback`: where it is bounded."""
        self.next_token = next_token
        self.held: list[int] = []
        self.num_evaluated = 0
        self.closed = False
        self.on_evaluate: Callable[[], None] = lambda: None
        self._can_roll_back = can_roll_back
        self._max_rollback = (context_size if max_rollback is None else max_rollback) if can_roll_back else 0
        pieces = (*PIECES, *more_pieces)
        self.vocabulary = Vocabulary(
            pieces, frozenset({START, END}), frozenset({END}), begin=None, end=END, begins_prompts=False
        )
        self.limits = TargetLimits(context_size, max_tokens, max_tokens, self._max_rollback)
        self.description = TargetDescription(Path("fake.gguf"), "fake", "fake 1B", 1_000, 1, chat_template)
        self.features = frozenset({TargetFeature.STATES} | ({TargetFeature.ROLLBACK} if can_roll_back else set()))

    @property
    def num_held(self) -> int:
        return len(self.held)

    def tokenize(self, text: str) -> list[int]:
        """Longest match."""
        return self.vocabulary.marks.tokens_of(text, self._tokenize)

    def _tokenize(self, text: str, with_special: bool) -> list[int]:
        data = text.encode()
        pieces = self.vocabulary.pieces
        by_length = sorted(range(len(pieces)), key=lambda token: -len(pieces[token]))
        by_length = [token for token in by_length if with_special or token not in self.vocabulary.special]
        tokens = []
        while data:
            token = next(token for token in by_length if data.startswith(pieces[token]))
            tokens.append(token)
            data = data[len(pieces[token]) :]
        return tokens

    def evaluate(self, tokens: Sequence[int], num_rows: int, stop: StopSignal) -> FloatRows:
        assert 1 <= len(tokens) <= self.limits.max_tokens
        assert 1 <= num_rows <= min(len(tokens), self.limits.max_rows)
        assert len(self.held) + len(tokens) <= self.limits.context_size
        self.on_evaluate()
        if stop.is_set():
            if not self._can_roll_back:  # the tokens of an interrupted pass cannot be rolled back
                self.held.clear()
            raise Interrupted
        self.num_evaluated += len(tokens)
        rows = np.zeros((num_rows, len(self.vocabulary)), np.float32)
        for place, token in enumerate(tokens):
            self.held.append(token)
            row = place - (len(tokens) - num_rows)
            if row >= 0:
                rows[row, self.next_token(self.held)] = 30.0
        return rows

    def evaluate_with_states(self, tokens: Sequence[int], stop: StopSignal) -> tuple[FloatRows, StateRows]:
        """Its states are what it is going to say."""
        num_held = len(self.held)
        rows = self.evaluate(tokens, len(tokens), stop)
        ends = range(num_held + 1, len(self.held) + 1)
        return rows, np.array([self._thoughts(self.held[:end]) for end in ends], np.float32)

    def _thoughts(self, held: list[int]) -> list[int]:
        for _ in range(NUM_THOUGHTS):
            held.append(self.next_token(held))
        return held[-NUM_THOUGHTS:]

    def roll_back(self, num_kept: int) -> bool:
        assert 0 <= num_kept <= len(self.held)
        if num_kept == len(self.held):
            return True
        can = self._can_roll_back and (num_kept == 0 or len(self.held) - num_kept <= self._max_rollback)
        del self.held[num_kept if can else 0 :]
        return can

    def save(self) -> list[int] | None:
        return self.held.copy() or None

    def restore(self, saved: object) -> bool:
        assert isinstance(saved, list)
        self.held[:] = saved
        return True

    def close(self) -> None:
        self.closed = True


def says(text: str, then: int = END) -> NextToken:
    """The text byte by byte, whatever the prompt; a reply begins after the last `assistant\\n`."""
    data = text.encode()

    def next_token(tokens: Sequence[int]) -> int:
        spoken = b"".join(PIECES[token] for token in tokens).rsplit(b"assistant\n", 1)[-1]
        return data[len(spoken)] if len(spoken) < len(data) else then

    return next_token


def failing(num_passes: int) -> Callable[[], None]:
    """For `FakeTarget.on_evaluate`: the pass after so many fails."""
    passes = itertools.count()

    def fail() -> None:
        if next(passes) == num_passes:
            raise RuntimeError("the backend is gone")

    return fail
