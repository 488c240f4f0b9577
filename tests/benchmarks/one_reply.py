"""What there is to read for who follows one reply from the prompt box to the store.

    python -m tests.benchmarks.one_reply [--list]

The starter answers a prompt in a real window. Counted are the files of app/ and engine/ whose functions run between
Enter and the stored reply: on the interface thread, the chat thread and the writing thread. Prints the number of files,
their lines, and the lines of the functions that ran.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtWidgets import QApplication

from engine.values.events import ReplyFinished, TargetReady
from tests.pictures.studio import Studio

_ROOT = Path(__file__).parents[2]
_THREADS = ("MainThread", "slipstream-chat", "slipstream-writing")
_PROMPT = "Name three colours."


@contextmanager
def traced() -> Iterator[set[CodeType]]:
    """The code of app/ and engine/ that runs meanwhile on these threads."""
    ran: set[CodeType] = set()
    folders = tuple(f"{_ROOT / name}{os.sep}" for name in ("app", "engine"))

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call" and threading.current_thread().name in _THREADS:
            code = frame.f_code
            if code.co_filename.startswith(folders):
                ran.add(code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield ran
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="the files, with their lines and those that ran")
    asked = parser.parse_args()
    application = QApplication([])
    with tempfile.TemporaryDirectory() as folder, traced() as ran:
        studio = Studio(application, Path(folder), Path(folder), "nothing")
        studio.until(lambda: studio.heard(TargetReady))
        studio.rest()
        ran.clear()
        studio.window.prompt_box.set_text(_PROMPT)
        studio.window.prompt_box.submit()
        studio.until(lambda: studio.heard(ReplyFinished))
        found = set(ran)
        studio.close()
    files: dict[str, set[int]] = defaultdict(set)
    for code in found:
        lines = {line for _, _, line in code.co_lines() if line is not None}
        files[code.co_filename].update(lines)
    sizes = {name: Path(name).read_text("utf-8").count("\n") for name in files}
    if asked.list:
        for name in sorted(files):
            print(f"{sizes[name]:5} {len(files[name]):5}  {Path(name).relative_to(_ROOT)}")
    num_run = sum(map(len, files.values()))
    print(f"{len(files)} files of {sum(sizes.values()):,} lines; {num_run:,} lines of functions ran")


if __name__ == "__main__":
    main()
