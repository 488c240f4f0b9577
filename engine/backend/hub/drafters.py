"""Fetches a drafter from the Hugging Face hub (or the one `HF_ENDPOINT` names) into the user's own folder.

Only the files of a drafter are requested, never a pickle, without a token and without the hub's shared cache.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from huggingface_hub.hf_api import ModelInfo

from engine.backend.hub.asking import check_room, explained, look_up, remote_file
from engine.backend.hub.fetching import ByteProgress, RemoteFile, check_stop, fetch_file
from engine.backend.library.saved_downloads import locked
from engine.speculation.drafter.choice import MARKER, fetched_folder, is_fetched
from engine.speculation.drafter.config_file import word
from engine.speculation.drafter.files import read_json
from engine.speculation.model.files.model_files import is_gguf, no_model
from engine.values.errors import FetchFailed
from engine.values.sentences import say
from engine.values.stop_signal import StopSignal
from engine.values.targets import Downloading
from engine.values.whole_file import whole_file

KINDS = ("llama", "mistral", "qwen2")  # what `config_file.py` reads
_CONFIG = "config.json"
_TEXTS = ("tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja")
_TOKENIZERS = ("tokenizer.json", "tokenizer.model")  # the second only where there is no first
_WHOLE = "model.safetensors"
_INDEX = "model.safetensors.index.json"
_SHARD = re.compile(r"model-\d+-of-\d+\.safetensors", re.ASCII)
_PICKLES = (".bin", ".pt", ".pth", ".ckpt")
_LARGEST = 8_000_000_000  # bytes; a drafter this large is slower than its target

OnProgress = Callable[[Downloading], object]


def fetch_drafter(name: str, data_dir: Path, stop: StopSignal, on_progress: OnProgress) -> Path:
    """The folder of the drafter, whole. Requests only what is missing, and resumes an interrupted fetch.

    Raises FetchFailed, DrafterUnusable when its config.json is damaged, and Cancelled.
    """
    folder = fetched_folder(name, data_dir)
    busy = say("{name} is already being downloaded; wait until that is done.", name=name)
    with explained(name, say("another drafter")):
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder.parent / f".{folder.name}.lock", busy):
            if not is_fetched(folder):
                commit, files = _look_up(name)
                check_stop(stop)
                _fetch(name, folder, files, stop, on_progress)
                _mark(folder, name, commit, files)
    return folder


def _look_up(name: str) -> tuple[str, list[RemoteFile]]:
    """The commit, and its files that a drafter needs: the small ones first, to know early what it is."""
    info = look_up(name)
    known = {sibling.rfilename: sibling for sibling in info.siblings or ()}
    files = [remote_file(name, info, known[wanted], wanted) for wanted in _needed(info, name)]
    total = sum(file.size for file in files)
    if total > _LARGEST:
        raise FetchFailed(
            "{name} has {total:.1f} GB; a drafter may have at most {most:.0f} GB; choose a small model.",
            name=name,
            total=total / 1000000000.0,
            most=_LARGEST / 1000000000.0,
        )
    return info.sha or "main", files


def _needed(info: ModelInfo, name: str) -> list[str]:
    present = [sibling.rfilename for sibling in info.siblings or ()]
    shards = sorted(file for file in present if _SHARD.fullmatch(file)) if _INDEX in present else []
    weights = [_WHOLE] if _WHOLE in present else [_INDEX, *shards] if shards else []
    tokenizer = next((file for file in _TOKENIZERS if file in present), None)
    if not weights and any(file.endswith(_PICKLES) for file in present):
        raise FetchFailed(
            "{name} holds its weights only in PyTorch's old format, which can run programs when it is read; "
            "choose a drafter with safetensors, or convert this one and choose its folder.",
            name=name,
        )
    if not weights or tokenizer is None or _CONFIG not in present:
        missing = _CONFIG if _CONFIG not in present else say("tokenizer") if tokenizer is None else _WHOLE
        file = next((file for file in present if is_gguf(file) and not no_model(file)), None)
        instead = (
            say("a Llama-type model with safetensors")
            if file is None
            else say("one of its GGUF files, as in {name}:{file}", name=name, file=file)
        )
        raise FetchFailed(
            "{name} cannot draft: it has no {missing}. Choose {instead}.", name=name, missing=missing, instead=instead
        )
    return [_CONFIG, *(file for file in _TEXTS if file in present), tokenizer, *weights]


def _fetch(name: str, folder: Path, files: list[RemoteFile], stop: StopSignal, on_progress: OnProgress) -> None:
    _sweep(folder, {file.name for file in files} | {file.part_name for file in files})
    here = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    total = sum(file.size for file in files)
    check_room(folder, total - here)
    progress = ByteProgress(lambda num_bytes: on_progress(Downloading(num_bytes, total)))
    for file in files:
        fetch_file(file, folder, stop, progress.note)
        progress.end(file.size)
        if file.name == _CONFIG:
            _check_kind(folder, name)  # better now than after gigabytes


def _check_kind(folder: Path, name: str) -> None:
    kind = (read_json(folder / _CONFIG) or {}).get("model_type")
    if kind not in KINDS:
        raise FetchFailed(
            "{name} is a model of type “{kind}”; a drafter must be a Llama-type model.", name=name, kind=word(kind)
        )


def _sweep(folder: Path, needed: set[str]) -> None:
    """Removes the files of another version of the drafter."""
    for path in folder.iterdir():
        if path.name not in needed and path.is_file():
            path.unlink()


def _mark(folder: Path, name: str, commit: str, files: list[RemoteFile]) -> None:
    content = {"name": name, "commit": commit, "files": {file.name: file.size for file in files}}
    with whole_file(folder / MARKER) as marker:
        marker.write(json.dumps(content, indent=1).encode())
