"""Asks the Hugging Face hub, or the one `HF_ENDPOINT` names, without a token; its refusals become sentences."""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import httpx2
from huggingface_hub import HfApi, hf_hub_url
from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, OfflineModeIsEnabled
from huggingface_hub.hf_api import ModelInfo, RepoSibling

from engine.backend.hub.fetching import RemoteFile
from engine.values.errors import FetchFailed
from engine.values.sentences import say

_DIGEST = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")  # becomes part of a file's name
_TIMEOUT_S = 10.0
_T = TypeVar("_T")


def endpoint() -> str:
    return (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")


def look_up(name: str) -> ModelInfo:
    """What a repository holds, with sizes. Raises FetchFailed, and what `explained` explains."""
    return answered(lambda api: api.model_info(name, files_metadata=True, timeout=_TIMEOUT_S))


def answered(ask: Callable[[HfApi], _T]) -> _T:
    """Raises FetchFailed for an answer that makes no sense, and what `explained` explains."""
    try:
        return ask(HfApi(endpoint(), token=False))
    except (HfHubHTTPError, OfflineModeIsEnabled):
        raise
    except (ValueError, KeyError, TypeError, AttributeError, httpx2.InvalidURL) as error:
        raise no_hub() from error  # the page of a café that asks for a login, say


def remote_file(repository: str, info: ModelInfo, sibling: RepoSibling, name: str) -> RemoteFile:
    """How to fetch a file of the repository under this name. Raises FetchFailed."""
    digest = sibling.lfs.sha256 if sibling.lfs else sibling.blob_id
    if not isinstance(sibling.size, int) or sibling.size < 0 or digest is None or not _DIGEST.fullmatch(digest):
        raise no_hub()
    url = hf_hub_url(repository, sibling.rfilename, revision=info.sha or "main", endpoint=endpoint())
    return RemoteFile(name, sibling.size, digest, url)


def check_room(folder: Path, missing: int) -> None:
    """Raises OSError if this many more bytes do not fit."""
    if missing > shutil.disk_usage(folder).free:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextmanager
def explained(name: str, instead: str, is_download: bool = True) -> Iterator[None]:
    """Turns what the hub, the network and the disk raise into sentences about `name`; `instead`: what else there is to
    choose. Without `is_download` something is only looked up. Raises FetchFailed."""
    host = urlsplit(endpoint()).netloc or endpoint()
    try:
        yield
    except HfHubHTTPError as error:
        raise FetchFailed(_refusal(error, name, host, instead)) from error
    except OfflineModeIsEnabled as error:
        raise FetchFailed(
            "HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE forbids downloading {name}; unset it, or choose {instead}.",
            name=name,
            instead=instead,
        ) from error
    except httpx2.HTTPError as error:
        if is_download:
            raise FetchFailed(
                "{host} cannot be reached; check that this computer is online and try again. What has arrived is kept.",
                host=host,
            ) from error
        raise FetchFailed(
            "{host} cannot be reached; check that this computer is online and try again.", host=host
        ) from error
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise FetchFailed(
                "{name} cannot be stored: the disk is full; free some space and download it again.", name=name
            ) from error
        raise FetchFailed(
            "{name} cannot be stored: {reason}; fix that and download it again.", name=name, reason=error.strerror
        ) from error


def no_hub() -> FetchFailed:
    return FetchFailed(
        "{endpoint} does not answer like a model hub; check HF_ENDPOINT, and whether the network asks for a login.",
        endpoint=endpoint(),
    )


def _refusal(error: HfHubHTTPError, name: str, host: str, instead: str) -> str:
    status = error.response.status_code
    if isinstance(error, GatedRepoError) or status == httpx2.codes.FORBIDDEN:
        return say(
            "{name} is gated: request access on {host} first, then get it with your browser and add it, or choose "
            "{instead}.",
            name=name,
            host=host,
            instead=instead,
        )
    if status in (httpx2.codes.UNAUTHORIZED, httpx2.codes.NOT_FOUND):
        return say("There is no model {name} on {host}, or it is private; check the name.", name=name, host=host)
    return say("{host} answered with an error ({status}); try again later.", host=host, status=int(status))
