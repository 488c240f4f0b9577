"""Makes the app for people without Python: a folder `dist/slipstream`, and what each system installs it from.

    python3 packaging/bundle.py [--folder-only] [--no-setup]

Run by `make bundle`. --folder-only leaves out the installers; --no-setup takes build/venv as it is. The reasons are in
docs/decisions/0017-bundle.md.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD, OUT = ROOT / "build", ROOT / "dist"
VENV, ICONS, FOLDER = BUILD / "venv", BUILD / "icons", OUT / "slipstream"
PYTHON = VENV / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def main() -> None:
    parser = argparse.ArgumentParser(description="Make a bundle of Slipstream for this system.")
    parser.add_argument("--folder-only", action="store_true", help="make no installers")
    parser.add_argument("--no-setup", action="store_true", help="take build/venv as it is")
    options = parser.parse_args()

    if not options.no_setup:
        run("bash", "packaging/setup.sh", "build/venv", "bundle")
    refuse_cuda()
    run(PYTHON, "packaging/icons.py", ICONS)
    shutil.rmtree(FOLDER, ignore_errors=True)
    places = ("--distpath", OUT, "--workpath", BUILD / "work")
    run(PYTHON, "-m", "PyInstaller", "--noconfirm", "--log-level", "WARN", *places, "packaging/slipstream.spec")
    run(PYTHON, "packaging/licences.py", FOLDER)
    print(f"{FOLDER}: {megabytes(FOLDER):.0f} MB")
    if not options.folder_only and sys.platform == "linux":
        run(sys.executable, "packaging/linux/packages.py", FOLDER, ICONS, OUT, version())
    if not options.folder_only and sys.platform == "darwin":
        run("packaging/macos/make_dmg.sh", OUT / "Slipstream.app", OUT, version())
    if not options.folder_only and sys.platform == "win32":
        run("iscc", "/Qp", f"/DVersion={version()}", "packaging/windows/slipstream.iss")


def version() -> str:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    match = re.search(r'^version = "(.+)"$', text, re.MULTILINE)
    assert match
    return match[1]


def refuse_cuda() -> None:
    """torch with CUDA is several GB; on macOS and Windows PyPI's own build is for the CPU."""
    script = "import torch, sys; sys.exit(torch.version.cuda is not None)"
    if subprocess.run([PYTHON, "-c", script], cwd=ROOT, check=False).returncode:
        raise SystemExit(
            "build/venv has torch with CUDA; delete it, and set TORCH_INDEX to an index with builds for the CPU."
        )


def megabytes(folder: Path) -> float:
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir()) / 1e6


def run(*command: str | Path) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "0"}  # the same input makes the same archive
    subprocess.run([str(part) for part in command], cwd=ROOT, env=environment, check=True)


if __name__ == "__main__":
    main()
