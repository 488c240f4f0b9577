"""The sequences in llama.cpp's memory of one text: what is held, its beginning again for branches, and copies of parts.

A sequence copies nothing: it is a mark on the places of tokens. That serves two more ends. llama.cpp saves whole
sequences, so a part is made one for a moment. And it puts new tokens in the places of those that a sliding window has
passed, without a word, unless two sequences hold them: then a rollback would go back to what is not there any more.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import psutil
from llama_cpp import llama_cpp as lib

from engine.speculation.model.interface import SavedPart

HELD = 0  # the sequence of what is held; the others hold the first tokens of it, and branches while they are checked
FEWEST_WITH_WINDOW = 3  # one that is held, one that holds the same, one to save and restore parts in

_MOST_SAVED = 0.25  # of the memory that is free, for a copy of what is held
_WITH_DIMENSIONS = (lib.LLAMA_ROPE_TYPE_MROPE, lib.LLAMA_ROPE_TYPE_IMROPE)

_Bytes = npt.NDArray[np.uint8]


class Sequences:
    """The sequences of one context. Their number stays the same."""

    def __init__(self, model: Any, context: Any) -> None:
        self._context = context
        self._memory = lib.llama_get_memory(context)
        self.count: int = lib.llama_n_seq_max(context)
        self._window: int = lib.llama_model_n_swa(model)  # tokens; 0: there is none
        self._has_dimensions = lib.llama_model_rope_type(model) in _WITH_DIMENSIONS
        self._fewest_sharing = min(2 if self._window else 1, self.count)
        self._num_shared = [0] * self.count  # of the tokens held, those that each sequence holds
        self._num_sharing = 0  # sequences that do

    @property
    def end(self) -> int:
        """The place after the last token of what is held."""
        return int(lib.llama_memory_seq_pos_max(self._memory, HELD)) + 1

    def share(self, num_held: int, num_sequences: int = 1) -> None:
        """Has the first `num_sequences` sequences hold what is held, or more, if the window asks for it. Only what is
        new is marked."""
        count = max(num_sequences, self._fewest_sharing)
        for sequence in range(1, count):
            if self._num_shared[sequence] < num_held:
                lib.llama_memory_seq_cp(self._memory, HELD, sequence, self._num_shared[sequence], num_held)
                self._num_shared[sequence] = num_held
        self._num_sharing = max(self._num_sharing, count)

    def have_shared(self, num_held: int, num_sequences: int) -> None:
        """Notes that a pass has put new tokens into each of the first `num_sequences` sequences."""
        self._num_shared[1:num_sequences] = [num_held] * (num_sequences - 1)

    def unshare(self, num_kept: int) -> None:
        """Has no other sequence hold more than the first `num_kept` tokens."""
        for sequence in range(1, self._num_sharing):
            if self._num_shared[sequence] >= num_kept:  # those of a tree come after
                lib.llama_memory_seq_rm(self._memory, sequence, num_kept, -1)
                self._num_shared[sequence] = num_kept

    def clear(self) -> None:
        lib.llama_memory_clear(self._memory, True)
        self._num_shared, self._num_sharing = [0] * self.count, 0

    def save(self, start: int, end: int) -> _Bytes | None:
        """A copy of the held tokens at these places. None if it would take too much memory."""
        room = int(_MOST_SAVED * psutil.virtual_memory().available)
        pieces: list[_Bytes] = []
        for first, last in self._slices(start, end):
            with self._aside(end) as sequence:
                lib.llama_memory_seq_cp(self._memory, HELD, sequence, first, last)
                piece = self._copy(sequence, room)
            if piece is None:
                return None
            pieces.append(piece)
            room -= len(piece)
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def restore(self, saved: SavedPart, num_held: int, end: int) -> bool:
        """Holds what `saved` has after the held tokens, up to `end`. False if that fails: it may have come half way."""
        place = 0
        for first, last in self._slices(saved.start, saved.end):
            if first >= end:
                break
            with self._aside(num_held) as sequence:
                num_bytes = self._put(saved.data[place:], sequence)
                reached = min(last, end)
                if num_bytes and num_held < reached:
                    lib.llama_memory_seq_cp(self._memory, sequence, HELD, num_held, reached)
                    if not self._reaches(num_held, reached):
                        return False
                    num_held = reached
            if not num_bytes:
                return False
            place += num_bytes
        return True

    def save_whole(self) -> _Bytes | None:
        """A copy of what is held by a model that has no sequences to spare; None as of `save`, or if a window has
        passed some of it: what is restored could not be taken back."""
        if self._window and self.end > self._window:
            return None
        return self._copy(HELD, int(_MOST_SAVED * psutil.virtual_memory().available))

    def restore_whole(self, saved: SavedPart) -> bool:
        """Holds that instead of anything else. False as of `restore`."""
        return bool(self._put(saved.data, HELD)) and self._reaches(0, saved.end)

    def _slices(self, start: int, end: int) -> list[tuple[int, int]]:
        """Places from `start` to `end`, cut at every multiple of the window's length: llama.cpp does not save what a
        sequence's window has passed."""
        window = self._window or end
        return list(pairwise([start, *range(start - start % window + window, end, window), end]))

    def _reaches(self, num_held: int, end: int) -> bool:
        """True if what comes before the place `end` is held. If positions have several dimensions, a picture takes up
        only the first of its places."""
        return num_held < self.end <= end if self._has_dimensions else self.end == end

    def _copy(self, sequence: int, most_bytes: int) -> _Bytes | None:
        size = lib.llama_state_seq_get_size(self._context, sequence)
        if size > most_bytes:
            return None
        data = np.empty(size, np.uint8)
        written = lib.llama_state_seq_get_data(self._context, _bytes_of(data), size, sequence)
        return data[:written] if written else None

    def _put(self, data: _Bytes, sequence: int) -> int:
        """The number of bytes that were used; 0 if they cannot be."""
        return int(lib.llama_state_seq_set_data(self._context, _bytes_of(data), len(data), sequence))

    @contextmanager
    def _aside(self, num_held: int) -> Iterator[int]:
        """An empty sequence: the last of those for branches, which is empty again afterwards."""
        self.share(num_held)
        last = self.count - 1
        self._num_shared[last] = 0
        lib.llama_memory_seq_rm(self._memory, last, -1, -1)
        try:
            yield last
        finally:
            lib.llama_memory_seq_rm(self._memory, last, -1, -1)


def _bytes_of(state: _Bytes) -> Any:
    return state.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
