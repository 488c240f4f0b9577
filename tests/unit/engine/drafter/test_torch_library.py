from __future__ import annotations

import subprocess
import sys

import pytest

from engine.drafter.torch_library import preload_torch


@pytest.mark.skipif(sys.platform != "linux", reason="it does nothing elsewhere")
def test_the_library_is_there_before_torch_is_imported_and_torch_works_on_it() -> None:
    program = (
        "import sys; from engine.drafter.torch_library import preload_torch; assert preload_torch();"
        "assert 'torch' not in sys.modules; assert 'libtorch_python.so' in open('/proc/self/maps').read();"
        "import torch; print(float(torch.ones(3).sum()))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout.strip() == "3.0"


def test_without_torch_it_gives_up_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    assert not preload_torch()
