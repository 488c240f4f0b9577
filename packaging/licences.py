"""Collects the licences of everything inside a bundle into one text.

    python3 packaging/licences.py FOLDER

FOLDER is dist/slipstream; the text becomes LICENCES.txt in it. Licences of Python packages are in their `*.dist-info`,
those of system libraries in the Debian packages that the libraries were taken from.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from email.parser import HeaderParser
from pathlib import Path

ROOT = Path(__file__).parents[1]
HEAD = """\
Slipstream is the work of its authors, under the Apache License 2.0, which comes first below.

Everything else in here is the work of others, under the licences that follow.

Qt (the libraries libQt6*, and PySide6 and shiboken6, its bindings for Python) is used under the GNU Lesser General
Public License, version 3. They are separate files, which you may replace with your own builds; their source is at
https://download.qt.io. The starter model, SmolLM2-135M-Instruct, is the work of Hugging Face under the Apache License
2.0. llama.cpp, inside llama-cpp-python, is the work of the ggml authors under the MIT License.
"""
_RULE = "\n" + "=" * 100 + "\n"
_NAMES = ("licen", "copying", "notice", "authors", "ofl-")


def main(folder: Path) -> None:
    inside = folder / "_internal"
    own = [(ROOT / name).read_text(encoding="utf-8") for name in ("LICENSE", "NOTICE")]
    parts = [HEAD, *own, python_licence(), *python_packages(inside), *system_libraries(inside)]
    (folder / "LICENCES.txt").write_text(_RULE.join(part.strip() + "\n" for part in parts if part), encoding="utf-8")


def python_licence() -> str:
    text = Path(sysconfig.get_path("stdlib")) / "LICENSE.txt"
    return "Python\n\n" + (
        text.read_text(encoding="utf-8") if text.is_file() else "https://docs.python.org/3/license.html"
    )


def python_packages(inside: Path) -> list[str]:
    """Name, version and licence of each, in alphabetical order."""
    parts = []
    for information in sorted(inside.glob("*.dist-info"), key=lambda path: path.name.lower()):
        with (information / "METADATA").open(encoding="utf-8") as file:
            about = HeaderParser().parse(file)
        if about["Name"] == "slipstream":
            continue
        kinds = [line for line in about.get_all("Classifier", []) if line.startswith("License ::")]
        short = (
            about["License-Expression"] or "; ".join(kinds) or (about["License"] or "").strip() or "see its home page"
        )
        text = "\n".join(
            path.read_text(encoding="utf-8", errors="replace").strip() + "\n"
            for path in sorted(information.rglob("*"))
            if path.is_file() and path.name.lower().startswith(_NAMES)
        )
        parts.append(f"{about['Name']} {about['Version']}\n{short}\n\n{text}")
    return parts


def system_libraries(inside: Path) -> list[str]:
    """Licences of the libraries that were taken from Debian packages; empty on other systems."""
    if not shutil.which("dpkg-query"):
        return []
    names = sorted(path.name for path in inside.glob("*.so*") if path.is_file())
    found: dict[str, list[str]] = {}
    for name in names:
        command = ["dpkg-query", "--search", f"*/{name}"]
        answer = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        package = next((line.split(":")[0] for line in answer.splitlines() if ".so" in line), None)
        if package and "," not in package:
            found.setdefault(package, []).append(name)
    parts = []
    for package, libraries in sorted(found.items()):
        text = Path("/usr/share/doc") / package / "copyright"
        if text.is_file():
            parts.append(f"{', '.join(libraries)}\n\n{text.read_text(encoding='utf-8', errors='replace')}")
    return parts


if __name__ == "__main__":
    main(Path(sys.argv[1]))
