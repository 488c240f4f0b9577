"""The heads that models bring (MTP layers, EAGLE-3, DFlash, DSpark), run by llama.cpp through a library of ours
(`native/heads.cpp`), which is loaded with the first of them."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from llama_cpp import llama_cpp as lib

from engine.speculation.model.interface import FloatRow
from engine.speculation.model.llama.opening import (
    context_parameters,
    explain,
    free_model,
    model_parameters,
    number_of,
    share_model,
)
from engine.speculation.model.llama.runtime import forget_errors, last_error
from engine.values.config import TargetSettings
from engine.values.errors import DrafterUnusable
from engine.values.targets import HeadMethod

_VERSION = 1  # of what the functions take and return; as in `heads.cpp`
_NAMES = {"win32": "slipstream-heads.dll", "darwin": "libslipstream-heads.dylib"}
_METHODS = {HeadMethod.MTP: 0, HeadMethod.EAGLE3: 1, HeadMethod.DFLASH: 2, HeadMethod.DSPARK: 3}
_FAILED = -1
_TOGETHER = 8  # rows that pass the head with the first guess; as in `heads.cpp`
_BATCH = 576  # tokens: those of the target's largest pass, and a draft
_FEW = 64  # tokens, which are taken without a thought of other threads

_Free = Callable[[Any], None]
_Pointer, _Int = ctypes.c_void_p, ctypes.c_int32


class _Library:
    """The functions of `heads.cpp`."""

    def __init__(self, path: Path) -> None:
        """Raises OSError if it is none of ours, or made for another llama.cpp."""
        slow, quick = ctypes.CDLL(str(path)), ctypes.PyDLL(str(path))  # the latter keeps the interpreter's lock
        try:
            found = slow.slipstream_heads_version()
            _declare(slow.slipstream_heads_layout, ctypes.c_uint64)
            _declare(slow.slipstream_heads_build, ctypes.c_char_p)
            if found != _VERSION:
                raise OSError(f"version {found} instead of {_VERSION}")
            if slow.slipstream_heads_layout() != _layout() or slow.slipstream_heads_build().decode() != _build():
                raise OSError("made for another llama.cpp")
        except AttributeError as error:
            raise OSError(str(error)) from error
        self.trouble = _declare(quick.slipstream_heads_trouble, ctypes.c_char_p)
        self.make = _declare(slow.slipstream_heads_make, _Pointer, _Pointer, _Pointer, _Int)
        self.free = _declare(quick.slipstream_heads_free, None, _Pointer)
        self.follow = _declare(quick.slipstream_heads_follow, _Int, _Pointer, _Int)
        self.take = _declare(quick.slipstream_heads_take, _Int, _Pointer, _Pointer, _Int, _Int)
        self.take_many = _declare(slow.slipstream_heads_take, _Int, _Pointer, _Pointer, _Int, _Int)
        self.pick = _declare(quick.slipstream_heads_pick, _Int, _Pointer, _Pointer, _Int, _Int)
        self.keep = _declare(quick.slipstream_heads_keep, _Int, _Pointer, _Int)
        self.start = _declare(slow.slipstream_heads_start, _Pointer, _Pointer, _Int, _Int)
        self.next = _declare(slow.slipstream_heads_next, _Pointer, _Pointer, _Int)
        self.end = _declare(quick.slipstream_heads_end, _Int, _Pointer)
        self.most = _declare(quick.slipstream_heads_most, _Int, _Pointer)
        self.vocabulary = _declare(quick.slipstream_heads_vocabulary, _Int, _Pointer)

    @property
    def complaint(self) -> str:
        text: bytes = self.trouble()
        return text.decode("utf-8", "replace")


def library_path() -> Path:
    """The place of our library, beside those of llama.cpp."""
    return Path(lib._base_path) / _NAMES.get(sys.platform, "libslipstream-heads.so")


@cache
def _library() -> _Library:
    """Raises DrafterUnusable."""
    path = library_path()
    try:
        return _Library(path)
    except OSError as error:
        raise DrafterUnusable(
            "Drafters made for one model need a part of Slipstream that is missing, or was made for another llama.cpp "
            "({reason}); install Slipstream again.",
            reason=str(error) if path.is_file() else path.name,
        ) from error


class BroughtHeads:
    """Implements `model.interface.FollowingHeads`. The target hands it what its passes leave, and closes it; until then
    it may be used on another thread.

    A failure is kept until the next draft is asked for: the target's own pass goes on.
    """

    def __init__(
        self, library: _Library, handle: int | None, method: HeadMethod, model: Any, context: Any, free: _Free
    ) -> None:
        """Owns these; `free` returns the model."""
        self._library, self._handle, self._model, self._context = library, handle, model, context
        self._free = free
        self._rows: dict[int, FloatRow] = {}  # by address: making a view takes longer than using it
        self._failure = ""
        self.max_guesses: int = library.most(handle)  # of a draft; 0: any number
        self.num_tokens: int = library.vocabulary(handle)
        self.max_held: int = lib.llama_n_ctx(context)
        self.most_threads: int = lib.llama_n_threads(context)
        self.are_at_once = method in (HeadMethod.DFLASH, HeadMethod.DSPARK)  # its block
        self.is_following = self.is_unwanted = False

    @property
    def end(self) -> int:
        """The place after the last token of the target's text that is known. Raises DrafterUnusable once something
        failed."""
        if self._failure:
            raise self._unusable()
        end: int = self._library.end(self._handle)
        return end

    def use_threads(self, num_threads: int) -> None:
        lib.llama_set_n_threads(self._context, num_threads, self.most_threads)

    def start(self, pending: int, count: int) -> FloatRow:
        """The logits of the first guess after that token, shape (tokens,): a view that the next call overwrites.
        `count`: how many guesses may follow. Raises DrafterUnusable."""
        if self._failure:
            raise self._unusable()
        return self._row(self._library.start(self._handle, pending, count))

    def next(self, guess: int) -> FloatRow:
        """The logits of the guess after this one, as of `start`."""
        return self._row(self._library.next(self._handle, guess))

    def follow(self, wanted: bool) -> None:
        """Has the target's passes from the next on leave what it needs, or no more."""
        self._note(self._library.follow(self._handle, wanted))

    def take(self, tokens: Sequence[int], place: int) -> None:
        """Takes what the target's last pass left, which was over these tokens from that place on."""
        if not self._failure:
            take = self._library.take if len(tokens) < _FEW else self._library.take_many
            self._note(take(self._handle, (_Int * len(tokens))(*tokens), len(tokens), place))

    def pick(self, places: Sequence[int], count: int) -> None:
        """Keeps, of what the last `count` tokens left, that of the tokens in these places: one branch of a tree."""
        if not self._failure:
            self._note(self._library.pick(self._handle, (_Int * len(places))(*places), len(places), count))

    def keep(self, num_kept: int) -> None:
        """Forgets all but the first tokens of the text."""
        self._note(self._library.keep(self._handle, num_kept))

    def let_go(self) -> None:
        self.is_unwanted = True
        if not self.is_following:
            self.close()

    def close(self) -> None:
        if self._handle:
            self._library.free(self._handle)
            lib.llama_free(self._context)
            self._free(self._model)
            self._handle, self._rows = None, {}

    def _row(self, address: int | None) -> FloatRow:
        if not address:
            self._failure = self._library.complaint
            raise self._unusable()
        row = self._rows.get(address)
        if row is None:
            if len(self._rows) > _FEW:  # the buffer has moved
                self._rows.clear()
            pointer = ctypes.cast(address, ctypes.POINTER(ctypes.c_float))
            row = self._rows[address] = np.ctypeslib.as_array(pointer, (self.num_tokens,))
            row.flags.writeable = False
        return row

    def _note(self, result: int) -> None:
        if result == _FAILED:
            self._failure = self._failure or self._library.complaint

    def _unusable(self) -> DrafterUnusable:
        return DrafterUnusable("The drafter made for this model cannot be used: {reason}.", reason=self._failure)


