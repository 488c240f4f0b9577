"""What can be wrong with a server. The other process makes sentences of it."""

from __future__ import annotations


class ServerFailed(Exception):
    """`kind`: a key of the sentences in `host.py`; `detail`: words of the system or of the server."""

    def __init__(self, kind: str, detail: str = "") -> None:
        super().__init__(kind, detail)
        self.kind, self.detail = kind, detail


def first_failure(error: BaseException) -> ServerFailed:
    """The first failure of a group that says what was wrong."""
    found = [each for each in _flat(error) if isinstance(each, ServerFailed)]
    if found:
        return found[0]
    words = [each for each in _flat(error) if isinstance(each, Exception)]
    first = words[0] if words else error
    return ServerFailed("failed", _line(f"{first}" or type(first).__name__))


def _flat(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [one for each in error.exceptions for one in _flat(each)]
    return [error]


def _line(text: str) -> str:
    return next(iter(text.strip().splitlines()), "")[:200]
