"""The drafters that a choice in words stands for: automatic, ours, a file, a folder, or a name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from engine.speculation.drafter.config_file import read_config, shape_of
from engine.speculation.drafter.files import SAFETENSORS, no_weights
from engine.speculation.drafter.heads_folder import heads_source, is_heads, read_heads_config
from engine.speculation.model.files.model_files import download_path, is_gguf, models_folder, part_paths
from engine.speculation.model.files.sources import file_source, is_known, starter_path
from engine.values.config import AUTOMATIC, STARTER
from engine.values.drafters import DrafterRunner, DrafterSource
from engine.values.errors import DrafterUnusable, FetchFailed, TargetMissing
from engine.values.places import expanded
from engine.values.sentences import say
from engine.values.targets import TargetRecord
from engine.values.whole_file import plain_file

BUILT_IN = "built-in"
STARTER_TORCH = "starter-torch"
WORDS = (AUTOMATIC, BUILT_IN, STARTER, STARTER_TORCH)
HUB_EXAMPLES = ("JackFram/llama-68m", "Felladrin/Llama-68M-Chat-v1")
MARKER = "fetched.json"  # written last, so a folder with it is complete

_PART = r"\w(?:[\w.-]*\w)?"
_HUB_NAME = re.compile(f"{_PART}/{_PART}", re.ASCII)
_MAX_LENGTH = 96  # characters; the hub's own limit


def is_hub_name(text: str) -> bool:
    """True if it has the form `owner/name`, as the hub allows it; only the hub knows whether it exists."""
    has_pairs = "--" in text or ".." in text
    return len(text) <= _MAX_LENGTH and _HUB_NAME.fullmatch(text) is not None and not has_pairs


def fetched_folder(name: str, data_dir: Path) -> Path:
    """The folder for a drafter from the hub, whether it is there or not. Raises FetchFailed for what is no name."""
    if not is_hub_name(name):
        raise FetchFailed(
            "“{name}” is not a name on the hub; it must have the form owner/name, like {example}.",
            name=name,
            example=HUB_EXAMPLES[0],
        )
    return data_dir / "drafters" / name.replace("/", "--")  # the hub allows no name with two hyphens


def is_fetched(folder: Path) -> bool:
    try:
        with plain_file(folder / MARKER) as file:
            sizes = json.load(file)["files"]
        return all((folder / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def built_in_drafter() -> Path:
    return Path(str(files("resources") / "drafter"))


def hub_name(choice: str) -> str | None:
    """The name to ask the hub for, `owner/name` or `OWNER/NAME:FILE`; None when the choice is on this machine, or makes
    no sense."""
    if choice in WORDS or _path(choice) is not None:
        return None
    is_name = is_hub_name(choice) and not is_gguf(choice)  # else a file that is not there
    return choice if is_name or hub_file(choice) is not None else None


def hub_file(name: str) -> tuple[str, str] | None:
    """The repository and the GGUF file in it that `OWNER/NAME:FILE` names; None for another name."""
    repository, _, file = name.partition(":")
    return (repository, file) if is_hub_name(repository) and is_gguf(file) else None


def downloaded_file(name: str, data_dir: Path) -> Path | None:
    """The file that `OWNER/NAME:FILE` names, if all of it is on this machine."""
    named = hub_file(name)
    try:
        path = None if named is None else download_path(models_folder(data_dir), *named)
    except FetchFailed:
        return None
    return path if path is not None and all(part.is_file() for part in part_paths(path)) else None


def drafter_source(choice: str, data_dir: Path, library: Callable[[], Sequence[TargetRecord]] = tuple) -> DrafterSource:
    """The drafter that a choice stands for: one of `WORDS` but `automatic`, a folder, a GGUF file, a name on the hub,
    or a file there, that was fetched, or the name of a model in the library. Uses no network. Raises
    DrafterUnusable."""
    if choice in _OURS:
        try:
            return _OURS[choice]()
        except TargetMissing as error:  # an installation without the starter
            raise DrafterUnusable(error.sentence) from error
    folder = _folder(choice)
    if folder is not None:
        return heads_source(folder) if is_heads(folder) else folder_source(folder)
    file = _file(choice)
    if file is not None:
        return file_drafter(file, library())
    named = next((record for record in library() if record.name == choice and record.path.exists()), None)
    if named is not None:
        return file_drafter(named.path, (named,))
    downloaded = downloaded_file(choice, data_dir)
    if downloaded is not None:
        return file_drafter(downloaded, library())
    if hub_name(choice) is None:
        raise DrafterUnusable(
            "There is no folder {choice} and no model of that name; a drafter is `{automatic}`, `{built_in}`, "
            "`{starter}`, a GGUF file, the name of a model in the library, a folder, or a name on the hub such as "
            "{example}.",
            choice=choice,
            automatic=AUTOMATIC,
            built_in=BUILT_IN,
            starter=STARTER,
            example=HUB_EXAMPLES[0],
        )
    fetched = None if hub_file(choice) else fetched_folder(choice, data_dir)
    if fetched is None or not is_fetched(fetched):
        raise DrafterUnusable(
            "The drafter {choice} is not on this computer; choose it again to download it.", choice=choice
        )
    return replace(folder_source(fetched), name=choice)


def built_in_source() -> DrafterSource:
    folder = built_in_drafter()
    return DrafterSource(
        BUILT_IN, say("Built-in drafter"), DrafterRunner.TORCH, folder, weight_bytes(folder), True, True
    )


def starter_drafter() -> DrafterSource:
    """The starter, run by llama.cpp. Raises TargetMissing."""
    path = starter_path()
    return DrafterSource(STARTER, say("Starter"), DrafterRunner.LLAMA_CPP, path, path.stat().st_size, True, True)


def starter_in_torch(starter: DrafterSource | None = None) -> DrafterSource:
    """The starter, run by torch. Raises TargetMissing."""
    return replace(
        starter or starter_drafter(), key=STARTER_TORCH, name=say("Starter in torch"), runner=DrafterRunner.TORCH
    )


def folder_source(folder: Path) -> DrafterSource:
    key = f"folder:{folder.absolute()}"
    return DrafterSource(key, folder.name, DrafterRunner.TORCH, folder, weight_bytes(folder))


def file_drafter(path: Path, records: Sequence[TargetRecord] = ()) -> DrafterSource:
    """The drafter in a GGUF file; `records` are what the library knows. One that was used before needs no first
    look."""
    source = file_source(path)
    key = source.identity or f"file:{path}"
    trusted = is_known(source, records)
    return DrafterSource(key, source.name, DrafterRunner.LLAMA_CPP, source.path, source.size_bytes, trusted)


_OURS = {BUILT_IN: built_in_source, STARTER: starter_drafter, STARTER_TORCH: starter_in_torch}


def weight_bytes(folder: Path) -> int:
    """The bytes of a drafter's weights. 0 if the folder cannot be read: loading says why."""
    try:
        return sum(map(bytes_on_disk, folder.glob(SAFETENSORS)))
    except OSError:
        return 0


