"""Pictures that stand in requests themselves."""

from __future__ import annotations

import asyncio
import base64
import binascii
import re
from pathlib import Path

from engine.documents import read_picture
from engine.errors import Cancelled, FileUnusable
from engine.messages.pictures import Picture
from engine.server.refusals import invalid
from engine.stop_signal import StopSignal

_DATA = re.compile(r"data:image/[\w.+-]{1,40};base64,")
_MOST = 32  # in one request


class PictureReader:
    """Of one request. A process of its own looks at each picture, whatever it holds."""

    def __init__(self) -> None:
        self._stop = StopSignal()
        self._count = 0

    def stop(self) -> None:
        self._stop.set()

    async def read(self, url: str, at: str) -> Picture:
        """Raises RequestRefused. Nothing is fetched from anywhere."""
        found = _DATA.match(url)
        if found is None:
            raise invalid("A picture must stand in the request itself, as data:image/png;base64,…", at)
        return await self.decode(url[found.end() :], at)

    async def decode(self, data: str, at: str) -> Picture:
        """Raises RequestRefused."""
        self._count += 1
        if self._count > _MOST:
            raise invalid(f"There may be {_MOST} pictures in one request.", at)
        try:
            raw = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            raise invalid("This picture is no base64.", at) from None
        try:
            return await asyncio.to_thread(read_picture, Path("This picture"), raw, self._stop)
        except (FileUnusable, Cancelled) as error:
            raise invalid(str(error), at) from None
