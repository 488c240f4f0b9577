"""Finds models on the hub, and the files of one that can be loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import PurePosixPath

from huggingface_hub import get_session
from huggingface_hub.errors import RepositoryNotFoundError
from huggingface_hub.hf_api import ModelInfo, RepoSibling

# Documented, but not marked as exported.
from huggingface_hub.utils import build_hf_headers, hf_raise_for_status  # type: ignore[attr-defined]

from engine.backend.hub.asking import answered, endpoint, explained, look_up, no_hub
from engine.speculation.drafter.choice import is_hub_name
from engine.speculation.model.files.model_files import is_gguf, no_model, part_names, part_of, quantization_in
from engine.speculation.model.files.pairing import head_among, method_in
from engine.speculation.model.files.projectors import projector_among
from engine.values.errors import FetchFailed
from engine.values.sentences import say
from engine.values.targets import HubFile, HubModel

_MOST = 50
_TIMEOUT_S = 10.0
_INSTEAD = say("another model")


def search_models(words: str) -> tuple[HubModel, ...]:
    """Repositories with GGUF files, most downloaded first. Raises FetchFailed."""
    with explained(words.strip() or "models", _INSTEAD, is_download=False):
        found = answered(lambda _api: _found(" ".join(words.split())))
    models = [model for entry in found if (model := _model(entry)) is not None]
    return tuple(sorted(models, key=lambda model: -model.num_downloads))


def list_files(repository: str) -> tuple[HubFile, ...]:
    """The models in a repository, smallest first; without what only adds to one, except where there are only drafters
    made for models elsewhere. Raises FetchFailed."""
    if not is_hub_name(repository):
        raise FetchFailed(
            "“{repository}” is not a name on the hub; it must have the form owner/name.", repository=repository
        )
    with explained(repository, _INSTEAD, is_download=False):
        info = look_up(repository)
    files = _files(repository, info)
    if not files:
        raise FetchFailed(
            "{repository} has no model in GGUF format; choose another one, often named …-GGUF.",
            repository=repository,
        )
    return tuple(sorted(files, key=lambda file: (file.size_bytes, file.name)))


def find_file(file: HubFile) -> HubFile | None:
    """The file as the hub has it now; None if it is no longer there. Raises FetchFailed."""
    with explained(file.repository, _INSTEAD, is_download=False):
        try:
            info = look_up(file.repository)
        except RepositoryNotFoundError:  # or it is gated
            return None
    return next((each for each in _files(file.repository, info) if each.name == file.name), None)


def _files(repository: str, info: ModelInfo) -> list[HubFile]:
    sizes = file_sizes(info)
    files = [file for name in sizes if (file := _file(repository, name, sizes)) is not None]
    models = [file for file in files if not file.is_head]
    return [with_companions(file, sizes) for file in models] or files


def with_companions(file: HubFile, sizes: Mapping[str, int]) -> HubFile:
    """Adds the projector and the drafter that belong to the file. `sizes`: all files of its repository, in bytes; 0 if
    unknown."""
    if file.is_head:
        return file
    names = [name for name, size in sizes.items() if size]
    if (projector := projector_among(names, file.name)) is not None:
        file = replace(file, projector=projector, projector_bytes=sizes[projector])
    if (head := head_among(names, file.name)) is not None:
        file = replace(file, head=head, head_bytes=sizes[head])
    return file


def file_sizes(info: ModelInfo) -> dict[str, int]:
    """The sizes of all files of a repository, in bytes; 0 if the hub does not say."""
    return {sibling.rfilename: _size(sibling) for sibling in info.siblings or ()}


def _found(words: str) -> list[dict[str, object]]:
    """huggingface_hub's own `list_models` would wait for an answer for ever."""
    query: dict[str, str | int | list[str]] = {"filter": "gguf", "sort": "downloads", "direction": -1, "limit": _MOST}
    query["expand"] = ["downloads", "likes", "lastModified"]
    if words:
        query["search"] = words
    response = get_session().get(
        f"{endpoint()}/api/models", params=query, headers=build_hf_headers(token=False), timeout=_TIMEOUT_S
    )
    hf_raise_for_status(response)
    entries = response.json()
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise no_hub()
    return entries[:_MOST]


def _model(entry: dict[str, object]) -> HubModel | None:
    """None where the hub's answer makes no sense."""
    name = entry.get("id") or entry.get("modelId")
    if not isinstance(name, str) or not is_hub_name(name):
        return None
    return HubModel(name, _count(entry.get("downloads")), _count(entry.get("likes")), _time(entry.get("lastModified")))


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _time(value: object) -> datetime | None:
    try:
        time = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return time if time is not None and time.tzinfo is not None else None


def _size(sibling: RepoSibling) -> int:
    return sibling.size if isinstance(sibling.size, int) and sibling.size > 0 else 0


def _file(repository: str, name: str, sizes: dict[str, int]) -> HubFile | None:
    path = PurePosixPath(name)
    part, num_parts = part_of(path.name)
    if not is_gguf(path.name) or no_model(path.name) or part != 1:
        return None
    parts = [str(path.with_name(each)) for each in part_names(path.name)]
    if not all(sizes.get(each) for each in parts):
        return None
    quantization = quantization_in(path.name) or quantization_in(f"{path.parent.name}.gguf")
    is_head = method_in(path.name) is not None
    return HubFile(repository, name, sum(sizes[each] for each in parts), quantization, num_parts, is_head=is_head)
