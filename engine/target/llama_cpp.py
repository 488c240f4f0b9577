"""A target run by llama.cpp, through the low-level functions of llama-cpp-python. The only file that knows either,
besides `batch.py`, which shares the opening of models with it, and `devices.py`, which lists what computes.

The high-level `Llama` class is left alone: it cannot return several rows of logits without keeping a whole context of
them, and ignores whether a rollback worked.
"""

from __future__ import annotations

import atexit
import ctypes
import logging
import os
import platform
import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import psutil
from llama_cpp import _utils as lib_utils
from llama_cpp import llama_cpp as lib

from engine.config import TargetSettings
from engine.errors import (
    CardsTooSmall,
    LoadCancelled,
    MendableError,
    TargetMissing,
    TargetTooLarge,
    TargetUnreadable,
    TargetUnsupported,
)
from engine.messages.targets import GpuSupport, Runtime
from engine.stop_signal import StopSignal
from engine.target import cpu_variants
from engine.target.devices import read_support
from engine.target.interface import (
    FloatRows,
    Interrupted,
    TargetDescription,
    TargetFeature,
    TargetLimits,
    Vocabulary,
)
from engine.target.threads import usable_cores

_logger = logging.getLogger("slipstream.llama_cpp")

MAX_TOKENS = 512  # of one pass: enough to keep every core busy
MAX_ROWS = 64  # of logits: llama.cpp reserves rows × vocabulary floats for them

_MOST_SAVED = 0.25  # of the memory that is free, for a copy of what is held

_ABORTED = 2  # what llama_decode returns when the abort callback ended it
_NO_SLOT = 1
_SEQUENCE = 0

# ggml's own numbers; the names in llama-cpp-python are of an older version.
_LOG_LEVELS = {1: logging.DEBUG, 2: logging.DEBUG, 3: logging.INFO, 4: logging.WARNING}
_GGML_ERROR = 4
_GGML_CONTINUED = 5

_NOT_FOR_CARDS = ("libggml-base", "libggml-cpu")
_NO_DEVICES = (ctypes.c_void_p * 1)(None)  # graphics cards are left alone

_recent_errors: deque[str] = deque(maxlen=16)


def _receive_log(level: int, text: bytes | None, _user_data: object) -> None:
    message = (text or b"").decode("utf-8", "replace").strip()
    if not message or level == _GGML_CONTINUED:  # pieces of progress bars
        return
    if level == _GGML_ERROR:
        _recent_errors.append(message)
    _logger.log(_LOG_LEVELS.get(level, logging.DEBUG), "%s", message)


# Kept alive for as long as the library may call it.
_log_callback = lib.llama_log_callback(_receive_log)
lib.llama_log_set(_log_callback, ctypes.c_void_p(0))
lib.llama_backend_init()
# llama-cpp-python opens /dev/null twice as it is imported; left open, Python may warn of it as it ends.
for _file in (lib_utils.outnull_file, lib_utils.errnull_file):
    atexit.register(_file.close)


def _load_kernels() -> None:
    """In a build that keeps the code for each kind of CPU in a library of its own: loads the one for this CPU, and
    those for graphics cards."""
    folder = Path(lib._base_path)
    if not any(folder.glob("*ggml-cpu-*")):
        return
    # Asked of libllama, which leads to the very copy of ggml that it is linked with; Windows cannot look further.
    ggml = ctypes.CDLL(str(folder / "ggml.dll")) if sys.platform == "win32" else lib._lib
    if sys.platform != "linux" or platform.machine() != "x86_64":
        ggml.ggml_backend_load_all_from_path.restype = None
        ggml.ggml_backend_load_all_from_path(os.fsencode(folder))
        return
    ggml.ggml_backend_load.restype = ctypes.c_void_p
    for library in cpu_variants.libraries(folder, cpu_variants.usable_flags()):
        if ggml.ggml_backend_load(os.fsencode(library)):
            _logger.info("computing with %s", library.name)
            break
    for library in _card_libraries(folder):
        if ggml.ggml_backend_load(os.fsencode(library)):
            _logger.info("found %s", library.name)


