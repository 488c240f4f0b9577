"""Opens what both the engine and single commands use: the store, the library, servers, downloads.

Functions import what they open: the window must not wait for llama.cpp, SQLAlchemy or huggingface_hub.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from engine.speculation.model.files.model_files import models_folder
from engine.values.config import EngineConfig
from engine.values.events import Listener, TargetInfo

if TYPE_CHECKING:
    from engine.backend.library.library_service import LibraryService
    from engine.backend.library.saved_downloads import SavedDownloads
    from engine.backend.library.tuning.tuning_service import TuningService
    from engine.backend.quiet import Quiet
    from engine.backend.remote.servers import Servers
    from engine.backend.storage import Repository
    from engine.backend.tools.interface import ToolHost
    from engine.backend.tools.keys import ToolKeys
    from engine.values.targets import GpuSupport


def make_tool_host(_config: EngineConfig, emit: Listener, keys: ToolKeys) -> ToolHost:
    """Starts nothing."""
    from engine.backend.tools.host import ServerHost

    return ServerHost(emit, keys.filled)


def make_tool_keys(servers: Servers) -> ToolKeys:
    """Keeps them with the keys of servers for targets. Uses no network."""
    from engine.backend.tools.keys import ToolKeys

    return ToolKeys(servers.keys)


def open_repository(config: EngineConfig) -> Repository:
    """Raises StoreUnusable."""
    from engine.backend.storage import Repository

    return Repository.open(config.data_dir)


def make_library(
    config: EngineConfig,
    repository: Repository,
    emit: Listener,
    loaded: Callable[[], TargetInfo | None] = lambda: None,
) -> LibraryService:
    from engine.backend.library.library_service import LibraryService

    machine = _gpu_support, _room_for_drafter, llama_cpp_build
    return LibraryService(repository, saved_downloads(config), loaded, emit, *machine)


def make_tuning(
    config: EngineConfig,
    repository: Repository,
    library: Callable[[], LibraryService],
    quiet: Quiet,
    rest: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> TuningService:
    """`rest`: nothing learns inside."""
    from engine.backend.library.tuning.tuning_service import TuningService
    from engine.loading import load_target

    return TuningService(repository, library, load_target, config.data_dir, quiet, rest)


def llama_cpp_build() -> str:
    """The key under which what was measured is stored."""
    from engine.speculation.model.llama.runtime import read_runtime

    return read_runtime().key


def _gpu_support() -> GpuSupport:
    from engine.speculation.model.llama.runtime import gpu_support

    return gpu_support()


def _room_for_drafter(target: Path) -> int:
    from engine.speculation.drafter.gguf import room_for_drafter

    return room_for_drafter(target)


def open_servers(config: EngineConfig) -> Servers:
    """The servers that targets can be on. Uses no network."""
    from engine.backend.remote.keys import Keys
    from engine.backend.remote.servers import Servers

    return Servers(config.data_dir, Keys())


def saved_downloads(config: EngineConfig) -> SavedDownloads:
    from engine.backend.library.saved_downloads import SavedDownloads

    return SavedDownloads(models_folder(config.data_dir))
