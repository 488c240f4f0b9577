"""Every file that the program writes into its data folder, and what becomes of it when everything is forgotten. A file
that is not declared here makes a test fail."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

STORE = "slipstream.sqlite3"
COPY = f"{STORE}.before-"  # a revision follows: migrations leave a copy of the store
UNFINISHED_COPY = f"{STORE}.part"
SETTINGS = "settings.json"
UNREADABLE_SETTINGS = "settings.unreadable.json"
LOG = "logs/slipstream.log"


class Fate(StrEnum):
    """Of a file when everything is forgotten."""

    STAYS = "stays"  # nothing that a user wrote is ever in it
    REWRITTEN = "rewritten"  # without the user's words, by the store or by the settings
    REMOVED = "removed"
    EMPTIED = "emptied"  # it may be open


@dataclass(frozen=True, slots=True)
class Place:
    """`pattern` is relative to the data folder, as `Path.glob` takes it."""

    pattern: str
    fate: Fate
    is_settings: bool = False  # cleared by who writes the settings, in turn with that


PLACES = (
    Place(f"{COPY}*", Fate.REMOVED),
    Place(f"{UNFINISHED_COPY}*", Fate.REMOVED),
    Place(f"{STORE}*", Fate.REWRITTEN),
    Place(f".{SETTINGS}.*.part", Fate.REMOVED, is_settings=True),
    Place(UNREADABLE_SETTINGS, Fate.REMOVED, is_settings=True),
    Place(SETTINGS, Fate.REWRITTEN, is_settings=True),
    Place(f"{LOG}.*", Fate.REMOVED),
    Place(LOG, Fate.EMPTIED),
    Place("crashes/*.native", Fate.EMPTIED),
    Place("crashes/*.new", Fate.REMOVED),
    Place("crashes/*.txt", Fate.REMOVED),
    Place("running.lock", Fate.STAYS),
    Place("models/**/*", Fate.STAYS),
    Place("drafters/**/*", Fate.STAYS),
    Place("tried-drafters/*", Fate.STAYS),
    Place("vocabulary-maps/*", Fate.STAYS),
    Place("starter/**/*", Fate.STAYS),
)


def clear_words(folder: Path, *, of_settings: bool = False) -> tuple[Path, ...]:
    """Removes and empties what is to be, of the settings or of all the rest. Returns what could not be."""
    places = [place for place in PLACES if place.is_settings == of_settings]
    found = [(file, place.fate) for place in places for file in sorted(folder.glob(place.pattern))]
    return tuple(file for file, fate in found if not _is_cleared(file, fate))


def _is_cleared(file: Path, fate: Fate) -> bool:
    try:
        if fate is Fate.REMOVED:
            file.unlink(missing_ok=True)
        elif fate is Fate.EMPTIED:
            os.truncate(file, 0)
    except OSError:
        return False
    return True
