"""A first look at an unknown model file in a process of its own.

llama.cpp checks its input well, but some damaged or hostile files still end the whole process (an assertion, a
division by zero). They end that one instead, and the app goes on.
"""

from __future__ import annotations

from pathlib import Path

from engine.errors import Cancelled, TargetUnusable
from engine.stop_signal import StopSignal
from engine.target.child import ask_child
from engine.target.opening import check_file, explain, trial


def preflight(path: Path, stop: StopSignal) -> None:
    """Raises what is wrong with the file, or Cancelled when `stop` gets set. Waits without a limit: the file may be
    large and the disk slow."""
    check_file(path)
    try:
        complaint = ask_child(_look, (path,), stop.is_set)
    except Cancelled:
        raise Cancelled(f"Loading {path.name} was cancelled.") from None
    if complaint is None:
        raise TargetUnusable(f"{path.name} is damaged: llama.cpp cannot open it; download it again.")
    if complaint:
        raise explain(path, complaint)


def _look(path: Path) -> str:
    return trial(path) or ""