def _card_libraries(folder: Path) -> list[Path]:
    """Those for graphics cards, which users may have put there; and the one that llama.cpp's own variable names."""
    beside = (path for path in sorted(folder.glob("libggml-*.so")) if not path.stem.startswith(_NOT_FOR_CARDS))
    named = os.environ.get("GGML_BACKEND_PATH")
    return [*beside, *([Path(named)] if named else [])]


_load_kernels()


def read_runtime() -> Runtime:
    """What this build of llama.cpp is, and what it uses of this machine."""
    told = str(lib.llama_print_system_info() or b"", "utf-8", "replace")
    parts = [part.split(" = ") for part in told.replace(":", "|").split("|")]
    features = tuple(part[0].strip() for part in parts if len(part) == 2 and part[1].strip() == "1")
    return Runtime(f"llama-cpp-python {version('llama-cpp-python')}", features)


def _native_is_set() -> Any:
    """A native `bool is_set(void *flag)` for llama.cpp's abort callback: C's own strlen, which is 0 as long as the
    flag is an empty string. A Python callback would take the interpreter's lock five hundred times in every pass."""
    c_library = ctypes.CDLL("ucrtbase") if sys.platform == "win32" else ctypes.CDLL(None)
    return ctypes.cast(c_library.strlen, lib.ggml_abort_callback)


_IS_SET = _native_is_set()


@dataclass(frozen=True, slots=True)
class _SavedState:
    state: npt.NDArray[np.uint8]  # as llama.cpp writes it, shape (bytes,)
    num_held: int


def _bytes_of(state: npt.NDArray[np.uint8]) -> Any:
    return state.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))


