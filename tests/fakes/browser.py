"""Catches what the desktop would open: pages and folders."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from PySide6.QtCore import QObject, QUrl, Slot
from PySide6.QtGui import QDesktopServices


class Browser(QObject):
    """Catches what is opened with this scheme, until the end of the block."""

    def __init__(self, scheme: str) -> None:
        super().__init__()
        self._scheme = scheme
        self.opened: list[QUrl] = []

    def __enter__(self) -> Self:
        QDesktopServices.setUrlHandler(self._scheme, self, "take")  # type: ignore[arg-type] # the types say bytes
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _t: TracebackType | None
    ) -> None:
        QDesktopServices.unsetUrlHandler(self._scheme)

    @Slot(QUrl)
    def take(self, url: QUrl) -> None:
        self.opened.append(url)
