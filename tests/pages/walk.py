"""Walks through all pages on one screen, in a process of its own, as a screen is chosen before Qt begins:
`python -m tests.pages.walk`, with the arguments of `Walk`. Tells each finding in a line of JSON."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from PySide6.QtCore import qInstallMessageHandler
from PySide6.QtWidgets import QApplication

from app.text.languages import ENGLISH, TRANSLATED, language_named
from app.text.translation import install_translations
from engine import BUILT_IN
from tests.pages.catalogue import PAGES, Page, classes, settle, turned, wait_until_ready
from tests.pages.findings import Finding, findings, shown_parts
from tests.pages.place import Place
from tests.pictures.content import NOTES_FILE, fill_store
from tests.pictures.studio import Studio
from tests.translations.collecting import collected
from tests.translations.pseudo import PSEUDO, write_pseudo

FOUND = "found: "  # before each finding
SEEN = "seen: "  # before the classes of all widgets that were seen
_AFTERWARDS = {80: 100, 100: 150, 150: 100, 200: 100}  # the size of text that is chosen while the window is open


@dataclass(frozen=True, slots=True)
class Walk:
    """`only`: groups of pages whose names begin so. `quick`: in light only, and with one size of text. `pictures`: a
    folder for a picture of each page, or none. `language`: its code, `pseudo`, or none for English."""

    place: Place
    only: str = ""
    quick: bool = False
    pictures: str = ""
    language: str = ""

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Walk:
        told = json.loads(text)
        place = told.pop("place")
        return cls(Place(tuple(place.pop("screen")), **place), **told)


def main(walk: Walk) -> None:
    qInstallMessageHandler(lambda *_message: None)  # the platform without a display reports what it cannot do
    with tempfile.TemporaryDirectory(prefix="slipstream-pages-") as name:
        folder = Path(name)
        fill_store(folder / "store")
        (folder / "Garden club.md").write_text(NOTES_FILE, "utf-8")
        settings = {"version": 1, "text_size": walk.place.scale, "theme": "light", "has_chatted": True}
        (folder / "store" / "settings.json").write_text(json.dumps(settings))
        platform = f"offscreen:configfile={screen_file(folder, walk.place)}"
        application = QApplication(["slipstream", "-platform", platform])
        application.setCursorFlashTime(0)
        _speak(application, walk.language, folder)
        with closing(Studio(application, folder / "store", folder, "", BUILT_IN)) as studio:
            wait_until_ready(studio)
            _walk(walk, studio, folder)


def _speak(application: QApplication, language: str, folder: Path) -> None:
    if language == PSEUDO:
        spoken = TRANSLATED[0]
        write_pseudo(spoken, collected(), folder / "translations")
        install_translations(application, spoken, folder / "translations")
    else:
        install_translations(application, language_named(language) or ENGLISH)


def _walk(walk: Walk, studio: Studio, folder: Path) -> None:
    seen = _all_pages(walk, studio, folder, "light")
    print(SEEN + json.dumps(sorted(seen)), flush=True)
    if walk.quick:
        return
    studio.app.theme.choose("dark", walk.place.scale)
    _all_pages(walk, studio, folder, "dark")
    later = replace(walk, place=replace(walk.place, scale=_AFTERWARDS[walk.place.scale]))
    if later.place.is_large_enough:
        studio.app.theme.choose("light", later.place.scale)
        _all_pages(later, studio, folder, f"after {walk.place.scale} %")


def _all_pages(walk: Walk, studio: Studio, folder: Path, when: str) -> set[str]:
    """Returns the classes of all widgets that were seen."""
    seen: set[str] = set()
    for pages in PAGES:
        if pages.__name__.startswith(walk.only):
            seen |= _pages(walk, studio, folder, pages, when)
    return seen


def _pages(
    walk: Walk, studio: Studio, folder: Path, pages: Callable[[Studio, Path], Iterator[Page]], when: str
) -> set[str]:
    seen: set[str] = set()
    for name, window in pages(studio, folder):
        settle(window)
        for turn in turned(window):
            settle(window)
            page = f"{name}, {turn}" if turn else name
            for widget in (window, *shown_parts(window)):
                seen |= classes(widget)
            for finding in findings(window):
                _tell(walk.place, when, page, finding)
            if walk.pictures:
                Path(walk.pictures).mkdir(parents=True, exist_ok=True)
                file = f"{page} {walk.place} {when}.png".replace("/", "-")
                window.grab().save(str(Path(walk.pictures) / file))
    return seen


def _tell(place: Place, when: str, page: str, finding: Finding) -> None:
    told = {"page": page, "place": f"{place} {when}".strip(), **asdict(finding)}
    print(FOUND + json.dumps(told), flush=True)


def screen_file(folder: Path, place: Place) -> Path:
    """One screen of this size, as Qt's platform without a display reads it."""
    screen = {"name": "screen", "x": 0, "y": 0, "width": place.screen[0], "height": place.screen[1]}
    screen |= {"logicalDpi": 96, "logicalBaseDpi": 96, "dpr": 1}
    told = {"synchronousWindowSystemEvents": False, "windowFrameMargins": True, "screens": [screen]}
    file = folder / "screen.json"
    file.write_text(json.dumps(told))
    return file


if __name__ == "__main__":
    main(Walk.from_json(sys.argv[1]))