class LlamaCppTarget:
    """Implements `engine.target.interface.Target`."""

    def __init__(self, path: Path, name: str, model: Any, context: Any, threads: int, settings: TargetSettings) -> None:
        """Use `load`. Owns model and context from here on, also when it raises."""
        self._model = model
        self._context = context
        self._memory = lib.llama_get_memory(context)
        self._vocab = lib.llama_model_get_vocab(model)
        self._batch = lib.llama_batch_init(MAX_TOKENS, 0, 1)
        for row in range(MAX_TOKENS):
            self._batch.n_seq_id[row] = 1
            self._batch.seq_id[row][0] = _SEQUENCE
        self._batch_tokens = np.ctypeslib.as_array(self._batch.token, (MAX_TOKENS,))
        self._batch_positions = np.ctypeslib.as_array(self._batch.pos, (MAX_TOKENS,))
        self._batch_outputs = np.ctypeslib.as_array(self._batch.logits, (MAX_TOKENS,))
        self._row_views: dict[tuple[int, int], FloatRows] = {}
        self._num_held = 0
        self._stop: StopSignal | None = None
        try:
            self._vocabulary = read_vocabulary(self._vocab)
            self._limits = TargetLimits(lib.llama_n_ctx(context), min(MAX_TOKENS, lib.llama_n_batch(context)), MAX_ROWS)
            self._description = describe(model, path, name, threads, settings)
            self._features = self._probe()
        except BaseException:
            self.close()
            raise

    @classmethod
    def load(
        cls,
        path: Path,
        name: str,
        settings: TargetSettings,
        on_progress: Callable[[float], None],
        stop: StopSignal,
    ) -> LlamaCppTarget:
        """Loads a GGUF file. Raises TargetMissing, TargetUnreadable, TargetUnsupported, TargetTooLarge (CardsTooSmall
        where less on graphics cards would help) or LoadCancelled."""
        model = open_model(path, settings, on_progress, stop)
        threads = settings.threads or usable_cores()
        parameters = context_parameters(threads)
        parameters.n_ctx = settings.context_for(max(0, lib.llama_model_n_ctx_train(model)))
        parameters.n_batch = parameters.n_ubatch = MAX_TOKENS
        parameters.n_outputs_max = MAX_ROWS
        context = open_context(model, path, parameters, settings)
        return cls(path, name, model, context, threads, settings)

    @property
    def description(self) -> TargetDescription:
        return self._description

    @property
    def vocabulary(self) -> Vocabulary:
        return self._vocabulary

    @property
    def limits(self) -> TargetLimits:
        return self._limits

    @property
    def features(self) -> frozenset[TargetFeature]:
        return self._features

    @property
    def num_held(self) -> int:
        return self._num_held

    def tokenize(self, text: str) -> list[int]:
        return tokenize(self._vocab, text)

    def evaluate(self, tokens: Sequence[int], num_rows: int, stop: StopSignal) -> FloatRows:
        count = len(tokens)
        assert 1 <= count <= self._limits.max_tokens
        assert 1 <= num_rows <= min(count, MAX_ROWS)
        assert self._num_held + count <= self._limits.context_size
        if stop.is_set():
            raise Interrupted
        self._watch(stop)
        self._batch_tokens[:count] = tokens
        self._batch_positions[:count] = np.arange(self._num_held, self._num_held + count)
        self._batch_outputs[:count] = 0
        self._batch_outputs[count - num_rows : count] = 1
        self._batch.n_tokens = count
        result = lib.llama_decode(self._context, self._batch)
        if result != 0:
            self._recover(result)
        self._num_held += count
        return self._rows(num_rows)

    def roll_back(self, num_kept: int) -> bool:
        assert 0 <= num_kept <= self._num_held
        if num_kept == self._num_held:
            return True
        if lib.llama_memory_seq_rm(self._memory, _SEQUENCE, num_kept, -1):
            self._num_held = num_kept
            return True
        self._clear()
        return False

    def save(self) -> _SavedState | None:
        size = lib.llama_state_seq_get_size(self._context, _SEQUENCE)
        if not self._num_held or size > _MOST_SAVED * psutil.virtual_memory().available:
            return None
        state = np.empty(size, np.uint8)
        written = lib.llama_state_seq_get_data(self._context, _bytes_of(state), size, _SEQUENCE)
        return _SavedState(state[:written], self._num_held) if written else None

    def restore(self, saved: object) -> bool:
        assert isinstance(saved, _SavedState)
        self._clear()
        if not lib.llama_state_seq_set_data(self._context, _bytes_of(saved.state), len(saved.state), _SEQUENCE):
            self._clear()
            return False
        self._num_held = saved.num_held
        return True

    def close(self) -> None:
        if self._context is not None:
            self._row_views.clear()
            lib.llama_batch_free(self._batch)
            lib.llama_free(self._context)
            lib.llama_model_free(self._model)
            self._context = None

    def _watch(self, stop: StopSignal) -> None:
        """Let `stop` end a running pass. Works on the CPU only (llama.h); on a GPU the passes themselves are short."""
        if stop is not self._stop:
            lib.llama_set_abort_callback(self._context, _IS_SET, ctypes.c_void_p(stop.address))
            self._stop = stop  # also keeps the flag alive while llama.cpp knows its address

    def _rows(self, num_rows: int) -> FloatRows:
        """The logits as they lie in llama.cpp's buffer. Making such a view costs more than using it, so views are
        kept."""
        pointer = lib.llama_get_logits(self._context)  # waits for the backend
        key = (ctypes.addressof(pointer.contents), num_rows)
        view = self._row_views.get(key)
        if view is None:
            if len(self._row_views) > 2 * MAX_ROWS:  # the buffer has moved
                self._row_views.clear()
            view = np.ctypeslib.as_array(pointer, (num_rows, len(self._vocabulary)))
            view.flags.writeable = False
            self._row_views[key] = view
        return view

    def _recover(self, result: int) -> None:
        """Drop what a failed pass left behind, then raise."""
        held_before = self._num_held
        self._num_held = max(held_before, lib.llama_memory_seq_pos_max(self._memory, _SEQUENCE) + 1)
        self.roll_back(held_before)
        if result == _ABORTED:
            raise Interrupted
        if result == _NO_SLOT:
            raise TargetTooLarge("The context of this model is full; start a new chat or choose a bigger context size.")
        raise RuntimeError(f"llama_decode failed with {result}: {last_error()}")

    def _clear(self) -> None:
        lib.llama_memory_clear(self._memory, True)
        self._num_held = 0

    def _probe(self) -> frozenset[TargetFeature]:
        """Evaluate two tokens and take one back: recurrent and hybrid models refuse. Raises TargetUnreadable."""
        token = self._vocabulary.begin if self._vocabulary.begin is not None else 0
        rows = self.evaluate([token, token], 1, StopSignal())
        if not np.isfinite(rows.max()):
            raise TargetUnreadable(
                f"{self._description.path.name} computes no numbers; it is damaged: download it again."
            )
        works = self.roll_back(1)
        self._clear()
        return frozenset({TargetFeature.ROLLBACK}) if works else frozenset()


