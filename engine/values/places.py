"""Every file that the program writes into its data folder, and what becomes of it when everything is forgotten. A file
that is not declared here makes a test fail. Also paths below a home folder, as users write them, and where this build
asks for updates."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from importlib.resources import files
from pathlib import Path

UPDATE_URL_VARIABLE = "SLIPSTREAM_UPDATE_URL"
STORE = "slipstream.sqlite3"
COPY = f"{STORE}.before-"  # a revision follows: migrations leave a copy of the store
UNFINISHED_COPY = f"{STORE}.part"
SETTINGS = "settings.json"
UNREADABLE_SETTINGS = "settings.unreadable.json"
CLIENTS = "clients.json"
SERVERS = "servers.json"
LOG = "logs/slipstream.log"


class Fate(StrEnum):
    """What happens to a file when everything is forgotten."""

    STAYS = "stays"  # nothing that a user wrote is ever in it
    REWRITTEN = "rewritten"  # without the user's words, by the store or by the settings
    REMOVED = "removed"
    EMPTIED = "emptied"  # it may be open


class Turn(Enum):
    """The step of forgetting in which a file is cleared."""

    ANY = auto()
    SETTINGS = auto()  # with who writes the settings
    STORE = auto()  # with the store's lock: a migration may be writing it


@dataclass(frozen=True, slots=True)
class Place:
    """`pattern` is relative to the data folder, as `Path.glob` takes it."""

    pattern: str
    fate: Fate
    turn: Turn = Turn.ANY


PLACES = (
    Place(f"{COPY}*", Fate.REMOVED, Turn.STORE),
    Place(f"{UNFINISHED_COPY}*", Fate.REMOVED, Turn.STORE),
    Place(f"{STORE}*", Fate.REWRITTEN),
    Place(f".{SETTINGS}.*.part", Fate.REMOVED, Turn.SETTINGS),
    Place(UNREADABLE_SETTINGS, Fate.REMOVED, Turn.SETTINGS),
    Place(SETTINGS, Fate.REWRITTEN, Turn.SETTINGS),
    Place(f".{CLIENTS}.*.part", Fate.REMOVED),
    Place(CLIENTS, Fate.REMOVED),  # names that a user gave to programs; their keys are worth nothing then
    Place(f".{SERVERS}.*.part", Fate.REMOVED),
    Place(SERVERS, Fate.REMOVED),  # addresses and names; their keys leave the keyring with them
    Place(f"{LOG}.*", Fate.REMOVED),
    Place(LOG, Fate.EMPTIED),
    Place("crashes/*.native", Fate.EMPTIED),
    Place("crashes/*.new", Fate.REMOVED),
    Place("crashes/*.txt", Fate.REMOVED),
    Place("adapters/*", Fate.REMOVED),  # there for as long as llama.cpp reads them, unless the process is killed
    Place("suspects/*", Fate.REMOVED),
    Place("shallow/**/*", Fate.REMOVED),  # copies of targets with fewer layers, for `slipstream bench`
    Place("readings/*/*", Fate.REMOVED),  # what models have read of chats
    Place("running.lock", Fate.STAYS),
    Place("models/**/*", Fate.STAYS),
    Place("drafters/**/*", Fate.STAYS),
    Place("heads/**/*", Fate.STAYS),
    Place("tried-drafters/*", Fate.STAYS),
    Place("vocabulary-maps/*", Fate.STAYS),
    Place("starter/**/*", Fate.STAYS),
)


def clear_words(folder: Path, turn: Turn = Turn.ANY, only: Sequence[Path] | None = None) -> tuple[Path, ...]:
    """Removes and empties what is to be in this turn; of that `only` these files. Returns what could not be."""
    places = [place for place in PLACES if place.turn is turn and place.fate in (Fate.REMOVED, Fate.EMPTIED)]
    found = [(file, place.fate) for place in places for file in sorted(folder.glob(place.pattern))]
    return tuple(file for file, fate in found if (only is None or file in only) and not _is_cleared(file, fate))


def _is_cleared(file: Path, fate: Fate) -> bool:
    try:
        if fate is Fate.REMOVED:
            file.unlink(missing_ok=True)
        else:
            os.truncate(file, 0)
    except OSError:
        return False
    return True


def expanded(path: str | Path) -> Path:
    """Replaces `~` and `~name` by the home folder. If the system knows none, the path stays as it is: no file is
    there."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def update_url() -> str:
    """Where this build asks for its newest version, if the user wants that: `SLIPSTREAM_UPDATE_URL`, else the address
    in `resources/release.json`, which is written when packaging; empty for nowhere."""
    release = json.loads((files("resources") / "release.json").read_text("utf-8"))
    return os.environ.get(UPDATE_URL_VARIABLE) or str(release["update_url"])
