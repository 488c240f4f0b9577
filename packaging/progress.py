"""Runs one of set-up's long commands: what it prints goes into a log, the screen tells what is done and what is left.

    python3 packaging/progress.py LOG "Compiling llama.cpp" [--packages NUMBER FOLDER] -- COMMAND...

Counts the files that Ninja or make compile; with --packages, those of so many packages that pip fetches and then puts
into FOLDER. Plain standard library, because it runs before anything is installed.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from threading import Thread

_COMPILED = re.compile(r"\s*\[ *(\d+)(?:/(\d+)\]|%\])")  # Ninja: [3/89], make: [ 3%]
_COLLECTED = re.compile(r"(?:Collecting|Requirement already satisfied:) (\S+)")
_DOWNLOADED = re.compile(r"\s*Downloading (\S+?)-\d\S* \((\S+ \S+)\)")
_TO_INSTALL = "Installing collected packages: "
_COMPLAINTS = "FAILED:", "CMake Error"
_PAUSE = 10.0  # s between lines that stay
_SETTLED = 5.0  # s after which a guess at what is left means something
_NUM_LAST_LINES = 20


class CompiledFiles:
    """What of a compilation is done, by its output."""

    def __init__(self) -> None:
        self.num_done = self.num_all = 0
        self.unit = "files"

    def read(self, line: str) -> None:
        if found := _COMPILED.match(line):
            self.num_done, self.num_all = int(found[1]), int(found[2] or 100)
            self.unit = "files" if found[2] else "percent"

    def what(self) -> str:
        return f"{self.num_done} of {self.num_all} {self.unit}" if self.num_all else "getting ready"


class Packages:
    """What pip has fetched of `num_wanted` packages, then what of them lies in `folder`."""

    def __init__(self, num_wanted: int, folder: Path) -> None:
        self.num_done, self.num_all = 0, num_wanted
        self._folder, self._num_before = folder, 0
        self._is_installing = False
        self._largest = ""

    def read(self, line: str) -> None:
        if line.startswith(_TO_INSTALL):
            self._is_installing = True
            self._num_before, self.num_done = self._num_there(), 0
            self.num_all = line.count(",") + 1
        elif _COLLECTED.match(line):
            self.num_done, self._largest = min(self.num_done + 1, self.num_all), ""
        elif found := _DOWNLOADED.match(line):
            self._largest = f" ({found[1]}, {found[2]})"

    def what(self) -> str:
        if self._is_installing:
            self.num_done = max(0, min(self._num_there() - self._num_before, self.num_all))
            return f"{self.num_done} of {self.num_all} unpacked"
        return f"{self.num_done} of {self.num_all} fetched{self._largest}"

    def _num_there(self) -> int:
        return sum(1 for _ in self._folder.glob("*.dist-info"))


def time_left(num_done: int, num_all: int, seconds: float) -> str:
    """In words, from how long the first `num_done` took; nothing while that says too little."""
    if seconds < _SETTLED or not 0 < num_done < num_all:
        return ""
    left = seconds * (num_all - num_done) / num_done
    return f", about {max(10, round(left, -1)):.0f} s left" if left < 90 else f", about {left / 60:.0f} min left"


def what_failed(lines: Iterable[str]) -> list[str]:
    """What a log tells most by: from CMake's complaint or a file that did not compile on, else the last lines."""
    every = list(lines)
    first = next((number for number, line in enumerate(every) if line.lstrip().startswith(_COMPLAINTS)), None)
    return every[-_NUM_LAST_LINES:] if first is None else every[first : first + _NUM_LAST_LINES]


class Screen:
    """One line that is written anew on a terminal; elsewhere, lines at intervals."""

    def __init__(self) -> None:
        self._in_place = sys.stderr.isatty()
        self._told = 0.0

    def show(self, text: str, now: float) -> None:
        if self._in_place:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r\033[K{text[:width]}", end="", file=sys.stderr, flush=True)
        elif now - self._told >= _PAUSE:
            self._told = now
            print(text, file=sys.stderr, flush=True)

    def end(self, text: str) -> None:
        print(f"\r\033[K{text}" if self._in_place else text, file=sys.stderr, flush=True)


def run(command: list[str], title: str, log: Path, counted: CompiledFiles | Packages) -> int:
    screen = Screen()
    begun = time.monotonic()
    first_done = begun  # when the first of what is counted was done
    with log.open("a+", encoding="utf-8", errors="replace") as written:
        start = written.tell()
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8", errors="replace"
        )
        reader = Thread(target=_read, args=(process, counted, written))
        reader.start()
        while reader.is_alive():
            reader.join(0.5)
            now = time.monotonic()
            if counted.num_done == 0:
                first_done = now
            what = counted.what()
            screen.show(f"{title}: {what}{time_left(counted.num_done, counted.num_all, now - first_done)}", now)
        code = process.wait()
        took = time.monotonic() - begun
        if code == 0:
            screen.end(f"{title}: done in {f'{took:.0f} s' if took < 90 else f'{took / 60:.1f} min'}")
            return 0
        written.seek(start)
        screen.end("".join(what_failed(written)).rstrip())
    print(f"{title} failed; the lines above are from {log.resolve()}, which holds everything.", file=sys.stderr)
    return code


def _read(process: subprocess.Popen[str], counted: CompiledFiles | Packages, log: object) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        counted.read(line)
        print(line, end="", file=log, flush=True)  # type: ignore[call-overload]


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs a long command and tells how far it is.")
    parser.add_argument("log", type=Path)
    parser.add_argument("title")
    parser.add_argument("--packages", nargs=2, metavar=("NUMBER", "FOLDER"))
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    counted = Packages(int(options.packages[0]), Path(options.packages[1])) if options.packages else CompiledFiles()
    try:
        return run(options.command, options.title, options.log, counted)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
