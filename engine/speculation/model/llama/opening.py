"""Opens models and contexts with llama.cpp, and says in a sentence why one cannot be opened."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from llama_cpp import llama_cpp as lib

from engine.speculation.model.files.architecture import num_copies, state_bytes
from engine.speculation.model.files.model_files import part_paths
from engine.speculation.model.interface import TargetDescription
from engine.speculation.model.llama.cpu import usable_cores
from engine.speculation.model.llama.runtime import forget_errors, gpu_support, last_error
from engine.speculation.model.llama.sequences import FEWEST_WITH_WINDOW
from engine.speculation.model.llama.tokenizing import check_kind
from engine.speculation.numerics.draft_length import MAX_LENGTH
from engine.values.config import TargetSettings
from engine.values.errors import (
    Cancelled,
    CardsTooSmall,
    MendableError,
    TargetMissing,
    TargetUnsupported,
    TargetUnusable,
)
from engine.values.stop_signal import StopSignal

_NO_DEVICES = (ctypes.c_void_p * 1)(None)  # graphics cards are left alone


def check_file(path: Path) -> None:
    """Refuses, by size and first bytes, what cannot be a GGUF model with weights; the rest is llama.cpp's to judge."""
    head = read_head(path)
    if int.from_bytes(head[8:16], "little") == 0:  # the number of tensors
        raise TargetUnusable("{name} holds a vocabulary but no weights; choose the model itself.", name=path.name)
    size, total = path.stat().st_size, psutil.virtual_memory().total
    if size > total and not gpu_support().devices:
        raise TargetUnusable(
            "{name} takes {size:.1f} GB, but this computer has {total:.1f} GB of memory; choose a smaller "
            "model or quantization.",
            name=path.name,
            size=size / 1e9,
            total=total / 1e9,
        )


def read_head(path: Path) -> bytes:
    """The first 24 bytes of a GGUF file. Raises TargetMissing or TargetUnusable."""
    if not path.exists():
        raise TargetMissing("There is no file {path}; choose another model file.", path=path)
    if not path.is_file():
        raise TargetUnusable("{path} is not a file; choose a model file that ends in .gguf.", path=path)
    try:
        with path.open("rb") as file:
            head = file.read(24)
    except OSError as error:
        raise TargetUnusable(
            "{path} cannot be read ({reason}); check its permissions.", path=path, reason=error.strerror
        ) from error
    if head[:4] != b"GGUF":
        raise TargetUnusable("{name} is not in the GGUF format; choose another model file.", name=path.name)
    if len(head) < 24:
        raise TargetUnusable("{name} is cut short; download it again.", name=path.name)
    return head


def explain(path: Path, complaint: str) -> MendableError:
    """The sentence for what llama.cpp said about a file."""
    if "unknown model architecture" in complaint:
        architecture = complaint.rsplit("'", 2)[-2] if complaint.count("'") >= 2 else "unknown"
        return TargetUnsupported(
            "{name} has the architecture “{architecture}”, which this version cannot run; choose another model.",
            name=path.name,
            architecture=architecture,
        )
    if "not within the file bounds" in complaint:
        return TargetUnusable("{name} is cut short; download it again.", name=path.name)
    if "unable to allocate" in complaint or "failed to allocate" in complaint:
        return TargetUnusable(
            "{name} does not fit into memory; choose a smaller model or quantization.", name=path.name
        )
    if "CLIP cannot be used as main model" in complaint:
        return TargetUnsupported(
            "{name} only lets another model see pictures; choose that model itself.", name=path.name
        )
    if "token_embd.weight' not found" in complaint:
        return TargetUnusable(
            "{name} contains no weights of a language model; choose the model itself.", name=path.name
        )
    return TargetUnusable(
        "{name} is damaged or incomplete; download it again. (llama.cpp: {complaint})",
        name=path.name,
        complaint=complaint,
    )


def _cards_too_small(path: Path, settings: TargetSettings, complaint: str) -> CardsTooSmall | None:
    """The error if memory was wanted on graphics cards and not had; None if it was something else."""
    if "allocate" not in complaint or "CPU" in complaint or settings.gpu_layers == 0:
        return None
    support = gpu_support()
    if not support.devices:
        return None
    free = sum(device.free_memory for device in support.devices)
    return CardsTooSmall(
        "{name} needs more memory on {card} than the {free:.1f} GB that are free; choose fewer GPU layers or a "
        "smaller context size for it.",
        name=path.name,
        card=support.description,
        free=free / 1e9,
    )


