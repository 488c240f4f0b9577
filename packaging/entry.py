"""Where a bundle starts: `slipstream`, with the whole command line."""

from __future__ import annotations

import multiprocessing
import os
import sys


def announce_on_windows() -> None:
    """The installer asks to close the app while somebody holds this mutex; the taskbar joins windows to its icon by the
    other name. Both are as in packaging/windows/slipstream.iss."""
    import ctypes

    ctypes.windll.kernel32.CreateMutexW(None, False, "SlipstreamIsRunning")  # held until the process ends
    ctypes.windll.shell32.SetCurrentProcessExplicitAppUserModelID("app.slipstream.Slipstream")


def leave_other_programs_alone() -> None:
    """A browser that the app opens is to find the system's libraries, not those inside the bundle.

    This process looks for libraries as it was told at its start; what is changed here counts for those that it starts.
    """
    before = os.environ.pop("LD_LIBRARY_PATH_ORIG", None)
    os.environ.pop("LD_LIBRARY_PATH", None)
    if before is not None:
        os.environ["LD_LIBRARY_PATH"] = before
    # When this program itself is started once more, it sets all that up anew.
    os.environ["PYINSTALLER_RESET_ENVIRONMENT"] = "1"


if __name__ == "__main__":
    leave_other_programs_alone()
    # The first look at a model file happens in a process of its own, which is this program once more.
    multiprocessing.freeze_support()
    if sys.platform == "win32":
        announce_on_windows()

    from app.commands.cli import main

    main()
