"""llama.cpp's library in this process: its log, the code for this CPU, and the graphics cards it can compute on."""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import logging
import os
import platform
import sys
from collections import deque
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from llama_cpp import _utils as lib_utils
from llama_cpp import llama_cpp as lib
from llama_cpp._ctypes_extensions import load_shared_library

from engine.speculation.model.llama.cpu import libraries
from engine.speculation.model.llama.extensions import usable_flags
from engine.values.logged import Loggable
from engine.values.sentences import say
from engine.values.targets import ComputeDevice, DeviceKind, GpuSupport, Runtime

_logger = logging.getLogger("slipstream.llama_cpp")  # its own words
_own_logger = logging.getLogger("slipstream.target")

# ggml's own numbers; the names in llama-cpp-python are of an older version.
_LOG_LEVELS = {1: logging.DEBUG, 2: logging.DEBUG, 3: logging.INFO, 4: logging.WARNING}
_GGML_ERROR = 4
_GGML_CONTINUED = 5

_NOT_FOR_CARDS = ("libggml-base", "libggml-cpu")
_GPU, _INTEGRATED = 1, 2  # of enum ggml_backend_dev_type
_NOT_GPUS = ("CPU", "BLAS")  # backends that compute on the CPU
_REMOTE = "RPC"

_recent_errors: deque[str] = deque(maxlen=16)


def _receive_log(level: int, text: bytes | None, _user_data: object) -> None:
    message = (text or b"").decode("utf-8", "replace").strip()
    if not message or level == _GGML_CONTINUED:  # pieces of progress bars
        return
    if level == _GGML_ERROR:
        _recent_errors.append(message)
    _logger.log(_LOG_LEVELS.get(level, logging.DEBUG), "%s", message)


# Kept alive for as long as the library may call it.
LOG_CALLBACK = lib.llama_log_callback(_receive_log)
lib.llama_log_set(LOG_CALLBACK, ctypes.c_void_p(0))
lib.llama_backend_init()
# llama-cpp-python opens /dev/null twice as it is imported; left open, Python may warn of it as it ends.
for _file in (lib_utils.outnull_file, lib_utils.errnull_file):
    atexit.register(_file.close)


def _load_kernels() -> None:
    """Loads, in a build with a library for each kind of CPU, the one for this CPU, and those for graphics cards."""
    folder = Path(lib._base_path)
    if not any(folder.glob("*ggml-cpu-*")):
        return
    # Found through libllama, which leads to the very copy of ggml that it is linked with; Windows cannot look further.
    ggml = ctypes.CDLL(str(folder / "ggml.dll")) if sys.platform == "win32" else lib._lib
    if sys.platform != "linux" or platform.machine() != "x86_64":
        ggml.ggml_backend_load_all_from_path.restype = None
        ggml.ggml_backend_load_all_from_path(os.fsencode(folder))
        return
    ggml.ggml_backend_load.restype = ctypes.c_void_p
    for library in libraries(folder, usable_flags()):
        if ggml.ggml_backend_load(os.fsencode(library)):
            _own_logger.info("computing with %s", Loggable(library.name))
            break
    for library in _card_libraries(folder):
        if ggml.ggml_backend_load(os.fsencode(library)):
            _own_logger.info("found a library for graphics cards")


def _card_libraries(folder: Path) -> list[Path]:
    """The libraries for graphics cards, which users may have put there; and the one that llama.cpp's own variable
    names."""
    found = (path for path in sorted(folder.glob("libggml-*.so")) if not path.stem.startswith(_NOT_FOR_CARDS))
    named = os.environ.get("GGML_BACKEND_PATH")
    return [*found, *([Path(named)] if named else [])]


_load_kernels()


def read_runtime() -> Runtime:
    """The version of this build of llama.cpp, and what it uses of this machine."""
    text = str(lib.llama_print_system_info() or b"", "utf-8", "replace")
    parts = [part.split(" = ") for part in text.replace(":", "|").split("|")]
    features = tuple(part[0].strip() for part in parts if len(part) == 2 and part[1].strip() == "1")
    return Runtime(f"llama-cpp-python {version('llama-cpp-python')}", features)


@cache
def library_digest() -> str:
    """A digest that differs for another build of llama.cpp."""
    return hashlib.sha256(Path(lib._lib._name).read_bytes()).hexdigest()


