"""Plain tests: without Qt, torch, llama.cpp and processes of their own. `make check` runs them with `--plain`.

Nothing marks them. A file of `tests/unit` is plain if it can be imported where those libraries cannot. A test in it
that imports one of them later fails: it belongs into a file that imports the library where it begins. A test that
starts a process is skipped.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

_SLOW = frozenset(("PySide6", "shiboken6", "torch", "transformers", "llama_cpp"))
_PROCESSES = frozenset(("subprocess.Popen", "os.fork", "os.posix_spawn", "os.system"))
_TESTS = Path(__file__).parent
_OTHERS = tuple(
    _TESTS / name for name in ("end_to_end", "unit/app", "unit/packaging", "unit/engine/tools")
)  # windows, processes (some started on threads, where a skip is not heard), the starter


class PlainTests(MetaPathFinder):
    """The plugin that selects them and holds them to it."""

    def __init__(self) -> None:
        self._is_collecting = True

    def install(self) -> PlainTests:
        sys.meta_path.insert(0, self)
        sys.addaudithook(self._hear)
        BaseProcess.start = _refusing(BaseProcess.start)  # type: ignore[method-assign, assignment]
        return self

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: object = None) -> None:  # noqa: ARG002
        if fullname.partition(".")[0] not in _SLOW:
            return
        if self._is_collecting:
            pytest.skip(f"imports {fullname}", allow_module_level=True)
        pytest.fail(f"A plain test imports {fullname}: it belongs into a file that does so where it begins.")

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        return True if collection_path in _OTHERS else None

    def pytest_collection_finish(self) -> None:
        self._is_collecting = False

    def _hear(self, event: str, _values: object) -> None:
        if event in _PROCESSES:
            _skip_process()


def _refusing(start: Callable[[BaseProcess], None]) -> Callable[[BaseProcess], None]:
    def refuse(process: BaseProcess) -> None:
        _skip_process()
        start(process)

    return refuse


def _skip_process() -> None:
    if "PYTEST_CURRENT_TEST" in os.environ:  # pytest starts some for itself
        pytest.skip("starts a process")


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
