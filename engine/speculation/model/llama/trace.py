"""A target that writes what a model once wrote: recorded replies, in that model's own vocabulary, without the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from engine.speculation.model.interface import (
    FloatRows,
    Interrupted,
    TargetDescription,
    TargetFeature,
    TargetLimits,
    TokenizingVocabulary,
    Vocabulary,
)
from engine.values.stop_signal import StopSignal

_CERTAIN = np.float32(30.0)  # the logit of the recorded token; all others have 0
_LIMITS = TargetLimits(context_size=32_768, max_tokens=512, max_rows=64, max_rollback=32_768, max_branches=64)
_NOTHING = -1


class TraceTarget:
    """Implements `model.interface.Target` over one recording at a time: after each recorded token the next one
    is certain; after any other token the reply ends."""

    limits: Final = _LIMITS
    features: Final = frozenset({TargetFeature.ROLLBACK, TargetFeature.BRANCHES})

    def __init__(self, vocabulary: TokenizingVocabulary, path: Path) -> None:
        """Owns `vocabulary` from here on."""
        self._source = vocabulary
        self.vocabulary = _with_end(vocabulary.vocabulary)
        self._end = min(self.vocabulary.end_of_generation, default=0)
        if self.vocabulary.end in self.vocabulary.end_of_generation:
            self._end = self.vocabulary.end
        self.description = TargetDescription(path, path.stem, "recorded replies", 0, threads=1, chat_template=None)
        # A vocabulary may have 150,000 tokens: one buffer serves all passes, and only what was set is cleared.
        self._buffer = np.zeros((_LIMITS.max_rows, len(self.vocabulary)), np.float32)
        self._set = [_NOTHING] * _LIMITS.max_rows  # by row: the column that is not 0
        self._rows = self._buffer.view()
        self._rows.flags.writeable = False
        self._recording: list[int] = []
        self._held: list[int] = []
        self._num_true = 0  # of the held tokens, how many are the recording's, from the first on
        self._tree: Sequence[int] = ()  # that was evaluated last

    def replay(self, prompt: str, response: str, context_size: int = _LIMITS.context_size) -> tuple[list[int], int]:
        """Sets the recording: `response` follows `prompt`, and then the end of the reply. Nothing is held.

        Returns the tokens of the prompt, its last ones if `context_size` cannot hold more, and how many the response
        has, not counting the one that ends it.
        """
        answer = self._source.tokenize(response)[: context_size // 2]
        begin = [self.vocabulary.begin] if self.vocabulary.begins_prompts and self.vocabulary.begin is not None else []
        room = context_size - len(answer) - len(begin) - _LIMITS.max_rows
        tokens = [*begin, *self._source.tokenize(prompt)[-max(1, room) :]]
        self._recording = [*tokens, *answer]
        self._held.clear()
        self._num_true = 0
        return tokens, len(answer)

    @property
    def num_held(self) -> int:
        return len(self._held)

    def tokenize(self, text: str) -> list[int]:
        return self._source.tokenize(text)

    def evaluate(self, tokens: Sequence[int], num_rows: int, stop: StopSignal) -> FloatRows:
        count = len(tokens)
        assert 1 <= count <= _LIMITS.max_tokens
        assert 1 <= num_rows <= min(count, _LIMITS.max_rows)
        assert len(self._held) + count <= _LIMITS.context_size
        if stop.is_set():
            raise Interrupted
        for place, token in enumerate(tokens):
            self._hold(token)
            row = place - (count - num_rows)
            if row >= 0:
                self._say(row, self._next())
        return self._rows[:num_rows]

    def evaluate_tree(self, token: int, draft: Sequence[int], parents: Sequence[int], stop: StopSignal) -> FloatRows:
        """Evaluates a tree; off the recorded text, the reply ends on every branch."""
        assert 2 <= 1 + len(draft) <= _LIMITS.max_rows
        self.evaluate([token], 1, stop)
        num_held = len(self._held)
        is_true = {-1: self._num_true == num_held}
        depths = {-1: 0}
        for place, (each, parent) in enumerate(zip(draft, parents, strict=True)):
            at = num_held + depths[parent]
            depths[place] = depths[parent] + 1
            is_true[place] = is_true[parent] and self._recording[at : at + 1] == [each]
            following = self._recording[at + 1 : at + 2] if is_true[place] else ()
            self._say(1 + place, following[0] if following else self._end)
        self._tree = draft
        return self._rows[: 1 + len(draft)]

    def keep_branch(self, places: Sequence[int]) -> None:
        for place in places:
            self._hold(self._tree[place])

    def roll_back(self, num_kept: int) -> bool:
        assert 0 <= num_kept <= len(self._held)
        del self._held[num_kept:]
        self._num_true = min(self._num_true, num_kept)
        return True

    def save(self) -> None:
        """What is held costs nothing to read again."""

    def restore(self, saved: object) -> bool:  # noqa: ARG002
        raise AssertionError("nothing was saved")

    def close(self) -> None:
        self._source.close()

    def _hold(self, token: int) -> None:
        place = len(self._held)
        if self._num_true == place < len(self._recording) and token == self._recording[place]:
            self._num_true += 1
        self._held.append(token)

    def _next(self) -> int:
        num_held = len(self._held)
        return self._recording[num_held] if self._num_true == num_held < len(self._recording) else self._end

    def _say(self, row: int, token: int) -> None:
        if self._set[row] != token:
            if self._set[row] != _NOTHING:
                self._buffer[row, self._set[row]] = 0
            self._buffer[row, token] = _CERTAIN
            self._set[row] = token


def _with_end(vocabulary: Vocabulary) -> Vocabulary:
    """The vocabulary with an end of replies, which some files do not name. What ends a text will do; if there is none,
    replies end by their length."""
    if vocabulary.end_of_generation or vocabulary.end is None:
        return vocabulary
    return replace(vocabulary, end_of_generation=frozenset({vocabulary.end}))
