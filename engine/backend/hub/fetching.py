"""Fetches one file from the hub, resuming earlier tries, and adds up the progress of several.

`hf_hub_download` starts every file over after an interruption (huggingface_hub 2 writes to a file with a random name
and deletes it when something fails) and looks up only once in 10 MB. Hence the loop here, over the hub's own session.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx2
from huggingface_hub import constants, get_session, set_client_factory

# Documented, but not marked as exported.
from huggingface_hub.utils import build_hf_headers, hf_raise_for_status  # type: ignore[attr-defined]
from huggingface_hub.utils._http import default_client_factory

from engine.values.errors import Cancelled, FetchFailed
from engine.values.stop_signal import StopSignal

_TRIES = 3  # in a row without a byte
_PAUSE_S = 1.0
_GLANCE_S = 0.1
_READ_BYTES = 1 << 20
PROGRESS_S = 0.1  # between two reports on one file


@dataclass(frozen=True, slots=True)
class RemoteFile:
    name: str  # without any folder
    size: int  # bytes
    digest: str  # sha256 in hex of a large file, git's sha1 of a small one, as the hub reports it
    url: str

    @property
    def part_name(self) -> str:
        """The name of an unfinished download; every version of the file has its own."""
        return f"{self.name}.{self.digest[:16]}.part"


def fetch_file(file: RemoteFile, folder: Path, stop: StopSignal, on_size: Callable[[int], None]) -> None:
    """Puts the file into the folder, whole or not at all; `on_size` is given its bytes downloaded so far.

    Raises Cancelled, FetchFailed when it arrives damaged, and what httpx and the disk raise.
    """
    done, part = folder / file.name, folder / file.part_name
    if _size(done) == file.size and _digest(done, file, stop) == file.digest:
        on_size(file.size)
        return
    on_size(_size(part))
    _complete(file, part, stop, on_size)
    if _size(part) != file.size or _digest(part, file, stop) != file.digest:
        part.unlink()
        raise FetchFailed("{name} arrived damaged and was deleted; download it again.", name=file.name)
    _move(part, done)


def check_stop(stop: StopSignal) -> None:
    if stop.is_set():
        raise Cancelled("The download was stopped; start it again to resume it.")


def _complete(file: RemoteFile, part: Path, stop: StopSignal, on_size: Callable[[int], None]) -> None:
    """Requests the rest until it is there; a broken connection is tried again as long as bytes arrive."""
    tries = _TRIES
    if not part.exists():
        part.touch()  # an empty file is one, too
    while (size := _size(part)) < file.size:
        check_stop(stop)
        failure: httpx2.TransportError | None = None
        try:
            _append(file, part, stop, on_size)
        except httpx2.TransportError as error:
            failure = error
        tries = _TRIES if _size(part) > size else tries - 1
        if not tries:
            raise failure or FetchFailed("The download of {name} was cut off; try again later.", name=file.name)
        if failure is not None:
            _pause(stop)


def _append(file: RemoteFile, part: Path, stop: StopSignal, on_size: Callable[[int], None]) -> None:
    size = _size(part)
    headers = build_hf_headers(token=False) | {"accept-encoding": "identity"}  # so that sizes are those of the file
    if size:
        headers["range"] = f"bytes={size}-"
    timeout_s = constants.HF_HUB_DOWNLOAD_TIMEOUT
    with get_session().stream("GET", file.url, headers=headers, timeout=timeout_s) as response:
        hf_raise_for_status(response)
        place = _begin(response, size)
        with part.open("r+b") as out:
            out.seek(place)
            for chunk in response.iter_raw():
                known = out.read(len(chunk))  # a server that starts over repeats what has come
                if not chunk.startswith(known):
                    raise FetchFailed(
                        "The rest of {name} does not match what has already arrived, which is kept; try again "
                        "later, or discard the download and start over.",
                        name=file.name,
                    )
                out.write(chunk[len(known) :])
                place += len(chunk)
                on_size(min(max(place, size), file.size))
                check_stop(stop)
                if place > file.size:
                    return  # something else than was announced; no need to fill the disk with it


def _begin(response: httpx2.Response, size: int) -> int:
    """The place in the file where the answer begins: after `size` bytes, as requested, or earlier."""
    if response.status_code != httpx2.codes.PARTIAL_CONTENT:
        return 0
    begin = re.match(r"bytes (\d{1,15})-", response.headers.get("content-range", ""), re.ASCII)
    if begin is None or int(begin[1]) > size:
        raise httpx2.RemoteProtocolError("another part of the file than was asked for")
    return int(begin[1])


def _move(part: Path, done: Path) -> None:
    """A power failure leaves all of the file under one of its names."""
    with part.open("rb+") as content:
        os.fsync(content.fileno())
    part.replace(done)
    if sys.platform != "win32":  # which cannot open folders
        folder = os.open(done.parent, os.O_RDONLY)
        try:
            with contextlib.suppress(OSError):  # some file systems cannot
                os.fsync(folder)
        finally:
            os.close(folder)


def _pause(stop: StopSignal) -> None:
    end = time.monotonic() + _PAUSE_S
    while time.monotonic() < end:
        check_stop(stop)
        time.sleep(_GLANCE_S)


def _digest(path: Path, file: RemoteFile, stop: StopSignal) -> str:
    digest = hashlib.sha256()
    if len(file.digest) != 2 * digest.digest_size:
        digest = hashlib.sha1(f"blob {file.size}\0".encode(), usedforsecurity=False)  # as git names a file
    with path.open("rb") as content:
        while data := content.read(_READ_BYTES):
            check_stop(stop)
            digest.update(data)
    return digest.hexdigest()


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _client() -> httpx2.Client:
    """huggingface_hub's own, which stays with https. It sends no token to another host, and none is sent at all."""
    client = default_client_factory()
    client.event_hooks = client.event_hooks | {"response": [_refuse_unguarded]}
    return client


def _refuse_unguarded(response: httpx2.Response) -> None:
    """Raises FetchFailed where an answer over https leads to an address without."""
    if response.url.scheme != "https" or not response.has_redirect_location:
        return
    with contextlib.suppress(httpx2.InvalidURL):  # which httpx reports itself
        if response.url.join(response.headers["location"]).scheme != "https":
            raise FetchFailed(
                "{host} redirects the download to an address without https, where anybody on the way could change "
                "it; nothing was fetched from there. Try again later, or on another network.",
                host=response.url.host,
            )


set_client_factory(_client)  # for whatever asks the hub


class ByteProgress:
    """How far a download of several files has come: adds up files that are fetched one after the other, and reports
    the bytes downloaded so far, at intervals and at the end of each file."""

    def __init__(self, report: Callable[[int], object]) -> None:
        self._report = report
        self._before = 0  # bytes of the files before this one
        self._reported_at = 0.0

    def note(self, size: int) -> None:
        """Reports the bytes of the current file downloaded so far."""
        now = time.monotonic()
        if now - self._reported_at >= PROGRESS_S:
            self._reported_at = now
            self._report(self._before + size)

    def end(self, size: int) -> None:
        """The current file is whole, and the next one begins."""
        self._before += size
        self._reported_at = 0.0
        self._report(self._before)
