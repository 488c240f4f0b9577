"""Plain tests: without Qt, torch, llama.cpp and processes of their own. `make check` runs them with `--plain`.

Nothing marks them. A file of `tests/unit` is plain if it can be imported where those libraries cannot. A test in it
that imports one of them later fails: it belongs into a file that imports the library where it begins. A test that
starts a process is skipped.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from importlib.abc import MetaPathFinder
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

_SLOW = frozenset(("PySide6", "shiboken6", "torch", "transformers", "llama_cpp"))
_STARTS: tuple[tuple[Any, str], ...] = (  # of processes
    *((BaseProcess, "start"), (subprocess.Popen, "__init__")),
    *((os, name) for name in ("fork", "posix_spawn", "system") if hasattr(os, name)),
)
_TESTS = Path(__file__).parent
_OTHERS = tuple(
    _TESTS / name for name in ("end_to_end", "unit/app", "unit/packaging", "unit/engine/backend/tools")
)  # windows, processes (some started on threads, where a skip is not heard), the starter


class PlainTests(MetaPathFinder):
    """The plugin that selects them and holds them to it."""

    def __init__(self) -> None:
        self._is_collecting = True

    def install(self) -> PlainTests:
        sys.meta_path.insert(0, self)
        for owner, name in _STARTS:
            setattr(owner, name, _refusing(getattr(owner, name)))
        return self

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: object = None) -> None:  # noqa: ARG002
        if fullname.partition(".")[0] not in _SLOW:
            return
        if self._is_collecting and _is_imported_by_conftest():
            raise pytest.UsageError(f"A conftest.py imports {fullname}: all files next to it would be left out.")
        if self._is_collecting:
            pytest.skip(f"imports {fullname}", allow_module_level=True)
        pytest.fail(f"A plain test imports {fullname}: it belongs into a file that does so where it begins.")

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        return True if collection_path in _OTHERS else None

    def pytest_collection_finish(self) -> None:
        self._is_collecting = False


def _is_imported_by_conftest() -> bool:
    frame: FrameType | None = sys._getframe()
    while frame is not None and not frame.f_code.co_filename.endswith(("/conftest.py", "\\conftest.py")):
        frame = frame.f_back
    return frame is not None


def _refusing(start: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(start)
    def refuse(*arguments: Any, **named: Any) -> Any:
        if "PYTEST_CURRENT_TEST" in os.environ:  # pytest starts some for itself
            pytest.skip("starts a process")
        return start(*arguments, **named)

    return refuse


def add_options(parser: pytest.Parser, plugins: pytest.PytestPluginManager) -> None:
    parser.addoption("--plain", action="store_true", help="only the plain tests (tests/plain.py); with -p no:pytest-qt")
    if not plugins.hasplugin("pytest-qt"):  # whose settings `pyproject.toml` has
        parser.addini("qt_api", "unused")
        parser.addini("qt_log_level_fail", "unused")


def choose_plain(config: pytest.Config) -> None:
    if not config.getoption("plain"):
        return
    if config.pluginmanager.hasplugin("pytest-qt"):
        raise pytest.UsageError("--plain needs -p no:pytest-qt")
    if hasattr(config, "workerinput") or not config.option.numprocesses:  # else others run the tests
        config.pluginmanager.register(PlainTests().install())