def open_model(
    path: Path,
    settings: TargetSettings,
    on_progress: Callable[[float], None],
    stop: StopSignal,
    is_trial: bool = False,
    with_heads: bool = False,
) -> Any:
    """The weights of a GGUF file, to be returned with `free_model`. A file that is open already is not mapped again: a
    drafter may be the target of another chat. In a trial all weights are checked, and read as they are in the file
    instead of being arranged for speed. `with_heads`: also layers for guessing ahead. Raises TargetMissing,
    TargetUnusable, TargetUnsupported or Cancelled."""
    check_file(path)
    state = path.stat()
    key = state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, settings.gpu_layers, with_heads
    if stop.is_set():
        raise Cancelled("Loading {name} was cancelled.", name=path.name)
    with _sharing:
        known = next((each for each in _open_models if each.key == key), None)
        if known is not None:
            known.num_users += 1
            on_progress(1.0)
            return known.model
    model = _load_model(path, settings, on_progress, stop, is_trial, with_heads)
    with _sharing:
        _open_models.append(_OpenModel(key, model))
    return model


def share_model(model: Any) -> Any:
    """An open model for one more user, who returns it as well."""
    with _sharing:
        next(each for each in _open_models if each.model == model).num_users += 1
    return model


def free_model(model: Any) -> None:
    """Releases a model, which its last user frees."""
    with _sharing:
        known = next(each for each in _open_models if each.model == model)
        known.num_users -= 1
        if known.num_users:
            return
        _open_models.remove(known)
    lib.llama_model_free(model)


@dataclass(slots=True)
class _OpenModel:
    key: tuple[int | None, ...]
    model: Any
    num_users: int = 1


_sharing = threading.Lock()
_open_models: list[_OpenModel] = []


def _from_parts(paths: Sequence[Path], parameters: Any) -> Any:
    """The model in these files; None if it cannot be loaded. llama.cpp itself knows the names of other parts only as
    it writes them, with small letters."""
    names = [os.fsencode(path) for path in paths]
    if len(names) == 1:
        return lib.llama_model_load_from_file(names[0], parameters)
    return lib.llama_model_load_from_splits((ctypes.c_char_p * len(names))(*names), len(names), parameters)


def _load_model(
    path: Path,
    settings: TargetSettings,
    on_progress: Callable[[float], None],
    stop: StopSignal,
    is_trial: bool,
    with_heads: bool,
) -> Any:
    def report(progress: float, _user_data: object) -> bool:
        on_progress(progress)
        return not stop.is_set()

    callback = lib.llama_progress_callback(report)  # named, so that it outlives the call below
    parameters = model_parameters(settings)
    parameters.progress_callback = callback
    parameters.check_tensors, parameters.use_extra_bufts = is_trial, not is_trial
    parameters.load_mtp = with_heads
    forget_errors()
    model = _from_parts(part_paths(path), parameters)
    if not model:
        if stop.is_set():
            raise Cancelled("Loading {name} was cancelled.", name=path.name)
        complaint = last_error()
        raise _cards_too_small(path, settings, complaint) or explain(path, complaint)
    if not lib.llama_model_has_decoder(model) or lib.llama_model_has_encoder(model):
        lib.llama_model_free(model)
        raise TargetUnsupported(
            "{name} is not a model that writes text on its own; choose a chat model.", name=path.name
        )
    try:
        check_kind(model, path.name)
    except TargetUnsupported:
        lib.llama_model_free(model)
        raise
    return model


def model_parameters(settings: TargetSettings) -> Any:
    """llama.cpp's defaults, with layers on graphics cards as the settings say."""
    parameters = lib.llama_model_default_params()
    if settings.gpu_layers is not None:
        parameters.n_gpu_layers = settings.gpu_layers
        if not settings.gpu_layers:  # llama.cpp would still reserve memory there, and compute long prompts there
            parameters.devices = ctypes.cast(_NO_DEVICES, ctypes.c_void_p)
    return parameters


