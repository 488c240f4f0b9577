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
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from app.startup import system_libraries
from app.startup.instance_lock import InstanceLock
from app.startup.open_request import OpenRequest
from engine.config import SpeculationSettings, data_dir
from engine.errors import MendableError

if TYPE_CHECKING:
    from app.crash.watch import CrashWatch
    from app.startup.desktop_application import DesktopApplication
    from app.wiring import WiredWindow

_SIGNAL_INTERVAL_MS = 250
LOCK_INTERVAL_S = 0.001  # after which a thread that computes in Python lets another one on; see 0016-window.md
_HEADLESS_PLATFORMS = ("offscreen", "minimal", "vnc")


class CannotOpenWindow(MendableError):
    """This machine lacks something that a window needs."""


def run(
    target: str | None, smoke: Path | None, speculation: SpeculationSettings, request: OpenRequest | None = None
) -> int:
    """Opens the window and returns the exit code when it is closed; or has the window that is open already take over
    what was asked for. Raises CannotOpenWindow, InstanceSilent and FileUnusable."""
    check_machine()
    logging.raiseExceptions = False  # a full disk is no reason to fill the terminal
    sys.setswitchinterval(LOCK_INTERVAL_S)
    if smoke is not None:  # leaves nothing in the user's own folder
        with tempfile.TemporaryDirectory(prefix="slipstream-") as folder:
            return _run(Path(folder), target, smoke, speculation, OpenRequest(), None)
    with _said_to_somebody():
        return _run_alone(data_dir(), target, speculation, request or OpenRequest.of(()))


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
def _said_to_somebody() -> Iterator[None]:
    """Whoever started the app by a click sees no terminal: a sentence is shown in a window as well."""
    try:
        yield
    except MendableError as error:
        in_terminal = sys.stderr is not None and sys.stderr.isatty()
        if not in_terminal and os.environ.get("QT_QPA_PLATFORM", "").split(":")[0] not in _HEADLESS_PLATFORMS:
            from app.startup.desktop_application import show_sentence

            show_sentence(str(error))
        raise


def _run_alone(folder: Path, target: str | None, speculation: SpeculationSettings, request: OpenRequest) -> int:
    with closing(InstanceLock(folder)) as lock:
        if not lock.take():
            from app.startup.single_instance import hand_over

            if hand_over(lock, folder, request):
                print("Slipstream is open already; its window comes to the front.")
                if target is not None or not speculation.enabled:
                    print("--target and --no-speculation hold for a new start; close that window first.")
                return 0
        return _run(folder, target, None, speculation, request, lock)


def _run(
    folder: Path,
    target: str | None,
    smoke: Path | None,
    speculation: SpeculationSettings,
    request: OpenRequest,
    lock: InstanceLock | None,
) -> int:
    from app.crash.reports import CrashFolder
    from app.crash.watch import log_to_file, watching

    log_to_file(folder)
    with watching(CrashFolder(folder)) as watch:
        return _show(folder, target, smoke, speculation, request, lock, watch)


def _show(
    folder: Path,
    target: str | None,
    smoke: Path | None,
    speculation: SpeculationSettings,
    request: OpenRequest,
    lock: InstanceLock | None,
    watch: CrashWatch,
) -> int:
    from PySide6.QtCore import QTimer

    from app.startup.desktop_application import DesktopApplication
    from app.startup.first_paint import import_in_pieces, open_window
    from app.startup.garbage import InterfaceGarbage
    from app.text.translation import install_translations

    application = DesktopApplication()
    InterfaceGarbage(application)
    install_translations(application)
    opened = open_window(application, folder)
    painted_at = time.time()
    import_in_pieces()

    from app.controllers.crash import CrashController
    from app.startup.smoke import SmokeRun, smoke_settings
    from app.wiring import WiredWindow

    # Imported and made when the window is seen already.
    wired = WiredWindow(opened, folder, speculation, target, smoke_settings() if smoke else None)
    check = SmokeRun(wired.window, wired.bridge, smoke, painted_at) if smoke else None
    if lock is not None:
        CrashController(wired.window, wired.keeper, watch)
        _listen(application, wired, request, lock, folder)

    def close_soon(_number: int, _frame: FrameType | None) -> None:
        """Not here and now: this runs in the middle of whatever Python does."""
        QTimer.singleShot(0, wired.window, wired.window.close)

    signal.signal(signal.SIGINT, close_soon)
    awake = QTimer(wired)
    awake.timeout.connect(lambda: None)  # Python looks at signals only when Python code runs, however little
    awake.start(_SIGNAL_INTERVAL_MS)
    try:
        code = application.exec()
    finally:
        wired.close()
    if check is not None and check.failure:
        raise CannotOpenWindow(check.failure)
    return code


def _listen(
    application: DesktopApplication, wired: WiredWindow, request: OpenRequest, lock: InstanceLock, folder: Path
) -> None:
    """Opens the files of this start, and from then on those of further starts."""
    from PySide6.QtCore import QTimer

    from app.startup.single_instance import OpenRequests

    others = OpenRequests(lock, folder, wired)
    wired.window.closing.connect(others.close)
    others.asked.connect(wired.opening.answer)
    application.opened.connect(wired.opening.answer)
    files = (*request.files, *application.take_early())
    QTimer.singleShot(0, wired, lambda: wired.opening.open(files))  # when the engine is awake