class VocabularyFile:
    """The vocabulary of a GGUF file, without its weights; such files may also hold nothing else."""

    def __init__(self, model: Any) -> None:
        """Use `load_vocabulary`. Owns the model from here on."""
        self._model = model
        self._vocab = lib.llama_model_get_vocab(model)
        self._vocabulary = read_vocabulary(self._vocab)

    @property
    def vocabulary(self) -> Vocabulary:
        return self._vocabulary

    def tokenize(self, text: str) -> list[int]:
        """As `Target.tokenize`."""
        assert self._model is not None
        return tokenize(self._vocab, text)

    def close(self) -> None:
        if self._model is not None:
            lib.llama_model_free(self._model)
            self._model = None


def load_vocabulary(path: Path) -> VocabularyFile:
    """Raises TargetMissing or TargetUnreadable (or TargetUnsupported)."""
    _read_head(path)
    parameters = lib.llama_model_default_params()
    parameters.vocab_only = True
    _recent_errors.clear()
    model = lib.llama_model_load_from_file(os.fsencode(path), parameters)
    if not model:
        raise explain(path, last_error())
    if lib.llama_vocab_n_tokens(lib.llama_model_get_vocab(model)) <= 0:
        lib.llama_model_free(model)
        raise TargetUnreadable(f"{path.name} holds no vocabulary; choose another model file.")
    return VocabularyFile(model)


def check_file(path: Path) -> None:
    """Refuses, by size and first bytes, what cannot be a GGUF model with weights; the rest is llama.cpp's to judge."""
    head = _read_head(path)
    if int.from_bytes(head[8:16], "little") == 0:  # the number of tensors
        raise TargetUnreadable(f"{path.name} holds a vocabulary but no weights; choose the model itself.")
    _check_memory(path)


def _read_head(path: Path) -> bytes:
    """The first 24 bytes of a GGUF file. Raises TargetMissing or TargetUnreadable."""
    if not path.exists():
        raise TargetMissing(f"There is no file {path}; choose another model file.")
    if not path.is_file():
        raise TargetUnreadable(f"{path} is not a file; choose a model file that ends in .gguf.")
    try:
        with path.open("rb") as file:
            head = file.read(24)
    except OSError as error:
        raise TargetUnreadable(f"{path} cannot be read ({error.strerror}); check its permissions.") from error
    if head[:4] != b"GGUF":
        raise TargetUnreadable(f"{path.name} is not in the GGUF format; choose another model file.")
    if len(head) < 24:
        raise TargetUnreadable(f"{path.name} is cut short; download it again.")
    return head


def trial(path: Path) -> str | None:
    """Loads the model and evaluates one token; what llama.cpp objects to, or None.

    A damaged file can make llama.cpp end the whole process here, so call it in a process of its own.
    """
    parameters = lib.llama_model_default_params()
    parameters.n_gpu_layers = 0
    parameters.devices = ctypes.cast(_NO_DEVICES, ctypes.c_void_p)
    parameters.use_extra_bufts = False  # read the weights as they lie in the file instead of arranging them for speed
    model = lib.llama_model_load_from_file(os.fsencode(path), parameters)
    if not model:
        return last_error()
    sizes = lib.llama_context_default_params()
    sizes.n_ctx = sizes.n_batch = sizes.n_ubatch = 32
    context = lib.llama_init_from_model(model, sizes)
    if not context:
        return last_error()
    token = (lib.llama_token * 1)(0)
    return None if lib.llama_decode(context, lib.llama_batch_get_one(token, 1)) == 0 else last_error()


