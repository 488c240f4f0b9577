"""Pictures that stand in requests themselves."""

from __future__ import annotations

import asyncio
import binascii
import re
from pathlib import Path

from engine.backend.documents import read_picture
from engine.backend.server.refusals import invalid
from engine.values.errors import Cancelled, FileUnusable
from engine.values.pictures import Picture
from engine.values.stop_signal import StopSignal

_DATA = re.compile(rb"data:image/[\w.+-]{1,40};base64,")
_MOST = 32  # in one request
_UNSEEN = "[picture]"
_AT_ONCE = 1 << 20  # letters of base64: four of them are three bytes


class PictureReader:
    """Reads the pictures of one request, each in a process of its own, as it may hold anything. The process ends when
    the request does."""

    def __init__(self, aside: dict[str, bytearray], turns: asyncio.Semaphore, sees: bool) -> None:
        """`aside`: what large pictures are written as, by what stands for them in the request. `turns`: of all
        requests, since each picture takes memory and a process while it is read. `sees`: the target does."""
        self._aside = aside
        self._sees = sees
        self._turns = turns
        self._stop = StopSignal()
        self._count = 0

    async def read(self, url: str, at: str) -> Picture:
        """Raises RequestRefused. Nothing is fetched from anywhere."""
        written = self._written(url)
        found = _DATA.match(written)
        if found is None:
            raise invalid("A picture must stand in the request itself, as data:image/png;base64,…", at)
        return await self._read(written, found.end(), at)

    async def add_result(self, told: str, at: str, is_url: bool, texts: list[str], seen: list[Picture]) -> None:
        """Adds a picture that a tool has returned to what is seen; for a target that sees none, words that there is
        one to the texts: the program sends it again with each request. Raises RequestRefused."""
        if self._sees:
            seen.append(await (self.read if is_url else self.decode)(told, at))
        else:
            self._aside.pop(told, None)
            texts.append(_UNSEEN)

    async def decode(self, data: str, at: str) -> Picture:
        """Raises RequestRefused."""
        return await self._read(self._written(data), 0, at)

    def _written(self, told: str) -> bytes | bytearray:
        return self._aside.pop(told, None) or told.encode("ascii", "replace")

    async def _read(self, written: bytes | bytearray, start: int, at: str) -> Picture:
        self._count += 1
        if self._count > _MOST:
            raise invalid(f"There may be {_MOST} pictures in one request.", at)
        try:
            async with self._turns:
                return await asyncio.to_thread(self._picture, written, start)
        except asyncio.CancelledError:  # it is no longer wanted
            self._stop.set()
            raise
        except (FileUnusable, Cancelled) as error:
            raise invalid(str(error), at) from None
        except (binascii.Error, ValueError):
            raise invalid("This picture is no base64.", at) from None

    def _picture(self, written: bytes | bytearray, start: int) -> Picture:
        raw = bytearray()
        for place in range(start, len(written), _AT_ONCE):  # other threads go on meanwhile
            raw += binascii.a2b_base64(written[place : place + _AT_ONCE], strict_mode=True)
        return read_picture(Path("This picture"), bytes(raw), self._stop)
