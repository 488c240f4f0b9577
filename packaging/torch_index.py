"""Prints the index that torch comes from beside the usual one, or nothing: `python3 packaging/torch_index.py [bundle]`.

On Linux the usual one has torch with CUDA, several GB. Without an NVIDIA card, and in a bundle, the small build for the
CPU does the same; its index is asked once whether it can be reached. TORCH_INDEX decides where it is set, to nothing as
well. Plain standard library, because it runs before anything is installed.
"""

from __future__ import annotations

import os
import shutil
import sys
from http.client import HTTPException
from pathlib import Path
from urllib.request import urlopen

_FOR_CPU = "https://download.pytorch.org/whl/cpu"
_TIMEOUT = 5.0  # s


def has_nvidia_driver() -> bool:
    return Path("/proc/driver/nvidia/version").exists() or shutil.which("nvidia-smi") is not None


def choose(index: str = _FOR_CPU, *, for_bundle: bool = False) -> str:
    if "TORCH_INDEX" in os.environ:
        return os.environ["TORCH_INDEX"]
    if not sys.platform.startswith("linux") or (has_nvidia_driver() and not for_bundle):
        return ""
    try:
        with urlopen(f"{index}/torch/", timeout=_TIMEOUT):
            return index
    except (OSError, HTTPException) as error:  # URLError, refused certificates and time-outs are of OSError
        print(f"{index} cannot be reached ({error}): torch comes from the usual index.", file=sys.stderr)
        return ""


if __name__ == "__main__":
    print(choose(for_bundle="bundle" in sys.argv[1:]))