def explain(path: Path, complaint: str) -> MendableError:
    """The sentence for what llama.cpp said about a file."""
    if "unknown model architecture" in complaint:
        architecture = complaint.rsplit("'", 2)[-2] if complaint.count("'") >= 2 else "unknown"
        return TargetUnsupported(
            f"{path.name} has the architecture “{architecture}”, which this version cannot run; choose another model."
        )
    if "not within the file bounds" in complaint:
        return TargetUnreadable(f"{path.name} is cut short; download it again.")
    if "unable to allocate" in complaint or "failed to allocate" in complaint:
        return TargetTooLarge(f"{path.name} does not fit into memory; choose a smaller model or quantization.")
    if "token_embd.weight' not found" in complaint:
        return TargetUnreadable(f"{path.name} holds no weights of a language model; choose the model itself.")
    return TargetUnreadable(f"{path.name} is damaged or incomplete; download it again. (llama.cpp: {complaint})")


def _check_memory(path: Path) -> None:
    size, total = path.stat().st_size, psutil.virtual_memory().total
    if size > total and not gpu_support().devices:
        raise TargetTooLarge(
            f"{path.name} takes {size / 2**30:.1f} GiB, but this machine has {total / 2**30:.1f} GiB of memory; "
            "choose a smaller model or quantization."
        )


def gpu_support() -> GpuSupport:
    """What this build can compute on beside the CPU, and what is free there now. Any thread may call it."""
    return read_support()


def open_model(path: Path, settings: TargetSettings, on_progress: Callable[[float], None], stop: StopSignal) -> Any:
    """The weights of a GGUF file. Raises TargetMissing, TargetUnreadable, TargetUnsupported, TargetTooLarge or
    LoadCancelled."""
    check_file(path)

    def report(progress: float, _user_data: object) -> bool:
        on_progress(progress)
        return not stop.is_set()

    callback = lib.llama_progress_callback(report)  # named, so that it outlives the call below
    parameters = lib.llama_model_default_params()
    parameters.progress_callback = callback
    if settings.gpu_layers is not None:
        parameters.n_gpu_layers = settings.gpu_layers
        if not settings.gpu_layers:  # llama.cpp would yet reserve memory there, and compute long prompts there
            parameters.devices = ctypes.cast(_NO_DEVICES, ctypes.c_void_p)
    _recent_errors.clear()
    model = lib.llama_model_load_from_file(os.fsencode(path), parameters)
    if not model:
        if stop.is_set():
            raise LoadCancelled(f"Loading {path.name} was cancelled.")
        complaint = last_error()
        raise _cards_too_small(path, settings, complaint) or explain(path, complaint)
    if not lib.llama_model_has_decoder(model) or lib.llama_model_has_encoder(model):
        lib.llama_model_free(model)
        raise TargetUnsupported(f"{path.name} is not a model that writes text on its own; choose a chat model.")
    return model


def context_parameters(threads: int) -> Any:
    """llama.cpp's defaults for `threads`; the sizes are left to the caller."""
    parameters = lib.llama_context_default_params()
    parameters.n_threads = parameters.n_threads_batch = threads
    parameters.no_perf = True
    return parameters


def open_context(model: Any, path: Path, parameters: Any, settings: TargetSettings) -> Any:
    """A context, or the model is freed. Raises TargetTooLarge or TargetUnsupported."""
    try:
        return _make_context(model, path, parameters, settings)
    except BaseException:
        lib.llama_model_free(model)
        raise


def _make_context(model: Any, path: Path, parameters: Any, settings: TargetSettings) -> Any:
    _recent_errors.clear()
    context = lib.llama_init_from_model(model, parameters)
    if not context:
        raise _cards_too_small(path, settings, last_error()) or TargetTooLarge(
            f"The context of {parameters.n_ctx:,} tokens for {path.name} does not fit into memory; "
            f"choose a smaller context size. (llama.cpp: {last_error()})"
        )
    if not lib.llama_get_memory(context):
        lib.llama_free(context)
        raise TargetUnsupported(f"{path.name} is not a model that writes text; choose a chat model.")
    return context


