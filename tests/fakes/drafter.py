"""A working drafter: letters and a few merges, and logits from a function of what it holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt

from engine.speculation.drafter.interface import LogitRow
from engine.values.conversations import ChatTurn

END = 0  # ends a turn
PIECES = (b"", *(bytes([value]) for value in range(256)), b"th", b"he", b"the", b" t", b" the", b"in", b"ing")
_BY_LENGTH = sorted((token for token, piece in enumerate(PIECES) if piece), key=lambda token: -len(PIECES[token]))

Logits = Callable[[Sequence[int]], LogitRow]


class FakeDrafterVocabulary:
    """Implements `drafter.interface.DrafterVocabulary`: longest match, and turns in angle brackets."""

    pieces = PIECES
    special = frozenset({END})
    fingerprint = "letters and a few merges"

    def encode(self, data: bytes) -> list[int] | None:
        return [*_tokens_of(data)]

    def encode_many(self, items: Sequence[bytes]) -> list[list[int] | None]:
        return [self.encode(item) for item in items]

    def encode_prompt(self, turns: Sequence[ChatTurn]) -> list[int]:
        tokens = []
        for turn in turns:
            tokens += [*(self.encode(f"<{turn.role.value}>{turn.text}".encode()) or ()), END]
        return [*tokens, *(self.encode(b"<assistant>") or ())]


@lru_cache(4096)
def _tokens_of(data: bytes) -> tuple[int, ...]:
    tokens = []
    place = 0
    while place < len(data):
        token = next(token for token in _BY_LENGTH if data.startswith(PIECES[token], place))
        tokens.append(token)
        place += len(PIECES[token])
    return tuple(tokens)


class AsciiVocabulary(FakeDrafterVocabulary):
    """Has no tokens for anything else."""

    def encode(self, data: bytes) -> list[int] | None:
        return super().encode(data) if data.isascii() else None


class FakeDrafter:
    """Implements `drafter.interface.Drafter`."""

    def __init__(self, logits: Logits, max_held: int = 4096) -> None:
        self._logits = logits
        self.max_held = max_held
        self.held: list[int] = []
        self.num_read = 0
        self.most_threads = 1
        self.can_drop = True
        self.is_original = False  # nothing that was learned is in use

    @property
    def num_held(self) -> int:
        return len(self.held)

    def read(self, tokens: Sequence[int]) -> LogitRow:
        assert tokens
        assert len(self.held) + len(tokens) <= self.max_held
        self.held += tokens
        self.num_read += len(tokens)
        return self._logits(self.held)

    def roll_back(self, num_kept: int) -> None:
        assert 0 <= num_kept <= len(self.held)
        del self.held[num_kept:]

    def drop(self, start: int, end: int) -> None:
        assert self.can_drop
        assert 0 <= start <= end <= len(self.held)
        del self.held[start:end]

    def use_threads(self, num_threads: int) -> None: ...

    def refresh(self, is_original: bool = False) -> bool:
        self.is_original = is_original
        return False


def guesses(text: str) -> Logits:
    """Continues the text after the last `<assistant>`, in the longest pieces; predicts the end where it differs."""
    data = text.encode()

    def logits(held: Sequence[int]) -> LogitRow:
        spoken = b"".join(PIECES[token] for token in held).rsplit(b"<assistant>", 1)[-1]
        rest = data[len(spoken) :] if data.startswith(spoken) else b""
        row = np.zeros(len(PIECES), np.float32)
        row[next((token for token in _BY_LENGTH if rest.startswith(PIECES[token])), END) if rest else END] = 30.0
        return row

    return logits


def random_logits(seed: int, likely: bytes = b"", pieces: Sequence[bytes] = PIECES) -> Logits:
    """A random distribution, always the same after the same tokens. With `likely`, over pieces of these letters
    only."""
    return lambda held: _random_row(seed, likely, tuple(pieces), len(held), *held[-3:])


@cache  # who sums over every outcome comes by the same few texts thousands of times
def _random_row(seed: int, likely: bytes, pieces: tuple[bytes, ...], *held: int) -> LogitRow:
    row = 2 * np.random.default_rng([seed, *held]).standard_normal(len(pieces))
    row[_unlikely(likely, pieces)] = -30.0
    found: LogitRow = row.astype(np.float32)
    found.setflags(write=False)
    return found


@cache
def _unlikely(likely: bytes, pieces: tuple[bytes, ...]) -> npt.NDArray[np.bool_]:
    return np.array([bool(likely) and bool(set(piece) - set(likely)) for piece in pieces])