def context_parameters(settings: TargetSettings) -> Any:
    """llama.cpp's defaults, with threads as the settings say; the sizes are left to the caller."""
    parameters = lib.llama_context_default_params()
    parameters.n_threads = parameters.n_threads_batch = settings.threads or usable_cores()
    parameters.no_perf = True
    return parameters


def parameters_of_one(model: Any, settings: TargetSettings, max_tokens: int, max_rows: int, max_branches: int) -> Any:
    """Those of a context for one text, whose drafts may branch. Models that keep a state would keep one for each
    branch; those with a sliding window get sequences to hold what it has passed, and to restore parts in."""
    parameters = context_parameters(settings)
    parameters.n_ctx = settings.context_for(max(0, lib.llama_model_n_ctx_train(model)))
    parameters.n_batch = parameters.n_ubatch = max_tokens
    parameters.kv_unified = True
    if not lib.llama_model_is_recurrent(model) and not lib.llama_model_is_hybrid(model):
        fewest = FEWEST_WITH_WINDOW if lib.llama_model_n_swa(model) else 1
        parameters.n_seq_max = max(fewest, min(max_branches, max_rows - 1))
    parameters.n_outputs_max = max(max_rows, parameters.n_seq_max)  # it wants a row for each sequence
    one_bytes = state_bytes(lambda key: number_of(model, key))
    parameters.n_rs_seq = num_copies(one_bytes, lib.llama_model_size(model), MAX_LENGTH)  # 0 where it has no state
    return parameters


def open_context(model: Any, path: Path, parameters: Any, settings: TargetSettings) -> Any:
    """A context, or the model is freed. Raises TargetUnusable or TargetUnsupported."""
    forget_errors()
    context = lib.llama_init_from_model(model, parameters)
    if context and lib.llama_get_memory(context):
        return context
    error: MendableError
    if context:
        lib.llama_free(context)
        error = TargetUnsupported("{name} is not a model that writes text; choose a chat model.", name=path.name)
    else:
        error = _cards_too_small(path, settings, last_error()) or TargetUnusable(
            "The context of {size:,} tokens for {name} does not fit into memory; choose a smaller context "
            "size. (llama.cpp: {complaint})",
            size=parameters.n_ctx,
            name=path.name,
            complaint=last_error(),
        )
    free_model(model)
    raise error


def describe(model: Any, context: Any, path: Path, name: str, settings: TargetSettings) -> TargetDescription:
    support = gpu_support()
    template = lib.llama_model_chat_template(model, None)
    all_layers = lib.llama_model_n_layer(model) + 1
    wanted = all_layers if settings.gpu_layers is None else settings.gpu_layers
    return TargetDescription(
        path=path,
        name=name,
        summary=_summary(model),
        size_bytes=sum(part.stat().st_size for part in part_paths(path)),
        threads=lib.llama_n_threads(context),
        chat_template=template.decode("utf-8", "replace") if template else None,
        num_gpu_layers=min(wanted, all_layers) if support.devices else 0,
        num_layers=all_layers,
        gpu=support.description,
        names=" ".join((path.name, *(_header_text(model, f"general.{key}") for key in ("name", "finetune")))),
    )


def number_of(model: Any, key: str) -> int:
    """The number in the file's header by the key without the architecture; 0 if there is none, or one for each
    layer."""
    text = _header_text(model, f"{_header_text(model, 'general.architecture')}.{key}")
    return int(text) if text.isdecimal() else 0


def _header_text(model: Any, key: str) -> str:
    buffer = ctypes.create_string_buffer(256)
    lib.llama_model_meta_val_str(model, key.encode(), buffer, len(buffer))
    return buffer.value.decode("utf-8", "replace")


def _summary(model: Any) -> str:
    """llama.cpp's own description names the nearest size of a family instead of the model's."""
    quantization = (lib.llama_ftype_name(lib.llama_model_ftype(model)) or b"").decode("utf-8", "replace")
    size = _rounded(lib.llama_model_n_params(model))
    return " ".join(filter(None, (_header_text(model, "general.architecture"), size, quantization)))


def _rounded(number: int) -> str:
    """A number of parameters as people say it: 135M, 7.2B."""
    return f"{number / 1e9:.1f}B" if number >= 1e9 else f"{number / 1e6:.0f}M"
