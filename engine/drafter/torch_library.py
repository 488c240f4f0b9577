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
from pathlib import Path


def preload_torch() -> bool:
    """Whether the library is loaded. Imports nothing; `import torch` would load it, too, but with the lock held.

    Does nothing on other systems than Linux.
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
