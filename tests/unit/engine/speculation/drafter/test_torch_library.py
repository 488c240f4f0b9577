from __future__ import annotations

import subprocess
import sys

import pytest

from engine.speculation.drafter.torch_library import import_apart, preload_torch


@pytest.mark.skipif(sys.platform != "linux", reason="it does nothing elsewhere")
def test_the_library_is_there_before_torch_is_imported_and_torch_works_on_it() -> None:
    program = (
        "import sys; from engine.speculation.drafter.torch_library import preload_torch; assert preload_torch();"
        "assert 'torch' not in sys.modules; assert 'libtorch_python.so' in open('/proc/self/maps').read();"
        "import torch; print(float(torch.ones(3).sum()))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout.strip() == "3.0"


def test_without_torch_it_gives_up_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    assert not preload_torch()


_HELD = """
import gc, sys, weakref
from engine.speculation.drafter.torch_library import import_apart

class Target: pass

def load():
    target = Target()
    import_apart("engine.speculation.proposers.teachable")
    import engine.speculation.proposers.teachable
    return weakref.ref(target)

gc.disable()
held = load()
assert "torch" in sys.modules
print(held() is None)
"""


def test_what_imports_torch_is_not_held_by_it() -> None:
    """Where the garbage collector rests, as it does in the window while much is imported."""
    result = subprocess.run([sys.executable, "-c", _HELD], capture_output=True, text=True, timeout=120, check=True)
    assert result.stdout.strip() == "True"


def test_a_module_that_cannot_be_imported_apart_is_left_to_whoever_needs_it() -> None:
    import_apart("engine.no_such_module")
    assert "engine.no_such_module" not in sys.modules
