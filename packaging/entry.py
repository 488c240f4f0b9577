"""Where a bundle starts: `slipstream`, with the whole command line."""

from __future__ import annotations

import multiprocessing
import os
import sys


def announce_on_windows() -> None:
    """The installer asks to close the app while a process holds this mutex; the taskbar matches windows to its icon by
    the other name. Both are as in packaging/windows/slipstream.iss."""
    import ctypes

    ctypes.windll.kernel32.CreateMutexW(None, False, "SlipstreamIsRunning")  # held until the process ends
    ctypes.windll.shell32.SetCurrentProcessExplicitAppUserModelID("app.slipstream.Slipstream")


def leave_other_programs_alone() -> None:
    """Gives programs that the app opens, such as a browser, the system's libraries in place of the bundle's.

    This process has read its library path at its start; the change applies to the processes that it starts.
    """
    before = os.environ.pop("LD_LIBRARY_PATH_ORIG", None)
    os.environ.pop("LD_LIBRARY_PATH", None)
    if before is not None:
        os.environ["LD_LIBRARY_PATH"] = before
    # When this program starts itself again, the new process sets all of this up anew.
    os.environ["PYINSTALLER_RESET_ENVIRONMENT"] = "1"


if __name__ == "__main__":
    leave_other_programs_alone()
    # An unknown model file is first opened in a process of its own, which runs this program again.
    multiprocessing.freeze_support()
    if sys.platform == "win32":
        announce_on_windows()

    from app.commands.cli import main

    main()