def bytes_on_disk(file: Path) -> int:
    """The bytes of a file; 0 if there is none. A file may claim more than was ever written to it; some file systems
    count no blocks."""
    try:
        status = file.stat()
    except OSError:
        return 0
    return min(status.st_size, 512 * getattr(status, "st_blocks", 0) or status.st_size)


def _folder(choice: str) -> Path | None:
    folder = _path(choice)
    return folder if folder is not None and folder.is_dir() else None


def _file(choice: str) -> Path | None:
    file = _path(choice)
    return file if file is not None and is_gguf(file.name) and file.is_file() else None


def _path(choice: str) -> Path | None:
    try:
        path = expanded(choice)
        return path if choice and path.exists() else None
    except (OSError, ValueError):  # a name no folder can have
        return None


def check_drafter(choice: str, data_dir: Path) -> None:
    """Raises DrafterUnusable if this choice in words, see `drafter_source`, can never draft: there is no such file, it
    holds no model, or another kind of model. Loading may still find other faults."""
    path = Path(choice)
    if path.is_absolute() and not (path.is_dir() or (is_gguf(path.name) and path.is_file())):
        raise DrafterUnusable(
            "There is no drafter at {choice}; choose a GGUF file, or a folder in Hugging Face's format.", choice=choice
        )
    source = drafter_source(choice, data_dir)
    if not source.is_ours:
        (_check_folder if source.path.is_dir() else _check_file)(source)


def _check_folder(source: DrafterSource) -> None:
    if source.runner is DrafterRunner.HEADS:
        read_heads_config(source.path)
        return
    shape_of(read_config(source.path), source.path.name)
    if not any(source.path.glob(SAFETENSORS)):
        raise DrafterUnusable(no_weights(source.path))


def _check_file(source: DrafterSource) -> None:
    from engine.speculation.model.files.facts import facts_of  # here, because gguf brings numpy, which the window lacks

    try:
        facts = facts_of(source.path)
    except TargetMissing as error:
        raise DrafterUnusable(str(error)) from error
    if facts.problem:
        raise DrafterUnusable(facts.problem)
    if facts.details is not None and not facts.details.can_speculate:
        raise DrafterUnusable(
            "{name} cannot draft: it cannot roll back what it has read; choose another drafter.", name=source.name
        )
