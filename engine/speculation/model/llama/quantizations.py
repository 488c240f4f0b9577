"""Quantizes model files: the same model in another quantization, next to the original.

llama.cpp does it in one call that reports no progress and cannot be stopped. So it runs in a separate process, which
can be ended, while the growing file shows the progress. A file of that name appears when it is whole; an existing file
stays.
"""

from __future__ import annotations

import ctypes
import errno
import json
import logging
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from llama_cpp import llama_cpp as lib

from engine.speculation.model.apart.child import Limits, ask_child
from engine.speculation.model.apart.sandbox import Access
from engine.speculation.model.files.model_files import model_name, part_paths, without_quantization
from engine.speculation.model.llama.cpu import usable_cores
from engine.speculation.model.llama.runtime import forget_errors, last_error
from engine.values.errors import Cancelled, NotPossible
from engine.values.sentences import say
from engine.values.stop_signal import StopSignal

# Quantizations that need no statistics about the weights (an importance matrix), largest first.
QUANTIZATIONS = {
    "F16": lib.LLAMA_FTYPE_MOSTLY_F16,
    "BF16": lib.LLAMA_FTYPE_MOSTLY_BF16,
    "Q8_0": lib.LLAMA_FTYPE_MOSTLY_Q8_0,
    "Q6_K": lib.LLAMA_FTYPE_MOSTLY_Q6_K,
    "Q5_1": lib.LLAMA_FTYPE_MOSTLY_Q5_1,
    "Q5_K_M": lib.LLAMA_FTYPE_MOSTLY_Q5_K_M,
    "Q5_K_S": lib.LLAMA_FTYPE_MOSTLY_Q5_K_S,
    "Q5_0": lib.LLAMA_FTYPE_MOSTLY_Q5_0,
    "Q4_1": lib.LLAMA_FTYPE_MOSTLY_Q4_1,
    "Q4_K_M": lib.LLAMA_FTYPE_MOSTLY_Q4_K_M,
    "Q4_K_S": lib.LLAMA_FTYPE_MOSTLY_Q4_K_S,
    "Q4_0": lib.LLAMA_FTYPE_MOSTLY_Q4_0,
    "IQ4_NL": lib.LLAMA_FTYPE_MOSTLY_IQ4_NL,
    "IQ4_XS": lib.LLAMA_FTYPE_MOSTLY_IQ4_XS,
}
USUAL_QUANTIZATIONS = ("Q8_0", "Q4_K_M", "Q4_0")  # quick to make; IQ4 takes twenty times as long

_SPARE_BYTES = 64 << 20  # of the disk, for everything else
_LONGEST_NAME = 200  # bytes, to leave room for the ending of a file that is being written
_LOOK_S = 120.0  # for reading the header, on a slow disk
_LEAST_PRIORITY = 19
_SIZE = re.compile(r"(model|quant) size\s*=\s*([\d.]+) MiB")


@dataclass(frozen=True, slots=True)
class QuantizationSize:
    """The outcome of a quantization."""

    num_bytes: int  # of its file; 0 where it cannot be made
    complaint: str = ""  # llama.cpp's reason why it cannot


def quantization_path(path: Path, quantization: str, folder: Path | None = None) -> Path:
    """The path for this quantization of the model in `path`: next to it, or in `folder`, under its name."""
    name = without_quantization(model_name(path))
    while len(name.encode("utf-8", "surrogateescape")) > _LONGEST_NAME:
        name = name[:-1]
    return (path.parent if folder is None else folder) / f"{name}-{quantization}.gguf"


def check_quantization(quantization: str) -> None:
    """Raises NotPossible for what cannot be made here."""
    if quantization not in QUANTIZATIONS:
        raise NotPossible(
            "{form} cannot be made here; choose one of {forms}. (Smaller ones need statistics about the "
            "weights: download them.)",
            form=quantization,
            forms=", ".join(QUANTIZATIONS),
        )


def quantization_sizes(path: Path, quantizations: tuple[str, ...], stop: StopSignal) -> Mapping[str, QuantizationSize]:
    """The sizes of the files of these quantizations, without writing any. Raises NotPossible, and Cancelled when `stop`
    is set."""
    for quantization in quantizations:
        check_quantization(quantization)
    access = Access(reads=True, writes=(Path(os.devnull),))
    answer = ask_child(_measure_sizes, (path, quantizations), stop.is_set, Limits(wall_s=_LOOK_S), access)
    if answer is None:
        raise NotPossible("llama.cpp cannot read {name}; download it again.", name=path.name)
    return {quantization: QuantizationSize(*found) for quantization, found in json.loads(answer).items()}


def make_quantization(
    path: Path,
    quantization: str,
    target: Path,
    stop: StopSignal,
    on_progress: Callable[[float], None] = lambda _share: None,
) -> None:
    """Quantizes the model in `path` to `target`, whole or not at all; `on_progress` is given the share that is written.
    Raises NotPossible, and Cancelled when `stop` is set."""
    size = quantization_sizes(path, (quantization,), stop)[quantization]
    if size.complaint:
        raise NotPossible(
            "{name} cannot be turned into {form} (llama.cpp: {complaint}).",
            name=path.name,
            form=quantization,
            complaint=size.complaint,
        )
    check_free([target])
    check_room(target.parent, size.num_bytes)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    except OSError as error:
        raise NotPossible(
            "{folder} cannot be written ({reason}); choose another folder.", folder=target.parent, reason=error.strerror
        ) from error
    os.close(handle)
    unfinished = Path(name)
    try:
        _write(path, quantization, unfinished, size.num_bytes, stop, on_progress)
        settle(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)


