"""Start-up of the app, step by step: check what Qt needs, show the window, and only then wake the engine.

Imports stand inside functions because Qt comes after the check of what it needs, and everything that the first window
can do without comes after that window is painted. llama.cpp, SQLAlchemy and torch are never imported here: the engine
does that on its own threads.
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
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from app.startup import system_libraries
from app.startup.instance_lock import InstanceLock
from app.startup.open_request import OpenRequest
from engine.values.config import SpeculationSettings, data_dir
from engine.values.errors import MendableError

if TYPE_CHECKING:
    from app.crash.watch import CrashWatch
    from app.startup.desktop_application import DesktopApplication
    from app.wiring import WiredWindow

_SIGNAL_INTERVAL_MS = 250
LOCK_INTERVAL_S = 0.001  # after which a thread that computes in Python gives way to others; see 0016-window.md
_HEADLESS_PLATFORMS = ("offscreen", "minimal", "vnc")


class CannotOpenWindow(MendableError):
    """This machine lacks something that a window needs."""


@dataclass(frozen=True, slots=True)
class _Start:
    """What the user asked for, and the folder with all files of the program."""

    folder: Path
    speculation: SpeculationSettings
    target: str | None = None  # None: the user's own choice
    request: OpenRequest = OpenRequest()
    smoke: Path | None = None  # the picture of a smoke run
    lock: InstanceLock | None = None  # None for a smoke run


def run(
    target: str | None, smoke: Path | None, speculation: SpeculationSettings, request: OpenRequest | None = None
) -> int:
    """Opens the window and returns the exit code when it is closed; or hands the request over to one that is open
    already. Raises CannotOpenWindow, InstanceSilent and FileUnusable, and MendableError where llama.cpp cannot run."""
    check_machine()
    logging.raiseExceptions = False  # a full disk is no reason to fill the terminal
    sys.setswitchinterval(LOCK_INTERVAL_S)
    if smoke is not None:  # leaves nothing in the user's own folder
        if not smoke.absolute().parent.is_dir():
            raise CannotOpenWindow(f"The picture could not be written to {smoke}; choose another place.")
        with tempfile.TemporaryDirectory(prefix="slipstream-") as folder:
            return _run(_Start(Path(folder), speculation, target, smoke=smoke))
    with _shown_without_terminal():
        return _run_alone(_Start(data_dir(), speculation, target, request or OpenRequest.of(())))


def check_machine() -> None:
    """Checks what Qt needs: Qt itself would end the process with a message for developers."""
    if not sys.platform.startswith("linux"):
        return
    headless = _is_headless()
    missing = system_libraries.missing_packages()
    if missing and (not headless or system_libraries.cannot_import_qt()):
        raise CannotOpenWindow(f"Slipstream's window needs these system packages: sudo apt install {' '.join(missing)}")
    if not headless and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise CannotOpenWindow(
            "There is no display to open a window on; start Slipstream on a desktop, "
            "or use `slipstream chat` in the terminal."
        )


def _is_headless() -> bool:
    return os.environ.get("QT_QPA_PLATFORM", "").split(":")[0] in _HEADLESS_PLATFORMS


@contextmanager
def _shown_without_terminal() -> Iterator[None]:
    """Shows a sentence in a window, too: users who started the app by a click see no terminal."""
    try:
        yield
    except MendableError as error:
        in_terminal = sys.__stderr__ is not None and sys.__stderr__.isatty()
        if not in_terminal and not _is_headless():
            from app.startup.desktop_application import show_sentence

            show_sentence(str(error))
        raise


def _run_alone(start: _Start) -> int:
    with closing(InstanceLock(start.folder)) as lock:
        if not lock.take():
            from app.startup.single_instance import hand_over

            if hand_over(lock, start.folder, start.request):
                print("Slipstream is open already; its window comes to the front.")
                if start.target is not None or not start.speculation.enabled:
                    print("--target and --no-speculation hold for a new start; close that window first.")
                return 0
        return _run(replace(start, lock=lock))


def _run(start: _Start) -> int:
    from engine import check_build

    check_build()

    from app.crash.reports import CrashFolder
    from app.crash.watch import log_to_file, watching

    log_to_file(start.folder)
    with watching(CrashFolder(start.folder)) as watch:
        return _show(start, watch)


def _show(start: _Start, watch: CrashWatch) -> int:
    from app.crash.qt_messages import log_qt_messages
    from app.settings.look import read_look
    from app.startup.desktop_application import DesktopApplication
    from app.startup.first_paint import import_in_pieces, open_window
    from app.text.languages import chosen_language
    from app.text.translation import install_translations

    log_qt_messages()
    application = DesktopApplication()
    translators = install_translations(application, chosen_language(read_look(start.folder).language))
    opened = open_window(application, start.folder)
    painted_at = time.time()
    import_in_pieces()

    from app.language_change import LanguageChange
    from app.startup.smoke import SmokeRun, save_settings
    from app.wiring import WiredWindow

    if start.smoke:
        save_settings(start.folder)
    wired = WiredWindow(
        opened,
        folder=start.folder,
        speculation=start.speculation,
        target=start.target,
        has_tour=start.smoke is None,
        watch=None if start.lock is None else watch,
    )
    LanguageChange(wired, translators)
    check = None
    if start.smoke:
        chat = wired.chat
        check = SmokeRun(wired.window, wired.bridge, chat.writing_began, chat.ended, start.smoke, painted_at)
    if start.lock is not None:
        _listen(application, wired, start.lock, start)
    _close_on_interrupt(wired)
    try:
        code = application.exec()
    finally:
        wired.close()
    if check is not None and check.failure:
        raise CannotOpenWindow(check.failure)
    return code


def _listen(application: DesktopApplication, wired: WiredWindow, lock: InstanceLock, start: _Start) -> None:
    """Opens the files of this start, then those of further starts."""
    from PySide6.QtCore import QTimer

    from app.startup.single_instance import OpenRequests

    others = OpenRequests(lock, start.folder, wired)
    wired.closing.connect(others.close)
    others.asked.connect(wired.answer)
    application.opened.connect(wired.answer)
    files = (*start.request.files, *application.take_early())
    QTimer.singleShot(0, wired, lambda: wired.opening.open(files))  # when the engine is awake


def _close_on_interrupt(wired: WiredWindow) -> None:
    from PySide6.QtCore import QTimer

    def close_soon(_number: int, _frame: FrameType | None) -> None:
        """Closes the window soon, not now: this runs in the middle of whatever Python does."""
        QTimer.singleShot(0, wired.window, wired.window.close)

    signal.signal(signal.SIGINT, close_soon)
    awake = QTimer(wired)
    awake.timeout.connect(lambda: None)  # Python looks at signals only when Python code runs, however little
    awake.start(_SIGNAL_INTERVAL_MS)
