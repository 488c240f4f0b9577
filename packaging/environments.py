"""Keeps a finished environment for the next checkout, which gets hard links to its files: seconds, and no space.

    python3 packaging/environments.py keep VENV STORE    (as it is now, in place of others beside STORE)
    python3 packaging/environments.py take STORE VENV    (into a bare environment of the same Python)

pip never changes a file in place, so what one checkout installs later does not touch the others. Not for Windows, whose
programs in an environment hold its path in a form of their own.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

_FOLDERS = "bin", "include", "lib", "share"
_OWN = "python*", "activate*", "Activate.ps1"  # in bin: every environment has its own
_ORIGIN = "origin"  # a file in the store that says for which environment the scripts in bin were written
_LONGEST_START = 120  # of the path after #!, which Linux cuts off


def keep(venv: Path, store: Path) -> None:
    """Does nothing where files cannot be linked, as on another disk."""
    if store.is_dir():
        return
    store.parent.mkdir(parents=True, exist_ok=True)
    unfinished = store.with_name(f".{store.name}-{os.getpid()}")
    try:
        for path in _files(venv):
            _link(path, unfinished / path.relative_to(venv))
        (unfinished / _ORIGIN).write_text(str(venv.resolve()), encoding="utf-8")
        for other in store.parent.iterdir():  # checkouts that use them have the files nonetheless
            if other != unfinished:
                shutil.rmtree(other)
        unfinished.rename(store)
    except OSError as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        print(f"The environment is not kept for other checkouts: {error}", file=sys.stderr)


def take(store: Path, venv: Path) -> bool:
    """Whether it was there, and scripts can be written for `venv`."""
    here = str(venv.resolve())
    if not (store / _ORIGIN).is_file() or len(here) > _LONGEST_START or any(each.isspace() for each in here):
        return False
    origin = (store / _ORIGIN).read_bytes()
    for path in _files(store):
        copy = venv / path.relative_to(store)
        if path.parent.name == "bin" and path.parent.parent == store and path.read_bytes()[:2] == b"#!":
            copy.write_bytes(path.read_bytes().replace(origin, os.fsencode(here)))
            copy.chmod(path.stat().st_mode)
        else:
            _link_or_copy(path, copy)
    return True


def _files(root: Path) -> Iterator[Path]:
    own = {path for pattern in _OWN for path in (root / "bin").glob(pattern)}
    for folder in _FOLDERS:
        for place, _, names in os.walk(root / folder):
            for name in names:
                if (path := Path(place, name)) not in own:
                    yield path


def _link(path: Path, copy: Path) -> None:
    copy.parent.mkdir(parents=True, exist_ok=True)
    os.link(path, copy)


def _link_or_copy(path: Path, copy: Path) -> None:
    try:
        _link(path, copy)
    except OSError:  # on another disk
        shutil.copy2(path, copy)


def main() -> int:
    what, source, target = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    if what == "keep":
        keep(source, target)
        return 0
    return 0 if take(source, target) else 1


if __name__ == "__main__":
    raise SystemExit(main())