def open_heads(
    target_model: Any, target: Any, method: HeadMethod, path: Path | None, settings: TargetSettings
) -> BroughtHeads:
    """Opens the head in this file, or in the target's own, which must have been loaded with it. `target`: llama.cpp's
    context, which is left as it is. Raises DrafterUnusable."""
    library = _library()
    forget_errors()
    model, free = (share_model(target_model), free_model) if path is None else (_open_model(path, settings), _free)
    context = lib.llama_init_from_model(model, _parameters(model, target, method, settings))
    handle = library.make(target, context, _METHODS[method]) if context else None
    if handle:
        return BroughtHeads(library, handle, method, model, context, free)
    reason = library.complaint if context else last_error()
    if context:
        lib.llama_free(context)
    free(model)
    raise DrafterUnusable("The drafter made for this model cannot be used: {reason}.", reason=reason)


def _free(model: Any) -> None:
    lib.llama_model_free(model)


def _open_model(path: Path, settings: TargetSettings) -> Any:
    parameters = model_parameters(settings)
    parameters.load_mtp = True
    model = lib.llama_model_load_from_file(os.fsencode(path), parameters)
    if not model:
        raise DrafterUnusable(explain(path, last_error()).sentence)
    return model


def _parameters(model: Any, target: Any, method: HeadMethod, settings: TargetSettings) -> Any:
    parameters = context_parameters(settings)
    parameters.n_ctx = lib.llama_n_ctx(target)
    parameters.n_batch = parameters.n_ubatch = _BATCH
    parameters.kv_unified = True
    parameters.n_outputs_max = 1 + max(_TOGETHER, min(number_of(model, "block_size"), _FEW))
    parameters.ctx_other = target
    if method is HeadMethod.MTP:
        parameters.ctx_type = lib.LLAMA_CONTEXT_TYPE_MTP
    return parameters


def _build() -> str:
    return version("llama-cpp-python")


def _layout() -> int:
    context, model = ctypes.sizeof(lib.llama_context_params), ctypes.sizeof(lib.llama_model_params)
    return context << 32 | model << 16 | ctypes.sizeof(lib.llama_embd)


def _declare(function: Any, result: Any, *arguments: Any) -> Any:
    function.restype, function.argtypes = result, arguments
    return function