def copy_without(path: Path, layers: Sequence[int], out: Path) -> str:
    """Runs in a child: writes the model in `path` without these layers. Returns llama.cpp's complaint, empty if it is
    done."""
    parameters = lib.llama_model_quantize_default_params()
    parameters.only_copy = True
    parameters.prune_layers = (ctypes.c_int32 * (len(layers) + 1))(*sorted(layers), -1)
    return _run(path, out, parameters)


def check_free(targets: Sequence[Path]) -> None:
    """Raises NotPossible if there is a file already."""
    for target in targets:
        if target.exists():
            raise _is_there(target)


def check_room(folder: Path, num_bytes: int) -> None:
    """Raises NotPossible if that much more does not fit on the disk."""
    if num_bytes > (free := free_bytes(folder)):
        raise NotPossible(
            "This takes {size:.2f} GB in {folder}, but only {free:.2f} GB are free; free some space and try again.",
            size=num_bytes / 1e9,
            folder=folder,
            free=free / 1e9,
        )


def free_bytes(folder: Path) -> int:
    """The bytes that a quantization may take on the disk of a folder, which need not exist yet."""
    there = next(each for each in (folder, *folder.parents) if each.exists())
    return max(0, shutil.disk_usage(there).free - _SPARE_BYTES)


def _write(
    path: Path,
    quantization: str,
    unfinished: Path,
    num_bytes: int,
    stop: StopSignal,
    on_progress: Callable[[float], None],
) -> None:
    def look() -> bool:
        on_progress(min(1.0, unfinished.stat().st_size / num_bytes))
        return stop.is_set()

    try:
        access = Access(reads=True, writes=(unfinished,))
        complaint = ask_child(_quantize, (path, quantization, unfinished), look, Limits(), access)
    except Cancelled:
        raise Cancelled("Making {form} of {name} was cancelled.", form=quantization, name=path.name) from None
    if complaint is None or complaint:
        check_room(unfinished.parent, num_bytes - unfinished.stat().st_size)  # the usual reason
        raise NotPossible(
            "{name} cannot be turned into {form} (llama.cpp: {complaint}); try another quantization.",
            name=path.name,
            form=quantization,
            complaint=complaint or say("it ended"),
        )
    on_progress(1.0)


def settle(unfinished: Path, target: Path) -> None:
    """Gives a whole file its name, on the same disk. Raises NotPossible if another file has it."""
    with unfinished.open("rb+") as file:
        os.fsync(file.fileno())
    try:
        try:
            os.link(unfinished, target)
        except OSError as error:
            if error.errno == errno.EEXIST or target.exists():
                raise FileExistsError from error
            unfinished.rename(target)  # a disk without links
    except FileExistsError:
        raise _is_there(target) from None


def _is_there(target: Path) -> NotPossible:
    return NotPossible("{target} already exists; use it, or move it away first.", target=target)


def _quantize(path: Path, quantization: str, out: Path) -> str:
    """Runs in a child: quantizes. Returns llama.cpp's complaint; empty if it is done."""
    if sys.platform == "win32":
        psutil.Process().nice(psutil.IDLE_PRIORITY_CLASS)
    else:
        os.nice(_LEAST_PRIORITY)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    return _quantized(path, quantization, out, dry=False)


def _end_with_parent() -> None:
    """Ends this process when the program is killed, since the file is of no use then."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _measure_sizes(path: Path, quantizations: tuple[str, ...]) -> str:
    """Runs in a child."""
    num_bytes = sum(part.stat().st_size for part in part_paths(path))
    seen: list[logging.LogRecord] = []
    logger = logging.getLogger("slipstream.llama_cpp")
    logger.setLevel(logging.DEBUG)
    logger.addHandler(_Collector(seen))
    found: dict[str, tuple[int, str]] = {}
    for quantization in quantizations:
        seen.clear()
        complaint = _quantized(path, quantization, Path(os.devnull), dry=True)
        sizes = {kind: float(size) for each in seen for kind, size in _SIZE.findall(each.getMessage())}
        change = sizes.get("quant", 0.0) - sizes.get("model", 0.0)
        found[quantization] = (0, complaint) if complaint else (max(0, num_bytes + int(change * 2**20)), "")
    return json.dumps(found)


class _Collector(logging.Handler):
    def __init__(self, seen: list[logging.LogRecord]) -> None:
        super().__init__()
        self._seen = seen

    def emit(self, record: logging.LogRecord) -> None:
        self._seen.append(record)


def _quantized(path: Path, quantization: str, out: Path, dry: bool) -> str:
    parameters = lib.llama_model_quantize_default_params()
    parameters.ftype = QUANTIZATIONS[quantization]
    parameters.allow_requantize = True
    parameters.nthread = usable_cores()
    parameters.dry_run = dry
    return _run(path, out, parameters)


def _run(path: Path, out: Path, parameters: Any) -> str:
    forget_errors()
    if lib.llama_model_quantize(os.fsencode(path), os.fsencode(out), parameters) == 0:
        return ""
    return last_error()
