"""A walk through the first hour of somebody who has just installed the app: `python -m tests.first_hour`.

The window is real, and so are the engine and the starter model; whatever is done, is done with the mouse and the
keyboard. A display of its own (Xvfb) with a window manager (openbox) is started for it. With `--offscreen` there is
neither: windows are then where Qt puts them. Prints each step, and ends with 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.pages.place import Place

SCREEN = (1366, 768)
_NEEDED = ("Xvfb", "openbox")
_PATIENCE_S = 10


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.first_hour", description="Walks through the first hour.")
    parser.add_argument("--offscreen", action="store_true", help="without a display and a window manager")
    parser.add_argument("--pictures", default="", metavar="FOLDER", help="keep a picture of the window after each step")
    chosen = parser.parse_args()
    missing = [] if chosen.offscreen else [name for name in _NEEDED if shutil.which(name) is None]
    if missing:
        print(f"The walk needs {' and '.join(missing)}: sudo apt install xvfb openbox. Or add --offscreen.")
        return 2
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="slipstream-first-hour-")))
        if chosen.offscreen:
            from tests.pages.walk import screen_file

            platform = f"offscreen:configfile={screen_file(folder, Place(SCREEN, 100))}"
        else:
            os.environ["DISPLAY"] = stack.enter_context(display())
            platform = "xcb"
        return walk(folder, platform, chosen.pictures)


def walk(folder: Path, platform: str, pictures: str) -> int:
    from tests.first_hour.steps import STEPS
    from tests.first_hour.walk import begun, go

    began = time.monotonic()
    num_defects = 0
    with begun(folder, platform) as person:
        for step in STEPS:
            gone = go(person, step)
            print(f"{gone.seconds:5.1f} s  {gone.name}", flush=True)
            for defect in gone.defects:
                print(f"    DEFECT  {defect}", flush=True)
            num_defects += len(gone.defects)
            if pictures:
                Path(pictures).mkdir(parents=True, exist_ok=True)
                person.window.grab().save(str(Path(pictures) / f"{gone.name}.png"))
    print(f"{len(STEPS)} steps in {time.monotonic() - began:.0f} s: {num_defects} defects.")
    return 1 if num_defects else 0


@contextmanager
def display() -> Iterator[str]:
    """A screen of its own, with a window manager."""
    reading, writing = os.pipe()
    size = f"{SCREEN[0]}x{SCREEN[1]}x24"
    screen = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writing), "-screen", "0", size, "-nolisten", "tcp"],
        pass_fds=[writing],
        stderr=subprocess.DEVNULL,
    )
    os.close(writing)
    try:
        with os.fdopen(reading) as told:
            name = f":{told.readline().strip()}"
        if name == ":":
            raise RuntimeError("Xvfb ended before it had a screen.")
        manager = subprocess.Popen(
            ["openbox", "--sm-disable"], env={**os.environ, "DISPLAY": name}, stderr=subprocess.DEVNULL
        )
        try:
            yield name
        finally:
            manager.terminate()
            manager.wait(_PATIENCE_S)
    finally:
        screen.terminate()
        screen.wait(_PATIENCE_S)


if __name__ == "__main__":
    sys.exit(main())
