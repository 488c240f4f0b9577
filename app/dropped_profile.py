"""Which profile is being dropped on a window."""

from __future__ import annotations

from PySide6.QtGui import QDropEvent

SUFFIX = ".slipstream"


def dropped_profile(event: QDropEvent) -> str:
    """The path of the one profile that is being dropped, or nothing."""
    urls = event.mimeData().urls()
    path = urls[0].toLocalFile() if len(urls) == 1 else ""
    return path if path.lower().endswith(SUFFIX) else ""
