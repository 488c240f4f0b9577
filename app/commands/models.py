"""`slipstream models`: the library of models, in the terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from app.commands.download_bar import download_bar
from app.commands.interrupts import INTERRUPTED, stopped_by_ctrl_c
from engine import STARTER, EngineConfig, StopSignal, download_target, list_hub_files, open_library
from engine.errors import Cancelled, FetchFailed, TargetMissing
from engine.messages.events import DownloadsListed, Event, TargetDownloading, TargetsListed
from engine.messages.targets import HubFile, LibraryTarget

_WIDE = 10_000  # columns
_SHOWN = 20  # files of a repository


def show(config: EngineConfig) -> None:
    """Raises StoreUnusable."""
    waiting: list[tuple[HubFile, int]] = []

    def hear(event: Event) -> None:
        if isinstance(event, DownloadsListed):
            waiting.extend(event.downloads)

    with open_library(config, hear) as library:
        targets = library.list()
        library.tell_downloads()
    table = Table("name", "parameters", "quantization", "size", "last used", "file", box=None, pad_edge=False)
    for target in targets:
        table.add_row(*_row(target))
    _print(table)
    if not any(target.is_starter for target in targets):
        print(f"{STARTER} is missing; run `make setup` to install it.", file=sys.stderr)
    for target in targets:
        if target.problem:
            print(f"{target.name}: {target.problem}", file=sys.stderr)
    for file, num_bytes in waiting:
        print(
            f"{Path(file.name).name}: {_in_gib(num_bytes)} of {_in_gib(file.size_bytes)} are here; "
            f"`slipstream models download {file.repository} {file.name}` goes on.",
            file=sys.stderr,
        )


def add(config: EngineConfig, paths: list[Path]) -> None:
    """Raises NotPossible and StoreUnusable."""
    left_out: list[str] = []

    def hear(event: Event) -> None:
        if isinstance(event, TargetsListed):
            left_out.extend(event.left_out)

    with stopped_by_ctrl_c() as stop, open_library(config, hear) as library:
        before = {target.path for target in library.list()}
        library.add(tuple(paths), stop)
        added = [target for target in library.list() if target.path not in before]
    for target in added:
        print(f"{target.name} is in the library.")
    if not added:
        print("All of it is in the library already.")
    for reason in left_out:
        print(reason, file=sys.stderr)


def remove(config: EngineConfig, name: str, delete_file: bool) -> None:
    """Raises NotPossible, TargetMissing and StoreUnusable."""
    with open_library(config) as library:
        target = _named(library.list(), name)
        library.remove(target.path, delete_file)
    gone = ", and its file is deleted." if delete_file else f". Its file stays: {target.path}"
    print(f"{target.name} is no longer in the library{gone}")


def download(config: EngineConfig, repository: str, wanted: str | None) -> None:
    """Ctrl+C pauses; the same command goes on. Raises FetchFailed and StoreUnusable."""
    file = _chosen(list_hub_files(repository), repository, wanted)
    with stopped_by_ctrl_c() as stop:
        path = _download(config, file, stop)
    print(f"{file.repository} ({file.quantization or file.name}) is in the library: {path}")


def _download(config: EngineConfig, file: HubFile, stop: StopSignal) -> Path:
    with download_bar() as bar:
        task = bar.add_task(Path(file.name).name, total=file.size_bytes)

        def hear(event: Event) -> None:
            if isinstance(event, TargetDownloading):
                bar.update(task, completed=event.num_bytes)

        try:
            return download_target(config, file, hear, stop)
        except Cancelled as error:
            bar.stop()
            print(error, file=sys.stderr)
            sys.exit(INTERRUPTED)


def _chosen(files: tuple[HubFile, ...], repository: str, wanted: str | None) -> HubFile:
    """The only one, the one of this name, or the one of this quantization. Raises FetchFailed."""
    if wanted is None and len(files) == 1:
        return files[0]
    names = [file for file in files if wanted is not None and wanted in (file.name, Path(file.name).name)]
    kinds = [file for file in files if wanted is not None and file.quantization == wanted.upper()]
    found = names or kinds
    if len(found) == 1:
        return found[0]
    _print(_files_table((found or files)[:_SHOWN]))
    if found:
        raise FetchFailed(f"{repository} has several files of {wanted}; name one of those above.")
    problem = f"{repository} has no {wanted}" if wanted else f"{repository} has {len(files)} models"
    raise FetchFailed(f"{problem}; name one of the files above, or a quantization such as {files[0].quantization}.")


def _named(targets: tuple[LibraryTarget, ...], name: str) -> LibraryTarget:
    for target in targets:
        if name == target.name or (name == STARTER and target.is_starter):
            return target
    path = Path(name).expanduser().absolute()
    for target in targets:
        if path == target.path:
            return target
    raise TargetMissing(f"There is no model {name} in the library; `slipstream models list` shows those there are.")


def _row(target: LibraryTarget) -> tuple[str, ...]:
    details = target.details
    used = "" if target.last_used_at is None else f"{target.last_used_at.astimezone():%Y-%m-%d %H:%M}"
    return (
        STARTER if target.is_starter else target.name,
        _rounded(details.num_parameters) if details else "",
        details.quantization if details else "",
        _in_gib(target.size_bytes) if details or target.path.exists() else "missing",
        used,
        str(target.path),
    )


def _files_table(files: Sequence[HubFile]) -> Table:
    table = Table("file", "quantization", "size", box=None, pad_edge=False)
    for file in files:
        table.add_row(file.name, file.quantization, _in_gib(file.size_bytes))
    return table


def _print(table: Table) -> None:
    console = Console()
    if not console.is_terminal:  # whole paths for other programs
        console = Console(width=_WIDE)
    console.print(table)


def _rounded(number: int) -> str:
    """A number of parameters as people say it: 135M, 7.2B."""
    if not number:
        return ""
    return f"{number / 1e9:.1f}B" if number >= 1e9 else f"{number / 1e6:.0f}M"


def _in_gib(size_bytes: int) -> str:
    return f"{size_bytes / 2**30:.2f} GiB"
