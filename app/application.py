"""Start-up of the app, step by step: check what Qt needs, show the window, and only then wake the engine.

llama.cpp, SQLAlchemy and torch are never imported here: the engine does that on its own threads, after the first paint.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app import system_libraries
from engine.config import SpeculationSettings, data_dir
from engine.errors import MendableError

_SIGNAL_INTERVAL_MS = 250
_HEADLESS_PLATFORMS = ("offscreen", "minimal", "vnc")


class CannotOpenWindow(MendableError):
    """This machine lacks something that a window needs."""


def run(target: str | None, smoke: Path | None, speculation: SpeculationSettings) -> int:
    """Opens the window and returns the exit code when it is closed. Raises CannotOpenWindow."""
    check_machine()
    logging.raiseExceptions = False  # a full disk is no reason to fill the terminal
    with _data_folder(temporary=smoke is not None) as folder:
        return _run(folder, target, smoke, speculation)


def check_machine() -> None:
    """Qt itself would end the process with a message for developers."""
    if not sys.platform.startswith("linux"):
        return
    platform = os.environ.get("QT_QPA_PLATFORM", "").split(":")[0]
    headless = platform in _HEADLESS_PLATFORMS
    missing = system_libraries.missing_packages()
    if missing and (not headless or system_libraries.cannot_import_qt()):
        raise CannotOpenWindow(f"Slipstream's window needs these system packages: sudo apt install {' '.join(missing)}")
    if not headless and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise CannotOpenWindow(
            "There is no display to open a window on; start Slipstream on a desktop, "
            "or use `slipstream chat` in the terminal."
        )


@contextmanager
def _data_folder(temporary: bool) -> Iterator[Path]:
    """A smoke run leaves nothing in the user's own folder."""
    if temporary:
        with tempfile.TemporaryDirectory(prefix="slipstream-") as folder:
            yield Path(folder)
    else:
        yield data_dir()


def _run(folder: Path, target: str | None, smoke: Path | None, speculation: SpeculationSettings) -> int:
    from PySide6.QtCore import QTimer
    from PySide6.QtWidgets import QApplication

    from app.first_paint import open_window
    from app.garbage import InterfaceGarbage
    from app.logs import log_to_file
    from app.translation import install_translations

    application = QApplication([sys.argv[0]])
    application.setApplicationName("Slipstream")
    application.setDesktopFileName("slipstream")
    InterfaceGarbage(application)
    log_to_file(folder)
    install_translations(application)
    opened = open_window(application, folder)
    painted_at = time.time()

    from app.assembled import Assembled
    from app.smoke import SmokeRun, smoke_settings

    # Imported and made when the window is seen already.
    assembled = Assembled(opened, folder, speculation, target, smoke_settings() if smoke else None)
    check = SmokeRun(assembled.window, assembled.bridge, smoke, painted_at) if smoke else None

    signal.signal(signal.SIGINT, lambda _number, _frame: assembled.window.close())
    awake = QTimer(assembled)
    awake.timeout.connect(lambda: None)  # Python looks at signals only when Python code runs, however little
    awake.start(_SIGNAL_INTERVAL_MS)
    try:
        code = application.exec()
    finally:
        assembled.close()
    if check is not None and check.failure:
        raise CannotOpenWindow(check.failure)
    return code
