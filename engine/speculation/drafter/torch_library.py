"""Loads torch's native library without stopping the other threads.

`import torch` maps some hundred megabytes of libraries while it holds the interpreter's lock, which froze the window
for 190 to 420 ms. A foreign function called through ctypes releases the lock, so that only the rest of the import
(about 44 ms at a time) is felt.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
import threading
from contextlib import suppress
from pathlib import Path


def preload_torch() -> bool:
    """Returns whether the library is loaded. Imports nothing; `import torch` would load it, too, but with the lock
    held.

    Does nothing on systems other than Linux.
    """
    if sys.platform != "linux":
        return False
    try:
        spec = importlib.util.find_spec("torch")
        if spec is None or spec.origin is None:
            return False
        library = Path(spec.origin).parent / "lib" / "libtorch_python.so"
        # Not ctypes.CDLL(library), which opens it with the lock held.
        load = ctypes.CDLL(None).dlopen
        load.restype = ctypes.c_void_p
        load.argtypes = [ctypes.c_char_p, ctypes.c_int]
        # Global, because torch's own extension looks its symbols up there.
        return load(os.fsencode(library), os.RTLD_LAZY | os.RTLD_GLOBAL) is not None
    except (ImportError, OSError, AttributeError, ValueError):
        return False


def import_apart(*names: str) -> None:
    """Imports modules that import torch, on a thread that has nothing else on its stack. Some of what torch imports
    keeps the frames that it was imported from, in cycles, and with them whatever those hold: a whole target with its
    drafter, for good where Python's garbage is frozen meanwhile. A module that cannot be imported fails when the caller
    imports it."""
    missing = [name for name in names if name not in sys.modules]
    if missing:
        importing = threading.Thread(target=_import_all, args=(missing,), name="slipstream-torch")
        importing.start()
        importing.join()


def _import_all(names: list[str]) -> None:
    with suppress(Exception):
        for name in names:
            importlib.import_module(name)
