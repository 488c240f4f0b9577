"""The system libraries that Qt needs on Linux: which are missing, and what Debian and Ubuntu call them.

Plain standard library, because it runs before anything is installed: `python3 app/startup/system_libraries.py` prints
the missing packages.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

# Needed to import Qt at all.
_ALWAYS = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libdbus-1.so.3": "libdbus-1-3",
    "libX11.so.6": "libx11-6",
    "libgomp.so.1": "libgomp1",
}
# Needed to open a window on X11, also where Wayland is the default and X11 the fallback.
_WINDOW = {
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-util.so.1": "libxcb-util1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
}
_FONTS = "fonts-dejavu-core"
_HOME = Path(os.environ.get("HOME", "/"))
_FONT_FOLDERS = (
    Path("/usr/share/fonts"),
    Path("/usr/local/share/fonts"),
    _HOME / ".local/share/fonts",
    _HOME / ".fonts",
)


def missing_packages() -> list[str]:
    """Missing Debian packages; empty on other systems than Linux."""
    if not sys.platform.startswith("linux"):
        return []
    missing = [package for library, package in {**_ALWAYS, **_WINDOW}.items() if not _loads(library)]
    if not any(file.is_file() for folder in _FONT_FOLDERS for file in folder.rglob("*.?t?")):
        missing.append(_FONTS)  # Qt brings no fonts, and without any it draws empty boxes
    return missing


def cannot_import_qt() -> bool:
    """True if even importing Qt fails, not just opening a window."""
    return sys.platform.startswith("linux") and not all(_loads(library) for library in _ALWAYS)


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    print(" ".join(missing_packages()))
