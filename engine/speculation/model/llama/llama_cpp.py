"""A target run by llama.cpp, through the low-level functions of llama-cpp-python.

The high-level `Llama` class is left alone: it cannot return several rows of logits without keeping a whole context of
them, and ignores whether a rollback worked.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import psutil
from llama_cpp import llama_cpp as lib

from engine.speculation.model.files.architecture import num_copies, state_bytes
from engine.speculation.model.interface import (
    FloatRows,
    Interrupted,
    PictureRun,
    SavedPart,
    SeenPicture,
    StateRows,
    TargetFeature,
    TargetLimits,
)
from engine.speculation.model.llama.loaded_model import LoadedModel, raise_failure
from engine.speculation.model.llama.opening import (
    context_parameters,
    number_of,
    open_context,
    open_model,
)
from engine.speculation.model.llama.passes import tested_features
from engine.speculation.model.llama.projector import Projector, SeeingModel, can_project, try_projector
from engine.speculation.model.llama.runtime import forget_errors, last_error, library_digest, read_runtime
from engine.speculation.numerics.draft import branches_of
from engine.speculation.numerics.draft_length import MAX_LENGTH
from engine.values.config import TargetSettings
from engine.values.errors import Cancelled, TargetUnusable
from engine.values.pictures import Picture
from engine.values.sentences import template
from engine.values.stop_signal import StopSignal

MAX_TOKENS = 512  # of one pass: enough to keep every core busy
MAX_ROWS = 64  # of logits: llama.cpp reserves rows × vocabulary floats for them
MAX_BRANCHES = 8  # of a draft: that many sequences share one context, which costs nothing while they are not used

_MOST_SAVED = 0.25  # of the memory that is free, for a copy of what is held

# Parameters of a context that decide what it keeps of a token.
_KINDS = ("type_k", "type_v", "flash_attn_type", "swa_full", "kv_unified", "rope_scaling_type", "rope_freq_base")

_FULL = template("The model's context is full; start a new chat or choose a larger context size.")
_WITH_DIMENSIONS = (lib.LLAMA_ROPE_TYPE_MROPE, lib.LLAMA_ROPE_TYPE_IMROPE)
SEQUENCE = 0  # what is held; the others hold the first tokens of it, and branches while they are checked


def _bytes_of(state: npt.NDArray[np.uint8]) -> Any:
    return state.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))


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
        self.num_held = 0
        self._num_revocable = 0  # of the last tokens, where the model keeps a few states
        self._num_rows = 0  # of the last pass
        self._tells = self._has_told = False  # whether passes are to tell states, and whether the last one did
        self._num_shared = [0] * lib.llama_n_seq_max(context)  # of the tokens held, those that each sequence holds
        self._num_sharing = 0  # sequences that do
        self._branches: list[list[int]] = []  # of the tree that was evaluated last, the sequences of each token
        context_size = lib.llama_n_ctx(context)
        most = lib.llama_n_rs_seq(context) or context_size
        max_tokens = min(MAX_TOKENS, lib.llama_n_batch(context))
        self.limits = TargetLimits(context_size, max_tokens, max_rows, most, len(self._num_shared))
        try:
            super().__init__(path, name, model, context, settings, MAX_TOKENS, most_sequences=len(self._num_shared))
            for row in range(MAX_TOKENS):
                self._batch.seq_id[row][0] = SEQUENCE
            self.features = tested_features(self, MAX_LENGTH, stop) | {TargetFeature.KEEPS}
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
    ) -> Self:
        """Loads a GGUF file; a pass returns at most `max_rows` of logits. `is_trial`: see `open_model`. `projector`:
        the file with which it sees, opened with the first picture. Raises TargetMissing, TargetUnsupported,
        TargetUnusable (CardsTooSmall where less on graphics cards would help) or Cancelled."""
        model = open_model(path, settings, on_progress, stop, is_trial)
        parameters = context_parameters(settings)
        parameters.n_ctx = settings.context_for(max(0, lib.llama_model_n_ctx_train(model)))
        parameters.n_batch = parameters.n_ubatch = MAX_TOKENS
        parameters.n_outputs_max = max_rows
        parameters.kv_unified = True
        if not lib.llama_model_is_recurrent(model) and not lib.llama_model_is_hybrid(model):  # with a state for each
            parameters.n_seq_max = max(1, min(MAX_BRANCHES, max_rows - 1))  # it wants a row for each, too
        one_bytes = state_bytes(lambda key: number_of(model, key))
        parameters.n_rs_seq = num_copies(one_bytes, lib.llama_model_size(model), MAX_LENGTH)  # 0 where it has no state
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
        self._share(len(branches[0]))
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
                self._batch.seq_id[row][0] = SEQUENCE
        self.num_held += 1
        self._num_shared[1 : len(branches[0])] = [self.num_held] * (len(branches[0]) - 1)
        self._num_revocable = 0
        self._branches = branches
        return self._rows(count)

    def keep_branch(self, places: Sequence[int]) -> None:
        winners = self._branches[places[-1] + 1 if places else 0]
        first, end = self.num_held, self.num_held + len(places)
        if SEQUENCE in winners:
            lib.llama_memory_seq_rm(self._memory, SEQUENCE, end, -1)
        else:
            lib.llama_memory_seq_rm(self._memory, SEQUENCE, first, -1)
            lib.llama_memory_seq_cp(self._memory, winners[0], SEQUENCE, first, end)
        self._unshare(first)
        self.num_held, self._branches = end, []

    def see(self, picture: Picture, stop: StopSignal) -> SeenPicture:
        return self._opened_projector(stop).see(picture, stop)

    def evaluate_picture(self, run: PictureRun, stop: StopSignal) -> None:
        projector = self._opened_projector(stop)
        if self.num_held + run.num_cells > self.limits.context_size:
            raise TargetUnusable(_FULL)
        self._drop_tree()
        self._watch(stop)
        self._has_told = False
        lib.llama_set_embeddings(self._context, False)
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
        if can and lib.llama_memory_seq_rm(self._memory, SEQUENCE, num_kept, -1):
            self._unshare(num_kept)
            self.num_held, self._num_revocable = num_kept, 0
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
        """Saves a part by making it a sequence for a moment, which copies nothing: llama.cpp saves whole sequences."""
        self._drop_tree()
        assert 0 <= start <= end <= self.num_held
        if start == end:
            return None
        if (start, end) == (0, self.num_held):
            return self._save(SEQUENCE, start, end)
        assert self.saves_parts
        with self._aside() as sequence:
            lib.llama_memory_seq_cp(self._memory, SEQUENCE, sequence, start, end)
            return self._save(sequence, start, end)

    def restore_part(self, saved: SavedPart, end: int) -> bool:
        self._drop_tree()
        self._num_revocable = 0
        if saved.start == 0 and end == saved.end:
            self._clear()
            is_done = self._restore(saved, SEQUENCE)
        else:
            assert self.saves_parts
            assert saved.start <= self.num_held < end <= saved.end
            with self._aside() as sequence:
                is_done = self._restore(saved, sequence)
                if is_done:
                    lib.llama_memory_seq_cp(self._memory, sequence, SEQUENCE, self.num_held, end)
        if is_done and self._reaches(end):
            self.num_held = end
            return True
        self.num_held = max(self.num_held, lib.llama_memory_seq_pos_max(self._memory, SEQUENCE) + 1)
        self.roll_back(0)
        return False

    def _reaches(self, end: int) -> bool:
        """True if it holds what comes before the place `end`. If positions have several dimensions, a picture takes up
        only the first of its places."""
        reached: int = lib.llama_memory_seq_pos_max(self._memory, SEQUENCE) + 1
        has_dimensions = lib.llama_model_rope_type(self._model) in _WITH_DIMENSIONS
        return self.num_held < reached <= end if has_dimensions else reached == end

    def _save(self, sequence: int, start: int, end: int) -> SavedPart | None:
        size = lib.llama_state_seq_get_size(self._context, sequence)
        if size > _MOST_SAVED * psutil.virtual_memory().available:
            return None
        data = np.empty(size, np.uint8)
        written = lib.llama_state_seq_get_data(self._context, _bytes_of(data), size, sequence)
        return SavedPart(data[:written], start, end) if written else None

    def _restore(self, saved: SavedPart, sequence: int) -> bool:
        data = saved.data
        return bool(lib.llama_state_seq_set_data(self._context, _bytes_of(data), len(data), sequence))

    @contextmanager
    def _aside(self) -> Iterator[int]:
        """An empty sequence: the last of those for branches, which is empty again afterwards."""
        last = len(self._num_shared) - 1
        self._num_shared[last] = 0
        lib.llama_memory_seq_rm(self._memory, last, -1, -1)
        try:
            yield last
        finally:
            lib.llama_memory_seq_rm(self._memory, last, -1, -1)

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
        return self._view(lib.llama_get_embeddings(self._context), self._num_rows, width)

    def close(self) -> None:
        self._views.clear()
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
        count = len(tokens)
        self._batch_tokens[:count] = tokens
        self._batch_outputs[:count] = 0
        self._batch_outputs[count - num_rows : count] = 1
        self._batch.n_tokens = count
        self._has_told = self._tells and num_rows == count  # llama.cpp would make a row of every token
        lib.llama_set_embeddings(self._context, self._has_told)
        result = lib.llama_decode(self._context, self._batch)
        if result != 0:
            self._recover(result)

    def _drop_tree(self) -> None:
        if self._branches:
            self.keep_branch(())

    def _share(self, num_sequences: int) -> None:
        """Has the first `num_sequences` sequences hold what is held. Only what is new is copied, and of that only its
        places."""
        for sequence in range(1, num_sequences):
            lib.llama_memory_seq_cp(self._memory, SEQUENCE, sequence, self._num_shared[sequence], self.num_held)
            self._num_shared[sequence] = self.num_held
        self._num_sharing = max(self._num_sharing, num_sequences)

    def _unshare(self, num_kept: int) -> None:
        """Has no other sequence hold more than the first `num_kept` tokens."""
        for sequence in range(1, self._num_sharing):
            if self._num_shared[sequence] >= num_kept:  # those of a tree come after
                lib.llama_memory_seq_rm(self._memory, sequence, num_kept, -1)
                self._num_shared[sequence] = num_kept

    def _rows(self, num_rows: int) -> FloatRows:
        """The logits in llama.cpp's own buffer."""
        self._num_rows = num_rows
        return self._view(lib.llama_get_logits(self._context), num_rows, len(self.vocabulary))  # waits for the backend

    def _view(self, pointer: Any, num_rows: int, width: int) -> FloatRows:
        """A view of a buffer. Making one costs more than using it, so views are reused."""
        key = (ctypes.addressof(pointer.contents), num_rows, width)
        view = self._views.get(key)
        if view is None:
            if len(self._views) > 4 * self.limits.max_rows:  # the buffer has moved
                self._views.clear()
            view = np.ctypeslib.as_array(pointer, (num_rows, width))
            view.flags.writeable = False
            self._views[key] = view
        return view

    def _recover(self, result: int) -> None:
        """Drops what a failed pass left behind, then raises."""
        held_before = self.num_held
        self._unshare(held_before)
        self.num_held = max(held_before, lib.llama_memory_seq_pos_max(self._memory, SEQUENCE) + 1)
        self._num_revocable = 0
        self.roll_back(held_before)
        raise_failure(result, _FULL)

    def _clear(self) -> None:
        lib.llama_memory_clear(self._memory, True)
        self.num_held = self._num_revocable = 0
        self._num_shared, self._num_sharing = [0] * len(self._num_shared), 0
        self._branches = []
