"""Fetches a drafter from the Hugging Face hub (or the one `HF_ENDPOINT` names) into the user's own folder.

Only what a drafter is made of is asked for, never a pickle, without a token and without the hub's shared cache.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import filelock
import httpx2
from huggingface_hub import HfApi, hf_hub_url
from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, OfflineModeIsEnabled
from huggingface_hub.hf_api import ModelInfo

from engine.drafter.hub_file import HubFile, check_stop, fetch_file
from engine.drafter.json_file import read_json
from engine.drafter_choice import MARKER, fetched_folder, is_fetched
from engine.errors import DrafterUnavailable
from engine.events import DrafterFetching
from engine.stop_signal import StopSignal

KINDS = ("llama", "mistral", "qwen2")  # what `config_file.py` reads; it imports torch, for which nobody waits here
_CONFIG = "config.json"
_TEXTS = ("tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja")
_TOKENIZERS = ("tokenizer.json", "tokenizer.model")  # the second only where there is no first
_WHOLE = "model.safetensors"
_INDEX = "model.safetensors.index.json"
_SHARD = re.compile(r"model-\d+-of-\d+\.safetensors", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")  # becomes part of a file's name
_PICKLES = (".bin", ".pt", ".pth", ".ckpt")
_LARGEST = 8_000_000_000  # bytes; far beyond what drafts faster than its target
_PROGRESS_S = 0.1
_ASKING_TIMEOUT_S = 10.0

OnProgress = Callable[[DrafterFetching], None]


def fetch_drafter(name: str, data_dir: Path, stop: StopSignal, on_progress: OnProgress) -> Path:
    """The folder of the drafter, whole. What is there already is not asked for again; what an interrupted fetch
    brought is kept for the next one.

    Raises DrafterUnavailable, DrafterUnusable when its config.json is damaged, and FetchCancelled.
    """
    folder = fetched_folder(name, data_dir)
    endpoint = (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")
    with _explained(name, urlsplit(endpoint).netloc or endpoint):
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(name, folder):
            if not is_fetched(folder):
                commit, files = _look_up(name, endpoint)
                check_stop(stop)
                _fetch(name, folder, files, stop, on_progress)
                _mark(folder, name, commit, files)
    return folder


def _look_up(name: str, endpoint: str) -> tuple[str, list[HubFile]]:
    """The commit, and its files that a drafter needs: the small ones first, to know early what it is."""
    try:
        info = HfApi(endpoint, token=False).model_info(name, files_metadata=True, timeout=_ASKING_TIMEOUT_S)
    except (HfHubHTTPError, OfflineModeIsEnabled):
        raise
    except (ValueError, KeyError, TypeError, AttributeError, httpx2.InvalidURL) as error:
        raise _no_hub(endpoint) from error  # the page of a café that asks for a login, say
    known = {sibling.rfilename: sibling for sibling in info.siblings or ()}
    commit = info.sha or "main"
    files = []
    for wanted in _needed(info, name):
        sibling = known[wanted]
        digest = sibling.lfs.sha256 if sibling.lfs else sibling.blob_id
        if sibling.size is None or digest is None or not _DIGEST.fullmatch(digest):
            raise _no_hub(endpoint)
        files.append(
            HubFile(wanted, sibling.size, digest, hf_hub_url(name, wanted, revision=commit, endpoint=endpoint))
        )
    total = sum(file.size for file in files)
    if total > _LARGEST:
        raise DrafterUnavailable(
            f"{name} has {total / 1e9:.1f} GB, and a drafter {_LARGEST / 1e9:.0f} GB at most; choose a small model."
        )
    return commit, files


def _needed(info: ModelInfo, name: str) -> list[str]:
    present = [sibling.rfilename for sibling in info.siblings or ()]
    shards = sorted(file for file in present if _SHARD.fullmatch(file)) if _INDEX in present else []
    weights = [_WHOLE] if _WHOLE in present else [_INDEX, *shards] if shards else []
    tokenizer = next((file for file in _TOKENIZERS if file in present), None)
    if not weights and any(file.endswith(_PICKLES) for file in present):
        raise DrafterUnavailable(
            f"{name} holds its weights only in PyTorch's old format, which can run programs when it is read; choose a "
            "drafter with safetensors, or convert this one and choose its folder."
        )
    if not weights or tokenizer is None or _CONFIG not in present:
        missing = "config.json" if _CONFIG not in present else "tokenizer" if tokenizer is None else _WHOLE
        raise DrafterUnavailable(
            f"{name} cannot draft: it has no {missing}. Choose a Llama-type model with safetensors."
        )
    return [_CONFIG, *(file for file in _TEXTS if file in present), tokenizer, *weights]


def _fetch(name: str, folder: Path, files: list[HubFile], stop: StopSignal, on_progress: OnProgress) -> None:
    _sweep(folder, {file.name for file in files} | {file.part_name for file in files})
    _check_room(folder, sum(file.size for file in files))
    progress = _Progress(name, sum(file.size for file in files), on_progress)
    for file in files:
        progress.begin(file)
        fetch_file(file, folder, stop, progress.tell)
        if file.name == _CONFIG:
            _check_kind(folder, name)  # better now than after gigabytes


def _check_kind(folder: Path, name: str) -> None:
    kind = (read_json(folder / _CONFIG) or {}).get("model_type")
    if kind not in KINDS:
        raise DrafterUnavailable(f"{name} is a model of type “{kind}”; a drafter must be a Llama-type model.")


class _Progress:
    """Adds the files up, and tells no more than is worth showing."""

    def __init__(self, name: str, total: int, on_progress: OnProgress) -> None:
        self._name = name
        self._total = total
        self._on_progress = on_progress
        self._before = 0  # bytes of the files before this one
        self._file: HubFile | None = None
        self._told_at = 0.0

    def begin(self, file: HubFile) -> None:
        self._before += self._file.size if self._file else 0
        self._file = file
        self._told_at = 0.0

    def tell(self, size: int) -> None:
        assert self._file is not None
        now = time.monotonic()
        if now - self._told_at >= _PROGRESS_S or size == self._file.size:
            self._told_at = now
            self._on_progress(DrafterFetching(self._name, self._file.name, self._before + size, self._total))


def _sweep(folder: Path, kept: set[str]) -> None:
    """Removes what another version of the drafter left behind."""
    for path in folder.iterdir():
        if path.name not in kept and path.is_file():
            path.unlink()


def _check_room(folder: Path, total: int) -> None:
    missing = total - sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    if missing > shutil.disk_usage(folder).free:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _mark(folder: Path, name: str, commit: str, files: list[HubFile]) -> None:
    content = {"name": name, "commit": commit, "files": {file.name: file.size for file in files}}
    new = folder / f"{MARKER}.part"
    new.write_text(json.dumps(content, indent=1), encoding="utf-8")
    new.replace(folder / MARKER)


@contextmanager
def _alone(name: str, folder: Path) -> Iterator[None]:
    """Two programs that write the same file would spoil it."""
    try:
        with filelock.FileLock(folder.parent / f".{folder.name}.lock", timeout=0):
            yield
    except filelock.Timeout as error:
        raise DrafterUnavailable(f"{name} is being downloaded already; wait until that is done.") from error


@contextmanager
def _explained(name: str, host: str) -> Iterator[None]:
    """Turns what the hub, the network and the disk raise into sentences."""
    try:
        yield
    except HfHubHTTPError as error:
        raise DrafterUnavailable(_refusal(error, name, host)) from error
    except OfflineModeIsEnabled as error:
        raise DrafterUnavailable(
            f"HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE forbids to download {name}; unset it, or choose another drafter."
        ) from error
    except httpx2.HTTPError as error:
        raise DrafterUnavailable(
            f"{host} cannot be reached; check that this computer is online and try again. What has arrived is kept."
        ) from error
    except OSError as error:
        what = "the disk is full; make room" if error.errno == errno.ENOSPC else f"{error.strerror}; mend that"
        raise DrafterUnavailable(f"{name} cannot be kept: {what} and download it again.") from error


def _no_hub(endpoint: str) -> DrafterUnavailable:
    return DrafterUnavailable(
        f"{endpoint} does not answer as a model hub does; check HF_ENDPOINT, and whether the network asks for a login."
    )


def _refusal(error: HfHubHTTPError, name: str, host: str) -> str:
    status = error.response.status_code
    if isinstance(error, GatedRepoError) or status == httpx2.codes.FORBIDDEN:
        return (
            f"{host} gives {name} only to people it knows; choose another drafter, or get it yourself and its folder."
        )
    if status in (httpx2.codes.UNAUTHORIZED, httpx2.codes.NOT_FOUND):
        return f"There is no model {name} on {host}, or it is private; check the name."
    return f"{host} answers with an error ({status}); try again later."
