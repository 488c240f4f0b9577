"""Nothing of what this process held is written to a disk when it crashes: its memory has chats, prompts and titles in
it. What a crash leaves is where it happened (`reports.py`)."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

_NO_MAPPINGS = "0"  # see core(5)


def leave_no_image() -> None:
    """Limits this process and its children. The system's own crash handler gets an image regardless; on Linux it gets
    an empty one. `PR_SET_DUMPABLE` is no option: desktops cannot tell whose process it is and refuse it file dialogs,
    and debuggers are locked out."""
    if sys.platform == "win32":
        return
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # a kernel without images has no filter for them
            Path("/proc/self/coredump_filter").write_text(_NO_MAPPINGS)
