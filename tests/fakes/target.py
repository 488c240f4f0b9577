"""A working target: bytes, a few merged tokens and ChatML's special ones, and logits from a function of what it
holds."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from engine.speculation.model.interface import (
    FloatRows,
    Interrupted,
    SavedPart,
    StateRows,
    TargetDescription,
    TargetFeature,
    TargetLimits,
    Vocabulary,
)
from engine.speculation.numerics.draft import num_leaves
from engine.values.stop_signal import StopSignal

SPECIAL = (b"<|im_start|>", b"<|im_end|>")
MERGED = (b"the ", b"ing", b"user", b"assistant", b"system", b"ha", b"hah")
PIECES = (*(bytes([value]) for value in range(256)), *MERGED, *SPECIAL)
START, END = len(PIECES) - 2, len(PIECES) - 1

NUM_THOUGHTS = 5  # tokens

NextToken = Callable[[Sequence[int]], int]


@cache
def _by_first_byte(pieces: tuple[bytes, ...], without: frozenset[int]) -> dict[int, list[tuple[bytes, int, int]]]:
    """The pieces that begin with a byte, with token and length, longest first."""
    known: dict[int, list[tuple[bytes, int, int]]] = {}
    for token, piece in sorted(enumerate(pieces), key=lambda each: -len(each[1])):
        if piece and token not in without:
            known.setdefault(piece[0], []).append((piece, token, len(piece)))
    return known


class FakeTarget:
    """Implements `model.interface.Target`. `next_token` gives the token after those that are held."""

    def __init__(
        self,
        next_token: NextToken = lambda _tokens: END,
        context_size: int = 512,
        can_roll_back: bool = True,
        chat_template: str | None = None,
        max_tokens: int = 8,
        more_pieces: tuple[bytes, ...] = (),
        max_rollback: int | None = None,
        max_branches: int = 1,
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
        self.limits = TargetLimits(context_size, max_tokens, max_tokens, self._max_rollback, max_branches)
        self.description = TargetDescription(Path("fake.gguf"), "fake", "fake 1B", 1_000, 1, chat_template)
        self.features = frozenset(
            {TargetFeature.STATES, TargetFeature.KEEPS} | ({TargetFeature.ROLLBACK} if can_roll_back else set())
        )
        if max_branches > 1:
            self.features |= {TargetFeature.BRANCHES}
        self.layout = "fake"
        self.saves_parts = can_roll_back and self.limits.rolls_back_freely
        self._tree: Sequence[int] = ()
        self.states: StateRows | None = None
        self.tells = False

    @property
    def num_held(self) -> int:
        return len(self.held)

    @property
    def text(self) -> str:
        """That it holds."""
        return self._text_of(self.held).decode("utf-8", "replace")

    def _text_of(self, tokens: Sequence[int]) -> bytes:
        return b"".join(self.vocabulary.pieces[token] for token in tokens)

    def tokenize(self, text: str) -> list[int]:
        """Longest match."""
        return self.vocabulary.special_tokens.tokens_of(text, self._tokenize)

    def _tokenize(self, text: str, with_special: bool) -> list[int]:
        known = _by_first_byte(self.vocabulary.pieces, frozenset() if with_special else self.vocabulary.special)
        data = text.encode()
        place, tokens = 0, []
        while place < len(data):
            token, length = next(each[1:] for each in known[data[place]] if data.startswith(each[0], place))
            tokens.append(token)
            place += length
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
        self.states = np.zeros((num_rows, NUM_THOUGHTS), np.float32) if self.tells and num_rows == len(tokens) else None
        for place, token in enumerate(tokens):
            self.held.append(token)
            row = place - (len(tokens) - num_rows)
            if row >= 0:
                rows[row, self.next_token(self.held)] = 30.0
                if self.states is not None:
                    self.states[row] = self._thoughts()
        return rows

    def tell_states(self, wanted: bool) -> None:
        self.tells = wanted

    def _thoughts(self) -> list[int]:
        """Its states are what it is going to say."""
        said = self.held.copy()
        for _ in range(NUM_THOUGHTS):
            said.append(self.next_token(said))
        return said[-NUM_THOUGHTS:]

    def evaluate_tree(self, token: int, draft: Sequence[int], parents: Sequence[int], stop: StopSignal) -> FloatRows:
        assert 2 <= 1 + len(draft) <= self.limits.max_rows
        rows, num_evaluated, lines = [self.evaluate([token], 1, stop)[0]], self.num_evaluated, [[token]]
        states = [self.states]
        num_held = len(self.held) - 1
        for each, parent in zip(draft, parents, strict=True):
            lines.append([*lines[parent + 1], each])
            del self.held[num_held:]
            self.held += lines[-1][:-1]
            rows.append(self.evaluate([each], 1, stop)[0])
            states.append(self.states)
        told = [each for each in states if each is not None]
        self.states = np.concatenate(told) if told else None
        leaves = num_leaves(parents)
        assert leaves <= self.limits.max_branches
        self.held[num_held:] = [token]
        self.num_evaluated = num_evaluated + len(draft)
        self._tree = draft
        return np.stack(rows)

    def keep_branch(self, places: Sequence[int]) -> None:
        self.held += [self._tree[place] for place in places]

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

    def save_part(self, start: int, end: int) -> SavedPart | None:
        """Its bytes are its tokens."""
        assert self.saves_parts or (start, end) == (0, len(self.held))
        data = np.array(self.held[start:end], np.int32).view(np.uint8)
        return SavedPart(data, start, end) if start < end else None

    def restore_part(self, saved: SavedPart, end: int) -> bool:
        tokens = saved.data.view(np.int32).tolist()
        if saved.start == 0 and end == saved.end:
            self.held.clear()
        else:
            assert self.saves_parts
            assert saved.start <= len(self.held) < end <= saved.end
        self.held += tokens[len(self.held) - saved.start : end - saved.start]
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
