"""Collects the words of the window for translators, and makes what Qt reads from what is translated.

    python3 packaging/translations.py FOLDER

The words go to `slipstream.ts`. A translator copies that to `slipstream_<language>.ts`, fills it in with Qt Linguist,
and runs this again, which also brings a translation up to date. English needs none: `app/text/translation.py` makes
its plurals. The labels of origins are declared in the engine.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from engine import origins
from engine.messages.origins import TARGET

TOOLS = Path(sys.executable).parent
SOURCES = Path(__file__).parents[1] / "app"


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    files = sorted(str(path) for path in SOURCES.rglob("*.py"))
    translated = sorted(folder.glob("slipstream_*.ts"))
    with tempfile.TemporaryDirectory() as other:
        labels = Path(other) / "labels.py"
        labels.write_text("".join(f'QT_TRANSLATE_NOOP("Origin", "{each.label}")\n' for each in (*origins(), TARGET)))
        for ts in (folder / "slipstream.ts", *translated):
            _run("pyside6-lupdate", "-locations", "none", "-no-obsolete", *files, str(labels), "-ts", str(ts))
    for ts in translated:
        _run("pyside6-lrelease", "-silent", str(ts), "-qm", str(ts.with_suffix(".qm")))


def _run(tool: str, *arguments: str) -> None:
    subprocess.run([str(TOOLS / tool), *arguments], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
