from __future__ import annotations

import subprocess
import sys

# In a process of its own: this one has imported everything already.
_PIECES = """
import sys
from time import thread_time
from PySide6.QtCore import QCoreApplication
import app.startup.first_paint
application = QCoreApplication([])
from app.startup.first_paint import PIECES, import_in_pieces
import_in_pieces()
before = set(sys.modules)
import app.wiring
print(sorted(name for name in set(sys.modules) - before if name.split(".")[0] in ("app", "engine")))
"""
_BEFORE_THE_WINDOW = """
import sys
import app.application, app.startup.first_paint
print(sorted(name for name in sys.modules if name in (
    "engine.threads", "engine.factory", "engine.values.orders", "engine.values.events", "pydantic",
    "importlib.metadata", "psutil", "numpy", "mathra",
)))
"""


def _printed(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_after_the_pieces_nothing_of_ours_is_left_to_import() -> None:
    assert _printed(_PIECES) == "[]"


def test_the_window_is_there_before_what_only_the_engine_needs() -> None:
    assert _printed(_BEFORE_THE_WINDOW) == "[]"
