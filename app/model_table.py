"""The models a user can choose from, as a table in the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from engine import STARTER, EngineConfig, open_repository, starter_path
from engine.errors import TargetMissing

_WIDE = 10_000  # columns


def print_models(config: EngineConfig) -> None:
    repository = open_repository(config)
    try:
        records = repository.list_targets()
    finally:
        repository.close()
    table = Table("name", "size", "last used", "file", box=None, pad_edge=False)
    starter = _starter()
    table.add_row(STARTER, *starter)
    for record in records:
        if str(record.path) != starter[2]:
            size = _in_gib(record.size_bytes) if record.path.exists() else "missing"
            table.add_row(record.name, size, f"{record.last_used_at.astimezone():%Y-%m-%d %H:%M}", str(record.path))
    console = Console()
    if not console.is_terminal:  # whole paths for other programs
        console = Console(width=_WIDE)
    console.print(table)


def _starter() -> tuple[str, str, str]:
    try:
        path = starter_path()
    except TargetMissing:
        return "missing", "", "run `make setup` to install it"
    return _in_gib(path.stat().st_size), "", str(path)


def _in_gib(size_bytes: int) -> str:
    return f"{size_bytes / 2**30:.2f} GiB"
