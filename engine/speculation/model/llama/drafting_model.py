"""A model that drafts: it can also forget what stands in the middle of what it holds."""

from __future__ import annotations

from llama_cpp import llama_cpp as lib

from engine.speculation.model.llama.llama_cpp import LlamaCppTarget
from engine.speculation.model.llama.sequences import HELD


class DraftingModel(LlamaCppTarget):
    @property
    def can_drop(self) -> bool:
        """True if what is held can be moved, as keys that are rotated by their positions can."""
        is_rotated = lib.llama_model_rope_type(self._model) != lib.LLAMA_ROPE_TYPE_NONE
        return is_rotated and self.limits.rolls_back_freely and bool(lib.llama_memory_can_shift(self._memory))

    def drop(self, start: int, end: int) -> None:
        """Forgets the tokens from `start` to `end`; those after them move forward, and are not evaluated again: the
        next pass rotates their keys first. What has moved is not what would be computed there, so no target does
        this."""
        assert self.can_drop
        assert 0 <= start <= end <= self.num_held
        self._drop_tree()
        self._sequences.unshare(start)
        lib.llama_memory_seq_rm(self._memory, HELD, start, end)
        lib.llama_memory_seq_add(self._memory, HELD, end, -1, start - end)
        self.num_held -= end - start
        self._num_revocable = 0
