"""Collects the words of the window for translators, and compiles translations for Qt.

    python3 packaging/translations.py FOLDER

The words go to `slipstream.ts`. A translator copies that to `slipstream_<language>.ts`, fills it in with Qt Linguist,
and runs this again, which also brings a translation up to date. English needs none: `app/text/translation.py` makes
its plurals. The words of settings, of the engine's parameters and of origins are taken from their declarations.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from app.settings.app_settings import AppSettings
from app.settings.declaration import Group, shown_settings
from engine import origins
from engine.config import OWN_PARAMETERS, OWN_TEXTS, SamplingSettings, TargetSettings
from engine.messages.origins import TARGET
from engine.parameters import Scope, parameters

TOOLS = Path(sys.executable).parent
SOURCES = Path(__file__).parents[1] / "app"


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    files = sorted(str(path) for path in SOURCES.rglob("*.py"))
    translated = sorted(folder.glob("slipstream_*.ts"))
    with tempfile.TemporaryDirectory() as other:
        declared = Path(other) / "declared.py"
        words = [("Settings", each) for each in sorted(declared_words())]
        words += [("Origin", each.label) for each in (*origins(), TARGET)]
        declared.write_text("".join(f'QT_TRANSLATE_NOOP("{context}", {json.dumps(each)})\n' for context, each in words))
        for ts in (folder / "slipstream.ts", *translated):
            _run("pyside6-lupdate", "-locations", "none", "-no-obsolete", *files, str(declared), "-ts", str(ts))
    for ts in translated:
        _run("pyside6-lrelease", "-silent", str(ts), "-qm", str(ts.with_suffix(".qm")))


def declared_words() -> set[str]:
    """Those of settings and of the engine's parameters, which are in no call that Qt's tool knows."""
    words = {group.value for group in Group}
    for setting in shown_settings(AppSettings):
        words |= {
            setting.label,
            setting.description,
            setting.number.unit,
            setting.number.unset,
            *(each for _, each in setting.choices),
        }
    for each in (*OWN_PARAMETERS, *parameters(SamplingSettings, Scope.TARGET), *parameters(TargetSettings)):
        words |= {each.title, each.explanation, each.about, each.unit, each.unset}
    for text in OWN_TEXTS:
        words |= {text.title, text.about}
    return words - {""}


def _run(tool: str, *arguments: str) -> None:
    subprocess.run([str(TOOLS / tool), *arguments], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
