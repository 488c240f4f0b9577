"""Collects the words of the window into `slipstream_en.ts`, and makes what Qt reads from every `.ts` file there is.

A translator copies `slipstream_en.ts` to `slipstream_<language>.ts` and fills it in with Qt Linguist. English itself
needs only its forms of plurals, which are filled in here: "1 file" and "2 files" from "%n file(s)", "1 reply" and
"2 replies" from "%n repl(y|ies)". The labels of origins are declared in the engine.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

from engine import origins
from engine.messages.origins import TARGET

TOOLS = Path(sys.executable).parent
SOURCES = Path(__file__).parents[1] / "app"
FORMS = re.compile(r"\((?:([^()|]*)\|([^()|]*)|(e?s))\)")


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    english = folder / "slipstream_en.ts"
    files = sorted(str(path) for path in SOURCES.rglob("*.py"))
    with tempfile.TemporaryDirectory() as other:
        labels = Path(other) / "labels.py"
        labels.write_text("".join(f'QT_TRANSLATE_NOOP("Origin", "{each.label}")\n' for each in (*origins(), TARGET)))
        for ts in sorted({english, *folder.glob("slipstream_*.ts")}):
            _run("pyside6-lupdate", "-locations", "none", "-no-obsolete", *files, str(labels), "-ts", str(ts))
    fill_plurals(english)
    for ts in sorted(folder.glob("slipstream_*.ts")):
        _run("pyside6-lrelease", "-silent", str(ts), "-qm", str(ts.with_suffix(".qm")))


def fill_plurals(ts: Path) -> None:
    """Writes both English forms of every plural."""
    tree = ET.parse(ts)
    for message in tree.getroot().iter("message"):
        source = message.findtext("source") or ""
        translation = message.find("translation")
        if message.get("numerus") == "yes" and translation is not None:
            translation.clear()
            for form in (FORMS.sub(r"\1", source), FORMS.sub(r"\2\3", source)):
                ET.SubElement(translation, "numerusform").text = form
    tree.getroot().set("language", "en_GB")
    ET.indent(tree, "    ")
    body = ET.tostring(tree.getroot(), "unicode")
    ts.write_text(f'<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE TS>\n{body}\n', encoding="utf-8")


def _run(tool: str, *arguments: str) -> None:
    subprocess.run([str(TOOLS / tool), *arguments], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
