"""Cuts what a server sends into lines, and these into the data of server-sent events, within bounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engine.remote.failures import too_much

_BYTES_OF_LINE = 64  # that each counts for beside its own: empty ones take time as well


class Lines:
    def __init__(self, line_bytes: int, all_bytes: int, host: str) -> None:
        self._line_bytes = line_bytes
        self._left = all_bytes
        self._host = host
        self._begun = bytearray()

    def feed(self, piece: bytes) -> list[bytes]:
        """The lines that end in it. Raises RemoteFailed for a line, or a reply, beyond all bounds."""
        self._left -= len(piece) + _BYTES_OF_LINE * piece.count(b"\n")
        if self._left < 0:
            raise too_much(self._host)
        *ended, rest = piece.split(b"\n")
        found: list[bytes] = []
        for each in ended:
            self._begun += each
            self._check()
            found.append(bytes(self._begun).removesuffix(b"\r"))
            self._begun.clear()
        self._begun += rest
        self._check()
        return found

    def finish(self) -> list[bytes]:
        return [bytes(self._begun)] if self._begun else []

    def _check(self) -> None:
        if len(self._begun) > self._line_bytes:
            raise too_much(self._host)


def event_data(lines: Iterable[bytes], most_lines: int, host: str) -> Iterator[bytes]:
    """The data of each event. The kind of an event, and comments, say nothing that a reply needs. Raises RemoteFailed
    for one of more lines."""
    data: list[bytes] = []
    for line in lines:
        if not line:
            if data:
                yield b"\n".join(data)
                data.clear()
        elif line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
            if len(data) > most_lines:
                raise too_much(host)
    if data:
        yield b"\n".join(data)
