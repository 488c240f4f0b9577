"""The graphics cards that llama.cpp can compute on, as ggml lists them. `llama_cpp.py` begins it before it asks."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

from llama_cpp import llama_cpp as lib
from llama_cpp._ctypes_extensions import load_shared_library

from engine.messages.targets import ComputeDevice, DeviceKind, GpuSupport

_GPU, _INTEGRATED = 1, 2  # of enum ggml_backend_dev_type
_NOT_GPUS = ("CPU", "BLAS")  # backends that compute on the CPU
_REMOTE = "RPC"


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


def read_support() -> GpuSupport:
    """Asks the drivers how much memory is free, which takes some milliseconds; any thread may call it."""
    found = [_describe(device) for device in _all_of("dev")]
    names = [_backend_name(backend) for backend in _all_of("reg")]
    backends = tuple(name for name in names if name not in (*_NOT_GPUS, _REMOTE))
    return GpuSupport(backends, _chosen([each for each in found if each is not None]))


def _chosen(found: list[tuple[ComputeDevice, bytes | None]]) -> tuple[ComputeDevice, ...]:
    """As llama.cpp chooses by itself: every card once, though several backends may reach it; those that share the
    machine's memory only where there are no others, and of one backend."""
    cards: list[ComputeDevice] = []
    integrated: list[ComputeDevice] = []
    identities: set[bytes] = set()
    for device, identity in found:
        if device.kind is DeviceKind.INTEGRATED:
            if not integrated or integrated[0].backend == device.backend:
                integrated.append(device)
        elif identity is None or identity not in identities:
            cards.append(device)
            identities |= {identity} if identity is not None else set()
    return tuple(cards or integrated)


def _describe(device: Any) -> tuple[ComputeDevice, bytes | None] | None:
    """With what tells it from others. None for what is no graphics card of this machine."""
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
    """The library that has a function of ggml. Elsewhere than on Windows it must be reached through the one that
    needs it: wheels carry copies of each library under several names, and loading another copy would have a list of
    devices of its own."""
    if sys.platform != "win32":
        return lib._lib
    in_registry = name.endswith(("_count", "_get"))
    return load_shared_library("ggml" if in_registry else "ggml-base", lib._base_path)
