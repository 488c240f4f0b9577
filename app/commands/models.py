"""`slipstream models`: the library of models, in the terminal."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import engine
from app.commands.terminal import download_bar, in_gib, stopped_by_ctrl_c, wide_console
from app.commands.tune import tune_model
from engine.values.config import STARTER, EngineConfig, data_dir
from engine.values.errors import FetchFailed, TargetMissing
from engine.values.places import expanded

if TYPE_CHECKING:
    from rich.table import Table

    from engine.values.targets import Downloading, HubFile, HubFiles, LibraryTarget

_SHOWN = 20  # files of a repository

models = typer.Typer(help="The models you can use as a target.", no_args_is_help=True)
models.command("tune")(tune_model)


@models.command("list")
def list_models() -> None:
    """Show the models of the library, and downloads that wait to go on."""
    from rich.table import Table

    with engine.open_library(EngineConfig(data_dir())) as library:
        targets = library.list()
    table = Table("name", "parameters", "quantization", "size", "last used", "file", box=None, pad_edge=False)
    for target in targets:
        table.add_row(*_row(target))
    wide_console().print(table)
    if not any(target.is_starter for target in targets):
        print(f"{STARTER} is missing; run `make setup` to install it.", file=sys.stderr)
    for target in targets:
        if target.problem:
            print(f"{target.name}: {target.problem}", file=sys.stderr)
    for file, num_bytes in engine.saved_downloads(EngineConfig(data_dir())).list():
        here = f"{Path(file.name).name}: {in_gib(num_bytes)} of {in_gib(file.download_bytes)} are here"
        command = f"slipstream models download {file.repository} {file.name}"
        print(f"{here}; `{command}` goes on.", file=sys.stderr)


@models.command("add")
def add_models(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="GGUF files, or folders with some in them.")],
) -> None:
    """Add model files to the library. They stay where they are.

    Example: slipstream models add ~/models
    """
    with stopped_by_ctrl_c() as stop, engine.open_library(EngineConfig(data_dir())) as library:
        added = library.add(tuple(paths), stop)
    for target in added.targets:
        print(target.problem if target.head is not None else f"{target.name} is in the library.")
    if not added.targets:
        print("All of it is in the library already.")
    for reason in added.left_out:
        print(reason, file=sys.stderr)


@models.command("download")
def download_model(
    repository: Annotated[str, typer.Argument(metavar="OWNER/NAME", help="A model on the Hugging Face hub.")],
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE|QUANT]", help="One of its files, or a quantization such as Q4_K_M.")
    ] = None,
) -> None:
    """Download a model from the Hugging Face hub and add it to the library. Without a file, show what there is.

    Ctrl+C pauses the download; the same command goes on.

    Example: slipstream models download bartowski/Llama-3.2-1B-Instruct-GGUF Q4_K_M
    """
    with engine.open_library(EngineConfig(data_dir())) as library:
        there = engine.HubService(lambda: library).files(repository)
    found = _chosen(there, repository, file)
    path = _download(found)
    print(f"{found.repository} ({found.quantization or found.name}) is in the library: {path}")


@models.command("remove")
def remove_model(
    name: Annotated[str, typer.Argument(help="Of a model in the library, or the path of its file.")],
    delete_file: Annotated[bool, typer.Option("--delete-file", help="Delete the file too, for good.")] = False,
) -> None:
    """Take a model out of the library. Its file stays, unless you say otherwise."""
    with engine.open_library(EngineConfig(data_dir())) as library:
        target = _named(library.list(), name)
        library.remove(target.path, delete_file)
    gone = ", and its file is deleted." if delete_file else f". Its file stays: {target.path}"
    print(f"{target.name} is no longer in the library{gone}")


def _download(file: HubFile) -> Path:
    with stopped_by_ctrl_c(says_so=True) as stop, download_bar() as bar:
        task = bar.add_task(Path(file.name).name, total=file.download_bytes)

        def show(progress: Downloading) -> None:
            bar.update(task, completed=progress.num_bytes)

        downloaded = engine.fetch_model(EngineConfig(data_dir()), file, stop, show)
    if downloaded.problem:
        print(downloaded.problem, file=sys.stderr)
    return downloaded.path


def _chosen(there: HubFiles, repository: str, wanted: str | None) -> HubFile:
    """The only one, the one of this name, or the one of this quantization. Raises FetchFailed."""
    files = there.files
    if wanted is None and len(files) == 1:
        return files[0]
    named = [file for file in files if wanted in (file.name, Path(file.name).name)]
    found = named or [file for file in files if wanted is not None and file.quantization == wanted.upper()]
    if len(found) == 1:
        return found[0]
    wide_console().print(_files_table((found or files)[:_SHOWN], _speeds_here(there)))
    if found:
        raise FetchFailed(f"{repository} has several files of {wanted}; name one of those above.")
    problem = f"{repository} has no {wanted}" if wanted else f"{repository} has {len(files)} models"
    raise FetchFailed(f"{problem}; name one of the files above, or a quantization such as {files[0].quantization}.")


def _named(targets: tuple[LibraryTarget, ...], name: str) -> LibraryTarget:
    path = expanded(name).absolute()
    named = [target for target in targets if name == target.name or (name == STARTER and target.is_starter)]
    found = named or [target for target in targets if target.path == path]
    if not found:
        raise TargetMissing(f"There is no model {name} in the library; `slipstream models list` shows those there are.")
    return found[0]


def _row(target: LibraryTarget) -> tuple[str, ...]:
    details = target.details
    used = "" if target.last_used_at is None else f"{target.last_used_at.astimezone():%Y-%m-%d %H:%M}"
    return (
        STARTER if target.is_starter else target.name,
        _rounded(details.num_parameters) if details else "",
        details.quantization if details else "",
        in_gib(target.size_bytes) if details or target.path.exists() else "missing",
        used,
        str(target.path),
    )


def _files_table(files: Sequence[HubFile], speeds: Mapping[str, str]) -> Table:
    from rich.table import Table

    table = Table("file", "quantization", "size", *(["speed here"] if speeds else []), box=None, pad_edge=False)
    for file in files:
        table.add_row(file.name, file.quantization, in_gib(file.download_bytes), speeds.get(file.quantization, ""))
    return table


def _speeds_here(there: HubFiles) -> dict[str, str]:
    """The speed of each quantization, where this machine has measured a similar one."""
    return {each.quantization: "fastest" if each.speed == 1 else f"{each.speed:.2f}" for each in there.speeds}


def _rounded(number: int) -> str:
    """A number of parameters as people write it: 135M, 7.2B."""
    if not number:
        return ""
    return f"{number / 1e9:.1f}B" if number >= 1e9 else f"{number / 1e6:.0f}M"