def _cards_too_small(path: Path, settings: TargetSettings, complaint: str) -> CardsTooSmall | None:
    """What to say where memory was wanted on graphics cards and not had; None where it was something else."""
    if "allocate" not in complaint or "CPU" in complaint or settings.gpu_layers == 0:
        return None
    support = gpu_support()
    if not support.devices:
        return None
    free = sum(device.free_memory for device in support.devices)
    return CardsTooSmall(
        f"{path.name} needs more memory of {support.description} than the {free / 2**30:.1f} GiB that are free there; "
        "choose fewer GPU layers or a smaller context size for it."
    )


def last_error() -> str:
    """The most telling of llama.cpp's last complaints: the last but those that only repeat that loading failed."""
    telling = [text for text in _recent_errors if "failed to load model" not in text]
    return (telling or list(_recent_errors) or ["no reason given"])[-1]


def read_vocabulary(vocab: Any) -> Vocabulary:
    size = lib.llama_vocab_n_tokens(vocab)
    hidden = lib.LLAMA_TOKEN_ATTR_CONTROL | lib.LLAMA_TOKEN_ATTR_UNKNOWN
    begin, end = lib.llama_vocab_bos(vocab), lib.llama_vocab_eos(vocab)
    return Vocabulary(
        pieces=_read_pieces(vocab, size),
        special=frozenset(token for token in range(size) if lib.llama_vocab_get_attr(vocab, token) & hidden),
        end_of_generation=frozenset(token for token in range(size) if lib.llama_vocab_is_eog(vocab, token)),
        begin=begin if begin >= 0 else None,
        end=end if end >= 0 else None,
        begins_prompts=begin >= 0 and lib.llama_vocab_get_add_bos(vocab),
    )


def _read_pieces(vocab: Any, size: int) -> tuple[bytes, ...]:
    buffer = ctypes.create_string_buffer(256)
    pieces = []
    for token in range(size):
        length = lib.llama_token_to_piece(vocab, token, buffer, len(buffer), 0, True)
        if length < 0:
            buffer = ctypes.create_string_buffer(-length)
            length = lib.llama_token_to_piece(vocab, token, buffer, len(buffer), 0, True)
        pieces.append(buffer.raw[:length])
    return tuple(pieces)


def tokenize(vocab: Any, text: str) -> list[int]:
    """As `Target.tokenize`."""
    data = text.encode("utf-8", "replace")
    size = len(data) + 16
    while True:
        tokens = (lib.llama_token * size)()
        count = lib.llama_tokenize(vocab, data, len(data), tokens, size, False, True)
        if count >= 0:
            return tokens[:count]
        size = -count


def describe(model: Any, path: Path, name: str, threads: int, settings: TargetSettings) -> TargetDescription:
    support = gpu_support()
    all_layers = lib.llama_model_n_layer(model) + 1
    wanted = all_layers if settings.gpu_layers is None else settings.gpu_layers
    num_gpu_layers = min(wanted, all_layers) if support.devices else 0
    return TargetDescription(
        path=path,
        name=name,
        summary=_summary(model),
        size_bytes=lib.llama_model_size(model),
        threads=threads,
        chat_template=_chat_template(model),
        num_gpu_layers=num_gpu_layers,
        num_layers=all_layers,
        gpu=support.description,
    )


def _chat_template(model: Any) -> str | None:
    template = lib.llama_model_chat_template(model, None)
    return template.decode("utf-8", "replace") if template else None


def _summary(model: Any) -> str:
    """llama.cpp's own description names the nearest size of a family instead of the model's."""
    architecture = _text_from(
        lambda buffer, size: lib.llama_model_meta_val_str(model, b"general.architecture", buffer, size)
    )
    quantization = (lib.llama_ftype_name(lib.llama_model_ftype(model)) or b"").decode("utf-8", "replace")
    return " ".join(filter(None, (architecture, _rounded(lib.llama_model_n_params(model)), quantization)))


def _rounded(number: int) -> str:
    """A number of parameters as people say it: 135M, 7.2B."""
    return f"{number / 1e9:.1f}B" if number >= 1e9 else f"{number / 1e6:.0f}M"


def _text_from(fill: Callable[[Any, int], int]) -> str:
    buffer = ctypes.create_string_buffer(256)
    fill(buffer, len(buffer))
    return buffer.value.decode("utf-8", "replace")
