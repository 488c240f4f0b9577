"""The surroundings of every test: no real user folder, no real display, and the starter target on request."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from engine import StopSignal, TargetSettings
from engine.speculation.model.files.sources import starter_path
from engine.speculation.model.interface import Target
from engine.values.config import DATA_DIR_VARIABLE
from tests.gemma import gemma_path
from tests.plain import add_options, choose_plain
from tests.processes import keep_apart, spread

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication

    from engine.lab.distillation.cut import GgufSource
    from tests.fakes.hub import FakeHub

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
_OF_THE_ENGINE = Path(__file__).parent / "unit" / "engine"

# The time of an example depends on what else the machine does; only that it ends counts.
hypothesis.settings.register_profile("patient", deadline=None, max_examples=100 if os.environ.get("CI") else 40)
hypothesis.settings.load_profile("patient")


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    add_options(parser, pluginmanager)


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the number of processes
def pytest_cmdline_main(config: pytest.Config) -> None:
    spread(config)
    keep_apart(config)
    choose_plain(config)
    gc.disable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the tests that need Gemma, unless they are asked for: `make test` does without it."""
    if "gemma" not in config.option.markexpr:
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("gemma")])
        items[:] = [item for item in items if not item.get_closest_marker("gemma")]


def pytest_collection_finish() -> None:
    if "engine.backend.storage" in sys.modules:
        from tests.fakes.ready_store import copy_ready_stores

        copy_ready_stores()
    gc.freeze()  # what exists by now is code and stays: traversing it again would take longer than most tests


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """Frees what Qt owns on the interface thread only, as in the app (`app/startup/desktop_application.py`). This is no
    fixture, because pytest holds the values of all fixtures until their end: windows and engines would outlive the
    whole run. Garbage is collected after each file with windows, and after each folder of the engine's tests: after
    each test, it took longer than most of them."""
    gc.disable()  # a test may have enabled it: then any thread could free windows
    result = yield
    qt = sys.modules.get("PySide6.QtCore")
    if qt is not None and qt.QCoreApplication.instance() is not None:  # what waits for deletion keeps others alive
        qt.QCoreApplication.sendPostedEvents(None, qt.QEvent.Type.DeferredDelete.value)
    if nextitem is None or _collected_together(nextitem) != _collected_together(item):
        gc.collect()
    return result


def _collected_together(item: pytest.Item) -> Path:
    return item.path.parent if _OF_THE_ENGINE in item.path.parents else item.path


@pytest.fixture(autouse=True)
def _own_data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DATA_DIR_VARIABLE, str(tmp_path / "data"))


@pytest.fixture(scope="session")
def qapp(qapp: QApplication) -> QApplication:
    """In English, whatever the language of the system: `2 files`, not `2 file(s)`."""
    # Imported here, because most tests do without Qt.
    from app.text.translation import install_translations

    install_translations(qapp)
    return qapp


@pytest.fixture(scope="session")
def starter() -> Iterator[Target]:
    """The real starter target, loaded once. Use `fresh_starter` to begin with nothing held."""
    from engine.speculation.model.llama.llama_cpp import LlamaCppTarget

    target = LlamaCppTarget.load(
        starter_path(), "starter", TargetSettings(context_size=2048), lambda _progress: None, StopSignal()
    )
    yield target
    target.close()


@pytest.fixture(scope="session")
def starter_weights() -> GgufSource:
    """The starter's file as torch and transformers read it; opening it takes seconds."""
    from engine.lab.distillation.cut import GgufSource

    return GgufSource(starter_path())


@pytest.fixture(scope="session")
def gemma() -> Iterator[Target]:
    """Gemma 3 270M, loaded once, which holds what the last test has read; or skipped where it is not installed."""
    from engine.speculation.model.llama.llama_cpp import LlamaCppTarget

    settings = TargetSettings(context_size=2048)
    target = LlamaCppTarget.load(gemma_path(), "gemma", settings, lambda _progress: None, StopSignal())
    yield target
    target.close()


@pytest.fixture
def fresh_starter(starter: Target) -> Target:
    starter.roll_back(0)
    return starter


@pytest.fixture
def sound_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that make their model files: none is tried in a process of its own first, which takes seconds."""
    for user in ("engine.loading", "engine.speculation.drafter.gguf"):
        monkeypatch.setattr(f"{user}.preflight", lambda *_arguments, **_named: None)


@pytest.fixture
def drafter_and_recall(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of words and colours of both: no other proposer is in the list, whatever others there are by now."""
    from engine.speculation.proposers import catalogue

    both = [listed for listed in catalogue.PROPOSERS if listed.origin in (catalogue.DRAFTER, catalogue.RECALL)]
    monkeypatch.setattr(catalogue, "PROPOSERS", tuple(both))


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """A hub on loopback with one small drafter, `somebody/tiny-llama`."""
    # Imported here, because torch is slow to load and few tests need it.
    from huggingface_hub import close_session

    from tests.fakes.hub import serving
    from tests.unit.engine.speculation.drafter.checkpoints import random_llama, save

    with serving() as server:
        server.add("somebody/tiny-llama", save(random_llama(), tmp_path / "checkpoint"))
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server
        close_session()
