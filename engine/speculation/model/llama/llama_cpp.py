"""A target run by llama.cpp, through the low-level functions of llama-cpp-python.

The high-level `Llama` class is left alone: it cannot return several rows of logits without keeping a whole context of
them, and ignores whether a rollback worked.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from llama_cpp import llama_cpp as lib

from engine.speculation.model.interface import (
    FloatRows,
    FollowingHeads,
    Interrupted,
    PictureRun,
    SavedPart,
    SeenPicture,
    StateRows,
    TargetFeature,
    TargetLimits,
)
from engine.speculation.model.llama.heads import BroughtHeads, open_heads
from engine.speculation.model.llama.loaded_model import LoadedModel, raise_failure
from engine.speculation.model.llama.opening import open_context, open_model, parameters_of_one
from engine.speculation.model.llama.passes import tested_features
from engine.speculation.model.llama.projector import Projector, SeeingModel, can_project, try_projector
from engine.speculation.model.llama.runtime import forget_errors, last_error, library_digest, read_runtime
from engine.speculation.model.llama.sequences import HELD, Sequences
from engine.speculation.numerics.draft import branches_of
from engine.speculation.numerics.draft_length import MAX_LENGTH
from engine.values.config import TargetSettings
from engine.values.errors import Cancelled, TargetUnusable
from engine.values.pictures import Picture
from engine.values.sentences import template
from engine.values.stop_signal import StopSignal
from engine.values.targets import HeadMethod

MAX_TOKENS = 512  # of one pass: enough to keep every core busy
MAX_ROWS = 64  # of logits: llama.cpp reserves rows × vocabulary floats for them
MAX_BRANCHES = 8  # of a draft: that many sequences share one context, which costs nothing while they are not used

# Parameters of a context that decide what it keeps of a token.
_KINDS = ("type_k", "type_v", "flash_attn_type", "swa_full", "kv_unified", "rope_scaling_type", "rope_freq_base")

_FULL = template("The model's context is full; start a new chat or choose a larger context size.")


def _addressing(name: str) -> Any:
    """A function of llama.cpp that returns a pointer, as a number: an object would take longer to make than to use."""
    function = lib._lib[name]
    function.argtypes, function.restype = [lib.llama_context_p_ctypes], ctypes.c_void_p
    return function


_logits_address, _states_address = _addressing("llama_get_logits"), _addressing("llama_get_embeddings")


class LlamaCppTarget(LoadedModel):
    """Implements `model.interface.Target`: one sequence of tokens, taken back in llama.cpp's own memory."""

    def __init__(
        self,
        path: Path,
        name: str,
        model: Any,
        context: Any,
        settings: TargetSettings,
        stop: StopSignal,
        max_rows: int = MAX_ROWS,
        kinds: str = "",
        projector: Path | None = None,
    ) -> None:
        """Use `load`. Owns model and context from here on, even when it raises. `kinds`: of what the context keeps."""
        self._views: dict[tuple[int, int, int], FloatRows] = {}
        self._adapter: Any = None
        self._kinds = kinds
        self._projector: Projector | None = None
        self._settings = settings
        self._heads: BroughtHeads | None = None  # that follow
        self._joining: BroughtHeads | None = None  # and those that do from the next pass on
        self.num_held = 0
        self._num_revocable = 0  # of the last tokens, where the model keeps a few states
        self._num_rows = 0  # of the last pass
        self._tells = self._has_told = False  # whether passes are to tell states, and whether the last one did
        self._embeds: bool | None = None  # what llama.cpp was told of that last
        self._sequences = Sequences(model, context)
        self._branches: list[list[int]] = []  # of the tree that was evaluated last, the sequences of each token
        context_size = lib.llama_n_ctx(context)
        most = lib.llama_n_rs_seq(context) or context_size
        max_tokens = min(MAX_TOKENS, lib.llama_n_batch(context))
        self.limits = TargetLimits(context_size, max_tokens, max_rows, most, self._sequences.count)
        try:
            super().__init__(path, name, model, context, settings, MAX_TOKENS, most_sequences=self._sequences.count)
            self._num_tokens = len(self.vocabulary)
            for row in range(MAX_TOKENS):
                self._batch.seq_id[row][0] = HELD
            self.features = tested_features(self, MAX_LENGTH, stop) | {TargetFeature.KEEPS, TargetFeature.LEADS}
            self._clear()
            if lib.llama_pooling_type(context) == lib.LLAMA_POOLING_TYPE_NONE:  # others have one state for all tokens
                self.features |= {TargetFeature.STATES}
            if projector is not None and can_project():
                self._projector = self._projector_at(projector)
                self.features |= {TargetFeature.PICTURES}
        except BaseException:
            self.close()
            raise
        if TargetFeature.ROLLBACK not in self.features:
            self.limits = replace(self.limits, max_rollback=0)
        if TargetFeature.BRANCHES not in self.features:
            self.limits = replace(self.limits, max_branches=1)

    @classmethod
    def load(
        cls,
        path: Path,
        name: str,
        settings: TargetSettings,
        on_progress: Callable[[float], None],
        stop: StopSignal,
        max_rows: int = MAX_ROWS,
        is_trial: bool = False,
        projector: Path | None = None,
        with_heads: bool = False,
    ) -> Self:
        """Loads a GGUF file; a pass returns at most `max_rows` of logits. `is_trial`: see `open_model`. `projector`:
        the file with which it sees, opened with the first picture. `with_heads`: also loads the layers for guessing
        ahead that the file brings. Raises TargetMissing, TargetUnsupported, TargetUnusable (CardsTooSmall where less on
        graphics cards would help) or Cancelled."""
        model = open_model(path, settings, on_progress, stop, is_trial, with_heads)
        parameters = parameters_of_one(model, settings, MAX_TOKENS, max_rows, MAX_BRANCHES)
        context = open_context(model, path, parameters, settings)
        kinds = " ".join(f"{name}={getattr(parameters, name)}" for name in _KINDS)
        try:
            return cls(path, name, model, context, settings, stop, max_rows, kinds, projector)
        except Interrupted:
            raise Cancelled("Loading {name} was cancelled.", name=path.name) from None

    def evaluate(self, tokens: Sequence[int], num_rows: int, stop: StopSignal) -> FloatRows:
        count = len(tokens)
        assert 1 <= count <= self.limits.max_tokens
        assert 1 <= num_rows <= min(count, self.limits.max_rows)
        assert self.num_held + count <= self.limits.context_size
        self._drop_tree()
        self._sequences.share(self.num_held)
        if count == 1:  # as most passes have it
            self._batch_positions[0] = self.num_held
        else:
            self._batch_positions[:count] = np.arange(self.num_held, self.num_held + count)
        self._decode(tokens, num_rows, stop)
        self.num_held += count
        self._num_revocable = min(count - 1, self.limits.max_rollback)
        return self._rows(num_rows)

    def evaluate_tree(self, token: int, draft: Sequence[int], parents: Sequence[int], stop: StopSignal) -> FloatRows:
        """Evaluates each branch as a sequence; each token is in those of all branches that lead through it
        (llama.h)."""
        count = 1 + len(draft)
        assert 2 <= count <= self.limits.max_rows
        assert self.num_held + count <= self.limits.context_size
        self._drop_tree()
        branches = branches_of(parents)
        self._sequences.share(self.num_held, len(branches[0]))
        depths = [0]
        for row, sequences in enumerate(branches):
            if row:
                depths.append(depths[parents[row - 1] + 1] + 1)
            self._batch_num_sequences[row] = len(sequences)
            for place, sequence in enumerate(sequences):
                self._batch.seq_id[row][place] = sequence
        self._batch_positions[:count] = self.num_held + np.array(depths)
        try:
            self._decode([token, *draft], count, stop)
        finally:
            self._batch_num_sequences[:count] = 1
            for row in range(count):
                self._batch.seq_id[row][0] = HELD
        self.num_held += 1
        self._sequences.have_shared(self.num_held, len(branches[0]))
        self._num_revocable = 0
        self._branches = branches
        return self._rows(count)

    def keep_branch(self, places: Sequence[int]) -> None:
        winners = self._branches[places[-1] + 1 if places else 0]
        first, end = self.num_held, self.num_held + len(places)
        if self._heads is not None:
            self._heads.pick([0, *(place + 1 for place in places)], len(self._branches))
        if HELD in winners:
            lib.llama_memory_seq_rm(self._memory, HELD, end, -1)
        else:
            lib.llama_memory_seq_rm(self._memory, HELD, first, -1)
            lib.llama_memory_seq_cp(self._memory, winners[0], HELD, first, end)
        self._sequences.unshare(first)
        self.num_held, self._branches = end, []

    def see(self, picture: Picture, stop: StopSignal) -> SeenPicture:
        return self._opened_projector(stop).see(picture, stop)

    def evaluate_picture(self, run: PictureRun, stop: StopSignal) -> None:
        projector = self._opened_projector(stop)
        if self.num_held + run.num_cells > self.limits.context_size:
            raise TargetUnusable(_FULL)
        self._drop_tree()
        self._sequences.share(self.num_held)
        self._watch(stop)
        self._has_told = False
        self._embed(False)
        result = projector.decode(run, self._context, self.num_held, stop)
        if result != 0:
            self._recover(result)
        self.num_held += run.num_places
        self._num_revocable = 0

    def roll_back(self, num_kept: int) -> bool:
        assert 0 <= num_kept <= self.num_held
        self._drop_tree()
        if num_kept == self.num_held:
            return True
        # llama.cpp would also take back what it has kept no state of, and go on from another one.
        can = num_kept == 0 or self.limits.rolls_back_freely or self.num_held - num_kept <= self._num_revocable
        if can and lib.llama_memory_seq_rm(self._memory, HELD, num_kept, -1):
            self._sequences.unshare(num_kept)
            self.num_held, self._num_revocable = num_kept, 0
            if self._heads is not None:
                self._heads.keep(num_kept)
            return True
        self._clear()
        return False

    def save(self) -> SavedPart | None:
        return self.save_part(0, self.num_held)

    def restore(self, saved: object) -> bool:
        assert isinstance(saved, SavedPart)
        return self.restore_part(saved, saved.end)

    @property
    def layout(self) -> str:
        length = lib.llama_n_ctx(self._context)  # by which some models stretch positions
        return f"{read_runtime().key} {library_digest()} {self._kinds} {length} {lib.LLAMA_STATE_SEQ_VERSION}"

    @property
    def saves_parts(self) -> bool:
        return TargetFeature.BRANCHES in self.features and self.limits.rolls_back_freely

    def save_part(self, start: int, end: int) -> SavedPart | None:
        self._drop_tree()
        assert 0 <= start <= end <= self.num_held
        if start == end:
            return None
        assert self.saves_parts or (start, end) == (0, self.num_held)
        data = self._sequences.save(start, end) if self.saves_parts else self._sequences.save_whole()
        return None if data is None else SavedPart(data, start, end)

    def restore_part(self, saved: SavedPart, end: int) -> bool:
        self._drop_tree()
        self._num_revocable = 0
        if saved.start == 0 and end == saved.end:
            self._clear()
        assert saved.start <= self.num_held < end <= saved.end
        if self.saves_parts:
            is_done = self._sequences.restore(saved, self.num_held, end)
        else:
            is_done = self._sequences.restore_whole(saved)
        if is_done:
            self.num_held = end
            return True
        self.num_held = max(self.num_held, self._sequences.end)
        self.roll_back(0)
        return False

    def use_threads(self, num_threads: int) -> None:
        """Sets the threads of passes over one token; larger ones go on with all threads."""
        lib.llama_set_n_threads(self._context, num_threads, self.description.threads)

    def use_adapter(self, path: Path | None) -> None:
        """Uses the low-rank additions in this GGUF file, or None, and no others, from the next pass on; it holds
        nothing then. The file is not needed any more. llama.cpp checks little: `drafter.gguf_adapter` has checked the
        file. Raises TargetUnusable if llama.cpp refuses it; then there are none."""
        self._clear()
        # The model may be that of another context, too, so it would outlive this one with all its adapters.
        lib.llama_set_adapters_lora(self._context, None, 0, None)
        if self._adapter is not None:
            lib.llama_adapter_lora_free(self._adapter)
            self._adapter = None
        if path is None:
            return
        forget_errors()
        adapter = lib.llama_adapter_lora_init(self._model, os.fsencode(path))
        if not adapter:
            raise TargetUnusable(
                "What {name} has learned cannot be used (llama.cpp: {complaint}).",
                name=self.description.name,
                complaint=last_error(),
            )
        self._adapter = adapter
        self.apply_adapter(True)

    def apply_adapter(self, is_wanted: bool) -> None:
        """Applies the low-rank additions it has been given, if any, or not, from the next pass on; it holds nothing
        then."""
        self._clear()
        if self._adapter is not None and is_wanted:
            adapters = (lib.llama_adapter_lora_p_ctypes * 1)(self._adapter)
            lib.llama_set_adapters_lora(self._context, adapters, 1, (ctypes.c_float * 1)(1.0))
        else:
            lib.llama_set_adapters_lora(self._context, None, 0, None)

    def tell_states(self, wanted: bool) -> None:
        self._tells = wanted

    @property
    def states(self) -> StateRows | None:
        if not self._has_told:
            return None
        width = lib.llama_model_n_embd_out(self._model)
        return self._view(_states_address(self._context), self._num_rows, width)

    def open_heads(self, method: HeadMethod, path: Path | None) -> BroughtHeads:
        return open_heads(self._model, self._context, method, path, self._settings)

    def lead(self, heads: FollowingHeads) -> None:
        assert isinstance(heads, BroughtHeads)
        assert not heads.is_unwanted
        if self._joining is not None:
            self._joining.close()
        heads.is_following = True
        self._joining = heads

    def close(self) -> None:
        self._views.clear()
        for heads in (self._heads, self._joining):
            if heads is not None:
                heads.close()
        self._heads = self._joining = None
        if self._projector is not None:
            self._projector.close()
        if self._context is not None:
            self.use_adapter(None)
        super().close()

    def _projector_at(self, path: Path) -> Projector:
        told, limits = self.description, self.limits
        on_gpu = told.num_gpu_layers > 0
        seeing = SeeingModel(self._model, told.path, told.threads, on_gpu, limits.context_size, limits.max_tokens)
        return Projector(path, seeing)

    def _opened_projector(self, stop: StopSignal) -> Projector:
        """Raises TargetUnusable or Interrupted."""
        projector = self._projector
        assert projector is not None
        if not projector.is_open:
            try_projector(projector.path, self.description.path, stop)
            projector.open(stop)
        return projector

    def _decode(self, tokens: Sequence[int], num_rows: int, stop: StopSignal) -> None:
        """Runs a pass over these tokens, whose positions and sequences are in the batch, with rows for the last of
        them."""
        if stop.is_set():
            raise Interrupted
        self._watch(stop)
        if self._joining is not None or (self._heads is not None and self._heads.is_unwanted):
            self._change_heads()
        count = len(tokens)
        if count == 1:
            self._batch_tokens[0], self._batch_outputs[0] = tokens[0], 1
        else:
            self._batch_tokens[:count] = tokens
            self._batch_outputs[:count] = 0
            self._batch_outputs[count - num_rows : count] = 1
        self._batch.n_tokens = count
        self._has_told = self._tells and num_rows == count  # llama.cpp would make a row of every token
        self._embed(self._has_told)
        result = lib.llama_decode(self._context, self._batch)
        if result != 0:
            self._recover(result)
        if self._heads is not None:
            self._heads.take(tokens, self.num_held)

    def _change_heads(self) -> None:
        present = [each for each in (self._joining, self._heads) if each is not None]
        self._heads, self._joining = next((each for each in present if not each.is_unwanted), None), None
        for heads in present:
            if heads is not self._heads:
                heads.follow(False)
                heads.close()
        if self._heads is not None:
            self._heads.follow(True)

    def _embed(self, wanted: bool) -> None:
        """Has passes return states or not; llama.cpp would log it with every pass, and call Python for that."""
        if wanted is not self._embeds:
            lib.llama_set_embeddings(self._context, wanted)
            self._embeds = wanted

    def _drop_tree(self) -> None:
        if self._branches:
            self.keep_branch(())

    def _rows(self, num_rows: int) -> FloatRows:
        """The logits in llama.cpp's own buffer."""
        self._num_rows = num_rows
        return self._view(_logits_address(self._context), num_rows, self._num_tokens)  # waits for the backend

    def _view(self, address: int, num_rows: int, width: int) -> FloatRows:
        """A view of a buffer. Making one costs more than using it, so views are reused."""
        key = (address, num_rows, width)
        view = self._views.get(key)
        if view is None:
            if len(self._views) > 4 * self.limits.max_rows:  # the buffer has moved
                self._views.clear()
            view = np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_float)), (num_rows, width))
            view.flags.writeable = False
            self._views[key] = view
        return view

    def _recover(self, result: int) -> None:
        """Drops what a failed pass left behind, then raises."""
        held_before = self.num_held
        self._sequences.unshare(held_before)
        self.num_held = max(held_before, self._sequences.end)
        self._num_revocable = 0
        self.roll_back(held_before)
        raise_failure(result, _FULL)

    def _clear(self) -> None:
        self._sequences.clear()
        self.num_held = self._num_revocable = 0
        self._branches = []
        if self._heads is not None:
            self._heads.keep(0)
