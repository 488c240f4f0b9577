"""Where a bundle starts: `slipstream`, with the whole command line."""

from __future__ import annotations

import multiprocessing
import sys


def announce_on_windows() -> None:
    """The installer asks to close the app while somebody holds this mutex; the taskbar joins windows to its icon by the
    other name. Both are as in packaging/windows/slipstream.iss."""
    import ctypes

    ctypes.windll.kernel32.CreateMutexW(None, False, "SlipstreamIsRunning")  # held until the process ends
    ctypes.windll.shell32.SetCurrentProcessExplicitAppUserModelID("app.slipstream.Slipstream")


if __name__ == "__main__":
    # The first look at a model file happens in a process of its own, which is this program once more.
    multiprocessing.freeze_support()
    if sys.platform == "win32":
        announce_on_windows()

    from app.cli import main

    main()