def forget_errors() -> None:
    """Forgets errors, before a call whose failure is to be explained."""
    _recent_errors.clear()


def last_error() -> str:
    """The last of llama.cpp's errors that does not merely repeat that loading failed."""
    causes = [text for text in _recent_errors if "failed to load model" not in text]
    return (causes or list(_recent_errors) or [say("no reason given")])[-1]


def has_complained(words: str) -> bool:
    return any(words in text for text in _recent_errors)


class _Properties(ctypes.Structure):
    """struct ggml_backend_dev_props; its last part, what the device is capable of, is five flags."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("description", ctypes.c_char_p),
        ("memory_free", ctypes.c_size_t),
        ("memory_total", ctypes.c_size_t),
        ("type", ctypes.c_int),
        ("device_id", ctypes.c_char_p),
        ("caps", ctypes.c_bool * 5),
    )


def gpu_support() -> GpuSupport:
    """The devices that this build can compute on besides the CPU, and what is free there now. Asks the drivers, which
    takes some milliseconds; any thread may call it."""
    found = [_describe(device) for device in _all_of("dev")]
    names = [_backend_name(backend) for backend in _all_of("reg")]
    backends = tuple(name for name in names if name not in (*_NOT_GPUS, _REMOTE))
    return GpuSupport(backends, _chosen([each for each in found if each is not None]))


def _chosen(found: list[tuple[ComputeDevice, bytes | None]]) -> tuple[ComputeDevice, ...]:
    """The devices that llama.cpp chooses: every card once, even if several backends reach it; if there are none, those
    of one backend that share the machine's memory."""
    cards: list[ComputeDevice] = []
    integrated: list[ComputeDevice] = []
    identities: set[bytes | None] = set()
    for device, identity in found:
        if device.kind is DeviceKind.INTEGRATED:
            if not integrated or integrated[0].backend == device.backend:
                integrated.append(device)
        elif identity is None or identity not in identities:
            cards.append(device)
            identities.add(identity)
    return tuple(cards or integrated)


def _describe(device: Any) -> tuple[ComputeDevice, bytes | None] | None:
    """The device with its identity. None for what is no graphics card of this machine."""
    properties = _Properties()
    _function("ggml_backend_dev_get_props", None, ctypes.c_void_p, ctypes.c_void_p)(device, ctypes.byref(properties))
    backend = _backend_name(_function("ggml_backend_dev_backend_reg", ctypes.c_void_p, ctypes.c_void_p)(device))
    if properties.type not in (_GPU, _INTEGRATED) or backend == _REMOTE:
        return None
    name = _text(properties.name)
    described = ComputeDevice(
        name=name,
        description=_text(properties.description) or name,
        backend=backend,
        kind=DeviceKind.GPU if properties.type == _GPU else DeviceKind.INTEGRATED,
        total_memory=properties.memory_total,
        free_memory=min(properties.memory_free, properties.memory_total),
    )
    return described, properties.device_id


def _all_of(kind: str) -> list[Any]:
    """All devices ("dev"), or all backends ("reg")."""
    count = _function(f"ggml_backend_{kind}_count", ctypes.c_size_t)()
    get = _function(f"ggml_backend_{kind}_get", ctypes.c_void_p, ctypes.c_size_t)
    return [get(place) for place in range(count)]


def _backend_name(backend: Any) -> str:
    name = _text(_function("ggml_backend_reg_name", ctypes.c_char_p, ctypes.c_void_p)(backend))
    return "Metal" if name == "MTL" else name


def _text(text: bytes | None) -> str:
    return (text or b"").decode("utf-8", "replace")


@cache
def _function(name: str, result: Any, *arguments: Any) -> Any:
    function = getattr(_library_of(name), name)
    function.restype, function.argtypes = result, arguments
    return function


@cache
def _library_of(name: str) -> Any:
    """The library that has a function of ggml. Except on Windows, it is reached through libllama: wheels carry copies
    of each library under several names, and another copy would have its own list of devices."""
    if sys.platform != "win32":
        return lib._lib
    in_registry = name.endswith(("_count", "_get"))
    return load_shared_library("ggml" if in_registry else "ggml-base", lib._base_path)
