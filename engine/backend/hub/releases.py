"""Asks for the newest version of Slipstream, in the form in which GitHub, Forgejo and others list releases.

One GET with nothing but the name and version of this program. Of the answer, only a version is used, and the address of
a page on the same site, which only the user opens.
"""

from __future__ import annotations

import json
import time
from urllib.parse import urljoin, urlsplit

import httpx2
from packaging.version import Version

from engine.values.errors import FetchFailed
from engine.values.stop_signal import StopSignal
from engine.values.targets import Release

TIMEOUT_S = 8.0  # of each step
_MOST_S = 20.0  # of the whole
_MOST_BYTES = 1 << 20
_MOST_REDIRECTS = 3
_MOST_CHARACTERS = 64  # of a version
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


def newer_release(url: str, current: str, stop: StopSignal, timeout_s: float = TIMEOUT_S) -> Release | None:
    """The newest release, if it is newer than version `current`. Drafts and previews are none. Raises FetchFailed."""
    _check_address(url)
    try:
        answer = json.loads(_fetch(url, current, stop, timeout_s))
        release = _release(answer, url)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise FetchFailed(
            "{host} could not be asked for the newest version; check that this computer is online, and try again.",
            host=_host(url),
        ) from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:  # InvalidVersion is a ValueError
        raise _no_answer(url) from error
    return None if release is None or Version(release.version) <= Version(current) else release


def _fetch(url: str, current: str, stop: StopSignal, timeout_s: float) -> bytes:
    headers = {"user-agent": f"slipstream/{current}", "accept": "application/json", "accept-encoding": "identity"}
    end = time.monotonic() + _MOST_S
    with httpx2.Client(timeout=timeout_s, follow_redirects=False) as client:
        for _ in range(_MOST_REDIRECTS + 1):
            client.cookies.clear()
            with client.stream("GET", url, headers=headers) as response:
                if not response.is_redirect:
                    if response.status_code != httpx2.codes.OK:
                        raise FetchFailed(
                            "{host} answered with an error ({status}) when asked for the newest version; try "
                            "again later.",
                            host=_host(url),
                            status=response.status_code,
                        )
                    return _read(response, url, stop, end)
                following = urljoin(url, response.headers.get("location", ""))
            if urlsplit(following)[:2] != urlsplit(url)[:2]:  # no other site is asked
                break
            url = following
    raise _no_answer(url)


def _read(response: httpx2.Response, url: str, stop: StopSignal, end: float) -> bytes:
    body = b""
    for piece in response.iter_raw():
        body += piece
        if len(body) > _MOST_BYTES or time.monotonic() > end:
            raise _no_answer(url)
        if stop.is_set():
            raise FetchFailed("Looking for a newer version was stopped.")
    return body


def _release(answer: dict[str, object], url: str) -> Release | None:
    name = answer["tag_name"]
    if not isinstance(name, str) or len(name) > _MOST_CHARACTERS:
        raise ValueError("no version")
    version = Version(name)
    if answer.get("draft") or answer.get("prerelease") or version.is_prerelease:
        return None
    return Release(str(version), _page(answer.get("html_url"), url))


def _page(named: object, url: str) -> str:
    """The release's own page, if it is on the site that was asked or the one whose `api.` that is."""
    asked = urlsplit(url)
    site = asked.netloc.removeprefix("api.")
    page = urlsplit(named) if isinstance(named, str) and named.isprintable() else None
    if page is not None and page.scheme == asked.scheme and page.netloc in (asked.netloc, site):
        return page.geturl()
    return f"{asked.scheme}://{site}/"


def _check_address(url: str) -> None:
    parts = urlsplit(url)
    is_private = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    if not parts.netloc or not is_private or "@" in parts.netloc:
        raise FetchFailed("The update address of this build is invalid; look for updates where you got it.")


def _no_answer(url: str) -> FetchFailed:
    return FetchFailed(
        "{host} did not name the newest version in a readable way; look for updates in your browser.",
        host=_host(url),
    )


def _host(url: str) -> str:
    return urlsplit(url).netloc
