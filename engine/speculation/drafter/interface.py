"""The drafter as the engine sees it, however it is run. Imports no torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from engine.values.conversations import ChatTurn

FloatRow = npt.NDArray[np.float32]
LogitRow = FloatRow


class Drafter(Protocol):
    """A small language model and the one sequence of tokens that it has read ("held"). Used by one thread at a time."""

    @property
    def num_held(self) -> int: ...
    @property
    def max_held(self) -> int: ...

    @property
    def most_threads(self) -> int:
        """The most threads that a step may use; 1 if there is no choice."""

    def use_threads(self, num_threads: int) -> None:
        """Sets the threads of a step; several tokens at once are read with all of them."""

    def read(self, tokens: Sequence[int]) -> LogitRow:
        """Reads `tokens` (at least one) after what is held.

        Returns the logits after the last of them, shape (vocabulary,): a view that the next call may overwrite.
        """

    def roll_back(self, num_kept: int) -> None:
        """Forgets all held tokens but the first `num_kept`."""

    @property
    def can_drop(self) -> bool:
        """True if `drop` can be called."""

    def drop(self, start: int, end: int) -> None:
        """Forgets the held tokens from `start` to `end`, exclusive; those after them move forward, unread."""

    def refresh(self, is_original: bool = False) -> bool:
        """Takes up what it has learned since, if anything, or sets aside all that it has learned (`is_original`); if
        that changes something, it then holds nothing."""


class DrafterVocabulary(Protocol):
    """A drafter's tokens as bytes, and how it splits text into them."""

    @property
    def pieces(self) -> Sequence[bytes]:
        """The bytes of the tokens by id; empty for tokens without text."""

    @property
    def special(self) -> frozenset[int]: ...
    @property
    def fingerprint(self) -> str:
        """A digest of all that decides how bytes become tokens."""

    def encode(self, data: bytes) -> list[int] | None:
        """Tokens that spell exactly these bytes in the middle of a text; None where the vocabulary cannot."""

    def encode_many(self, items: Sequence[bytes]) -> list[list[int] | None]:
        """`encode` for many short items."""

    def encode_prompt(self, turns: Sequence[ChatTurn]) -> list[int]:
        """The conversation in the drafter's own chat format, up to where the reply begins."""


class TurnVocabulary(DrafterVocabulary, Protocol):
    """A vocabulary that knows the token that ends a turn, if there is one."""

    @property
    def end(self) -> int | None: ...


class Heads(Protocol):
    """Heads (Medusa, arXiv 2401.10774) that guess the next tokens of a target from one of its states."""

    hidden: int  # numbers of a state

    def guess(self, state: FloatRow, pending: int) -> tuple[list[list[int]], list[list[float]]]:
        """The likeliest tokens of each head, most likely first, and their probabilities. The first head guesses the
        token after `pending`, which was drawn from what the target made of `state`; each later one the token after
        that."""
